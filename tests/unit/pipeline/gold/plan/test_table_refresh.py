"""Which tables a full refresh of some of them makes again, and when it is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.catalog import TableName
from pipeline.catalog.alter.items import ItemKind, SeededFrom, TimelineItem
from pipeline.errors import SettingsError
from pipeline.gold import GoldState
from pipeline.gold.plan import table_refresh
from pipeline.gold.plan.inspection import Inspected
from pipeline.gold.plan.table_refresh import begun_again, named, refreshed_in, to_be_made
from pipeline.gold.table.damage import Damage
from pipeline.gold.table.state import NO_LSN, TableState
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError
from tests.support.lake.memory_ledger import MemoryLedger
from tests.support.silver.made_silver import definition

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
    """The seeds whose rows are in the lake."""
    there = {"first", "second"}
    monkeypatch.setattr(
        table_refresh, "read_seed", lambda _lake, _source, seed: seed in there or None
    )
    return there


def ledger(gone: int = 0) -> MemoryLedger:
    made = MemoryLedger()
    if gone:
        made.did("maintenance", {"removed": {"lsn": gone, "committed_at": 1}})
    return made


def made(
    *asked: TableName, gone: int = 0, damaged: tuple[TableName, ...] = (), cut: int = 900
) -> set[TableName]:
    inspected = Inspected(dict.fromkeys(damaged, Damage("it is gone")))
    return to_be_made(SETTINGS, ledger(gone), STATE, asked, inspected, TIMELINE, cut)


def test_patterns_name_tables_that_gold_has() -> None:
    patterns = SETTINGS.model_copy(update={"refresh_tables": ("shop.*items", "shop.orders")})
    assert named(patterns, STATE) == {ORDERS, ITEMS, OLD_ITEMS}
    assert named(SETTINGS, STATE) == set()


@pytest.mark.parametrize("pattern", ["shop.nothing", "shop.left_out"])
def test_a_pattern_that_names_none_is_refused(pattern: str) -> None:
    with pytest.raises(SettingsError, match=rf"--table: {pattern} names no table"):
        named(SETTINGS.model_copy(update={"refresh_tables": ("shop.orders", pattern)}), STATE)


def test_tables_that_a_rename_ties_together_are_made_together() -> None:
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
    ids=["created before", "its other name too", "changes behind its seed"],
)
def test_it_is_refused_where_silver_lacks_something(name: TableName, gone: int, why: str) -> None:
    assert name in made(name, gone=gone - 1)
    with pytest.raises(RefreshRefusedError, match=why) as refused:
        made(name, gone=gone)
    assert "binlake seed --table shop." in refused.value.remedy
    assert refused.value.exit_code == 2


def test_it_is_refused_where_a_seed_s_rows_are_gone(seeds: set[str]) -> None:
    seeds.clear()
    with pytest.raises(RefreshRefusedError, match="the rows of its seed first are gone"):
        made(SEEDED)


def test_it_is_refused_for_a_table_of_which_silver_tells_nothing() -> None:
    gone = TableName("shop", "gone")
    state = replace(STATE, tables={**STATE.tables, gone: TableState("shop", "gone")})
    with pytest.raises(RefreshRefusedError, match=r"shop\.gone .* silver tells nothing of it"):
        to_be_made(SETTINGS, ledger(), state, [gone], Inspected(), TIMELINE, 900)


def test_a_damaged_table_is_made_again_from_a_seed_that_it_got_since() -> None:
    assert made(damaged=(ORDERS, SEEDED)) == {SEEDED}
    assert made(damaged=(SEEDED,), cut=599) == set()
    taken = replace(STATE.tables[SEEDED], seed="first")
    state = replace(STATE, tables={**STATE.tables, SEEDED: taken})
    inspected = Inspected({SEEDED: Damage("it is gone")})
    assert to_be_made(SETTINGS, ledger(), state, (), inspected, TIMELINE, 900) == set()


def test_they_begin_at_nothing() -> None:
    state = begun_again(STATE, {ORDERS}, 7)
    assert (state.tables[ORDERS].to_lsn, state.tables[ORDERS].version) == (NO_LSN, None)
    assert state.tables[ITEMS] == STATE.tables[ITEMS]
    assert refreshed_in(state, 7) == {ORDERS}
    assert refreshed_in(state, 8) == refreshed_in(GoldState(), 0) == set()
    assert GoldState.from_body(state.to_body()) == state
