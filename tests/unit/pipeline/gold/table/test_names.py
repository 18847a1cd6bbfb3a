"""Names of gold's tables in a catalog."""

from __future__ import annotations

import pytest

from pipeline.gold.table.names import gold_name, why_no_name
from pipeline.schema_history import TableName
from pipeline.settings import Settings

ORDERS = TableName("shop", "orders")


def test_a_table_is_a_path_or_a_name_in_the_catalog() -> None:
    assert gold_name(Settings(lake="/lake"), "shop", "a b") == "/lake/gold/shop/a!20b"
    assert gold_name(Settings(catalog="main"), "shop", "orders") == "`main`.`shop`.`orders`"


@pytest.mark.parametrize(
    ("catalog", "table", "reason_part"),
    [
        (None, "a.b/c d", None),
        ("main", "orders", None),
        ("main", "old-orders", None),
        ("main", "orders 2", "is not a valid table name"),
        ("main", "orders.2", "is not a valid table name"),
        ("main", "Orders", "shop.Orders and shop.orders are the same name"),
        ("spark_catalog", "old_Orders", None),
        ("spark_catalog", "old-orders", "is not a valid table name"),
    ],
)
def test_names_that_a_catalog_cannot_have_are_refused(
    catalog: str | None, table: str, reason_part: str | None
) -> None:
    reason = why_no_name(Settings(catalog=catalog), TableName("shop", table), [ORDERS])
    assert (reason is None) == (reason_part is None)
    assert reason_part is None or reason_part in (reason or "")
    assert why_no_name(Settings(catalog=catalog), ORDERS, [ORDERS]) is None
