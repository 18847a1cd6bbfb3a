"""Which tables a refresh of single tables rebuilds, and when it is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import SettingsError
from pipeline.gold import GoldState
from pipeline.gold.plan import table_refresh
from pipeline.gold.plan.table_refresh import named, refreshed_in, tables_to_refresh, with_reset
from pipeline.gold.table.state import NO_LSN, TableState
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, SeededFrom, TimelineItem
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError
from tests.support.lake.memory_ledger import MemoryLedger
from tests.support.silver.made_silver import definition

NO_SPARK = cast(SparkSession, None)
SETTINGS = Settings(source="shop", lake="/lake", exclude=["shop.left_out"])
NAMES = ("orders", "items", "old_items", "seeded", "left_out")
ORDERS, ITEMS, OLD_ITEMS, SEEDED, LEFT_OUT = (TableName("shop", name) for name in NAMES)
STATE = GoldState(
    cut_lsn=900,
    tables={
        TableName("shop", name): TableState("shop", name, to_lsn=900, complete=True, version=1)
        for name in NAMES
    },
)
SEED = SeededFrom("first", 400, exact=True)


def item(kind: ItemKind, lsn: int, name: TableName, other: TableName | None = None) -> TimelineItem:
    made = TimelineItem(lsn, 4, name.schema, name.table, kind, 1, definition(name.table))
    return replace(made, other=other)


TIMELINE = [
    item("create", 10, ORDERS),
    item("create", 20, OLD_ITEMS),
    item("moved", 500, OLD_ITEMS, ITEMS),
    item("renamed", 500, ITEMS, OLD_ITEMS),
    replace(item("seeded", 600, SEEDED), seed=SEED),
    item("create", 30, LEFT_OUT),
]


@pytest.fixture(autouse=True)
def seeds(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """IDs of the seeds whose rows are in the lake."""
    there = {"first", "second"}
    monkeypatch.setattr(
        table_refresh, "read_seed", lambda _lake, _source, seed: seed in there or None
    )
    return there


def run_of(gone: int = 0) -> LayerRun:
    ledger = MemoryLedger()
    if gone:
        ledger.did("maintenance", {"removed": {"lsn": gone, "committed_at": 1}})
    return LayerRun(NO_SPARK, SETTINGS, ledger, QuietProgress())


def made(
    *asked: TableName, gone: int = 0, damaged: tuple[TableName, ...] = (), upto: int = 900
) -> set[TableName]:
    return tables_to_refresh(run_of(gone), STATE, asked, damaged, TIMELINE, upto)


def test_patterns_match_golds_tables() -> None:
    patterns = SETTINGS.model_copy(update={"refresh_tables": ("shop.*items", "shop.orders")})
    assert named(patterns, STATE) == {ORDERS, ITEMS, OLD_ITEMS}
    assert named(SETTINGS, STATE) == set()


@pytest.mark.parametrize("pattern", ["shop.nothing", "shop.left_out"])
def test_a_pattern_that_matches_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(SettingsError, match=rf"--table: {pattern} matches no gold table"):
        named(SETTINGS.model_copy(update={"refresh_tables": ("shop.orders", pattern)}), STATE)


def test_tables_connected_by_a_rename_are_refreshed_together() -> None:
    assert made() == set()
    assert made(ORDERS) == {ORDERS}
    assert made(ITEMS) == made(OLD_ITEMS) == {ITEMS, OLD_ITEMS}


@pytest.mark.parametrize(
    ("name", "gone", "why"),
    [
        (ORDERS, 11, "changes before LSN 11 were removed"),
        (ITEMS, 21, "changes before LSN 21 were removed"),
        (SEEDED, 402, "changes before LSN 402 were removed"),
    ],
    ids=["created before", "its other name too", "changes since its seed"],
)
def test_a_refresh_is_refused_if_silver_lacks_changes(name: TableName, gone: int, why: str) -> None:
    assert name in made(name, gone=gone - 1)
    with pytest.raises(RefreshRefusedError, match=why) as refused:
        made(name, gone=gone)
    assert "binlake seed --table shop." in refused.value.remedy
    assert refused.value.exit_code == 2


def test_a_refresh_is_refused_if_a_seeds_rows_are_gone(seeds: set[str]) -> None:
    seeds.clear()
    with pytest.raises(RefreshRefusedError, match="the rows of its initial snapshot first"):
        made(SEEDED)


def test_a_refresh_is_refused_for_a_table_unknown_to_silver() -> None:
    gone = TableName("shop", "gone")
    state = replace(STATE, tables={**STATE.tables, gone: TableState("shop", "gone")})
    with pytest.raises(RefreshRefusedError, match=r"shop\.gone .* silver has no record of it"):
        tables_to_refresh(run_of(), state, [gone], (), TIMELINE, 900)


def test_a_damaged_table_seeded_since_is_refreshed() -> None:
    assert made(damaged=(ORDERS, SEEDED)) == {SEEDED}
    assert made(damaged=(SEEDED,), upto=599) == set()
    taken = replace(STATE.tables[SEEDED], seed="first")
    state = replace(STATE, tables={**STATE.tables, SEEDED: taken})
    assert tables_to_refresh(run_of(), state, (), {SEEDED}, TIMELINE, 900) == set()


def test_refreshed_tables_are_reset() -> None:
    state = with_reset(STATE, {ORDERS}, 7)
    assert (state.tables[ORDERS].to_lsn, state.tables[ORDERS].version) == (NO_LSN, None)
    assert state.tables[ITEMS] == STATE.tables[ITEMS]
    assert refreshed_in(state, 7) == {ORDERS}
    assert refreshed_in(state, 8) == refreshed_in(GoldState(), 0) == set()
    assert GoldState.from_body(state.to_body()) == state
