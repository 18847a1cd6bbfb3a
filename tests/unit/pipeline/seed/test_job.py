"""Which tables are said to stand still, and by what they are seeded all the same."""

from __future__ import annotations

from pipeline.catalog import TableName
from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.seed.job import standing_still

ITEM, BAG = TableName("shop", "item"), TableName("shop", "bag")


def test_a_table_that_stands_still_is_named_with_the_way_on() -> None:
    item = TableState("shop", "item", complete=True, held="a statement in the log")
    gold = GoldState(tables={ITEM: item, BAG: TableState("shop", "bag", complete=True)})
    (told,) = standing_still(gold, [ITEM, BAG])
    assert told.startswith("shop.item stands still")
    assert "--table" in told
    assert "a statement in the log" in told
