"""The timeline in the lake, and which source owns a table; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import UNOWNED_KINDS, ItemKind, TimelineItem
from pipeline.schema_history.timeline.stored_timeline import (
    append_items,
    read_items,
    require_own_tables,
)
from tests.support.spark.no_spark import NO_SPARK

ORDERS, PEOPLE, PARTS = (TableName("shop", name) for name in ("orders", "people", "parts"))


def item(name: TableName, lsn: int, kind: ItemKind = "create") -> TimelineItem:
    return TimelineItem(lsn, 4, name.schema, name.table, kind, reason="as it was")


def test_items_are_stored_once_in_log_order(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    assert read_items(NO_SPARK, lake, "shop") == []
    first = [item(PEOPLE, 9), item(ORDERS, 9), item(ORDERS, 11, "drop")]
    later = [item(PARTS, 20)]
    append_items(NO_SPARK, lake, "shop", 2, first)
    append_items(NO_SPARK, lake, "shop", 10, later)
    append_items(NO_SPARK, lake, "shop", 11, [])
    append_items(NO_SPARK, lake, "shop", 10, later)  # by a concurrent run
    append_items(NO_SPARK, lake, "blog", 10, [item(PEOPLE, 1)])
    assert read_items(NO_SPARK, lake, "shop") == [*first, *later]


def test_a_table_belongs_to_one_source_unless_it_was_only_mentioned(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    require_own_tables(NO_SPARK, lake, "shop", [ORDERS])
    unowned: list[ItemKind] = [
        kind for kind in ("schema", "mentioned", "declared") if kind in UNOWNED_KINDS
    ]
    items = [item(ORDERS, 5), *(item(PARTS, 6, kind) for kind in unowned)]
    append_items(NO_SPARK, lake, "blog", 1, items)
    require_own_tables(NO_SPARK, lake, "shop", [PEOPLE, PARTS])
    require_own_tables(NO_SPARK, lake, "shop", [])
    require_own_tables(NO_SPARK, lake, "blog", [ORDERS])
    with pytest.raises(SettingsError, match=r"shop\.orders is .* from source blog") as refusal:
        require_own_tables(NO_SPARK, lake, "shop", [PEOPLE, ORDERS])
    assert refusal.value.key == "source"
