"""The sentence about a fault: its kind, its table, and the tables that wait for that one."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.silver.tables.quarantine import sentence

PLACE = {"file": "binlog.000007", "__pos": 4, "kind": "lossy_key", "event_type": "WRITE_ROWS"}
NO_KEY = "shop.visit: column on_day: a value of the key cannot be represented exactly"


@pytest.mark.parametrize(
    ("tables", "reason", "held"),
    [
        (["shop.visit"], NO_KEY, "shop.visit"),
        (
            ["shop.visit", "shop.bill", "shop.cat"],
            NO_KEY,
            (
                "shop.visit, and, since the same transaction changes them too,"
                " shop.bill, shop.cat (waiting for shop.visit)"
            ),
        ),
        # conf excludes the table that it is in
        (["shop.bill", "shop.cat"], NO_KEY, "shop.bill, shop.cat"),
        (["shop.bill", "shop.cat"], "it is cut off", "shop.bill, shop.cat"),
        (None, "it is cut off", "all"),
    ],
    ids=["one table", "others wait", "left out", "no table's", "not known"],
)
def test_the_table_of_a_fault_comes_before_those_that_wait_for_it(
    tables: list[str] | None, reason: str, held: str
) -> None:
    fault: dict[str, Any] = {**PLACE, "tables": tables, "reason": reason}
    assert sentence(fault) == (
        f"binlog.000007, position 4: WRITE_ROWS: {reason}."
        f" Affected tables (held just before this position, unless on_fault is mark): {held}."
        " Run binlake retry once the cause is fixed, or seed the held tables (binlake seed --table"
        " …), and run again."
    )
