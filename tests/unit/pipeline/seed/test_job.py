"""The notes about tables that are not seeded because gold holds them."""

from __future__ import annotations

from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName
from pipeline.seed.job import held_in_gold

ITEM, ENTRY = TableName("shop", "item"), TableName("shop", "entry")


def test_a_held_table_is_reported_with_its_reason_and_a_remedy() -> None:
    item = TableState("shop", "item", complete=True, held="a statement in the log")
    gold = GoldState(tables={ITEM: item, ENTRY: TableState("shop", "entry", complete=True)})
    (note,) = held_in_gold(gold, [ITEM, ENTRY])
    assert note.startswith("shop.item is held in gold")
    assert "--table" in note
    assert "a statement in the log" in note
