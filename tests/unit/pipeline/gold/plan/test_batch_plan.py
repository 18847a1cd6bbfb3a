"""Planned states of tables after a batch, and what holds them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold import GoldState
from pipeline.gold.changes.holds import REFRESH_AGAIN, OpenFault
from pipeline.gold.changes.steps import Evolve, parts
from pipeline.gold.plan.batch_plan import LEFT_OUT, Known, plan_batch, same, touch
from pipeline.gold.plan.reach import DROPPED, NOT_FROM_START
from pipeline.gold.table.state import Rebuild, TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, TimelineItem
from pipeline.settings import Settings

SETTINGS = Settings()
T, U = TableName("shop", "t"), TableName("shop", "u")


def definition(name: TableName = T, **changes: Any) -> TableDefinition:
    columns = (
        ColumnDefinition("id", ColumnType.LONG, nullable=False),
        ColumnDefinition("v", ColumnType.LONG),
    )
    made = TableDefinition(name.schema, name.table, columns, primary_key=(0,))
    return replace(made, **changes)


def item(
    kind: ItemKind,
    lsn: int,
    name: TableName = T,
    version: int | None = 1,
    of: TableDefinition | None = None,
    reason: str | None = None,
) -> TimelineItem:
    bare = kind in ("drop", "unsupported")
    return TimelineItem(
        lsn,
        lsn + 1,
        name.schema,
        name.table,
        kind,
        None if bare else version,
        None if bare else of or definition(name),
        reason=reason,
    )


def plan(
    upto: int,
    items: list[TimelineItem],
    faults: list[OpenFault] | None = None,
    previous: GoldState | None = None,
    settings: Settings = SETTINGS,
    taken: dict[TableName, str] | None = None,
    files: dict[int, str] | None = None,
) -> GoldState:
    known = Known(1, upto, items, faults or [], taken or {}, files or {})
    return plan_batch(previous or GoldState(), known, settings)


def test_a_created_table_goes_to_the_cut_and_is_complete() -> None:
    table = plan(100, [item("create", 10)]).tables[T]
    assert table == TableState("shop", "t", 9, 100, complete=True, version=1, touched=True)


def test_a_table_without_create_is_applied_but_not_complete() -> None:
    table = plan(100, [item("observed", 10)]).tables[T]
    assert (table.to_lsn, table.complete, table.held) == (100, False, None)
    assert table.reason == NOT_FROM_START


def test_a_keyless_table_is_planned_like_others() -> None:
    table = plan(100, [item("create", 10, of=definition(primary_key=()))]).tables[T]
    assert (table.to_lsn, table.complete, table.held, table.key) == (100, True, None, ())


REFRESHED = GoldState(
    1,
    100,
    tables={
        T: TableState("shop", "t", 90, 90, version=2, reason=LEFT_OUT),
        U: TableState("shop", "u", 100, 100, reason="never seen"),
    },
    rebuild=Rebuild(batch=7),
)


def test_a_table_excluded_from_a_refresh_is_not_recreated_by_later_changes() -> None:
    items = [item("model", 105), item("observed", 110), item("observed", 110, U)]
    state = plan(150, items, previous=REFRESHED)
    assert (state.tables[T].to_lsn, state.tables[T].held) == (109, REFRESH_AGAIN)
    assert (state.tables[U].to_lsn, state.tables[U].held) == (150, None)
    again = plan(200, items, previous=replace(state, rebuild=REFRESHED.rebuild))
    assert (again.tables[T].to_lsn, again.tables[T].held) == (109, REFRESH_AGAIN)
    marking = Settings(on_fault="mark")
    assert plan(150, items, previous=REFRESHED, settings=marking).tables[T].held == REFRESH_AGAIN
    created = plan(150, [*items, item("create", 120)], previous=REFRESHED).tables[T]
    assert (created.to_lsn, created.held, created.complete) == (150, None, True)


def test_other_tables_first_seen_by_rows_continue() -> None:
    shown = item("observed", 110)
    for previous, items in (
        (replace(REFRESHED, rebuild=Rebuild()), [shown]),
        (REFRESHED, [item("observed", 20), shown]),
        (REFRESHED, [item("observed", 90)]),
    ):
        assert plan(150, items, previous=previous).tables[T].held is None


def test_items_after_the_cut_do_not_count() -> None:
    state = plan(100, [item("create", 10), item("drop", 101)], [OpenFault(101, "bad", (T,))])
    assert not state.tables[T].dropped
    assert state.tables[T].held is None


REFUSED = {
    "binlog_row_metadata": definition(complete_metadata=False, named=False),
    "has the name of a column": definition(
        columns=(*definition().columns, ColumnDefinition("__LSN", ColumnType.LONG))
    ),
    "unsupported type": definition(
        columns=(*definition().columns, ColumnDefinition("x", ColumnType.TYPED_ARRAY))
    ),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_table_that_gold_cannot_have_is_held_before_its_create(reason: str) -> None:
    items = [item("create", 10, of=REFUSED[reason]), item("create", 20, U)]
    state = plan(100, items)
    held = state.tables[T]
    assert (held.to_lsn, held.version) == (9, None)
    assert reason in (held.held or "")
    assert "position 11" in (held.held or "")
    assert state.tables[U].to_lsn == state.cut_lsn == 100
    assert len(state.held()) == 1


def test_only_the_table_whose_place_is_occupied_is_held() -> None:
    items = [item("create", 10), item("create", 20, U), item("create", 30)]
    state = plan(100, items, taken={T: "it is another's."})
    assert (state.tables[T].to_lsn, state.tables[T].version) == (9, None)
    assert state.held() == ["shop.t is held: it is another's."]
    assert state.tables[U].complete
    free = plan(200, items, previous=state)
    assert (free.tables[T].to_lsn, free.tables[T].complete, free.held()) == (200, True, [])


@pytest.mark.parametrize("pattern", ["shop.t", "shop.*"])
def test_a_key_in_conf_is_used(pattern: str) -> None:
    settings = Settings(keys={pattern: ("v", "id")})
    table = plan(
        100, [item("create", 10, of=definition(primary_key=()))], settings=settings
    ).tables[T]
    assert (table.held, table.key) == (None, ("v", "id"))


def test_a_key_in_conf_with_missing_columns_holds_the_table() -> None:
    settings = Settings(keys={"shop.t": ("nope",)})
    assert "nope" in (plan(100, [item("create", 10)], settings=settings).tables[T].held or "")


def test_an_unsupported_change_holds_until_the_table_is_recreated() -> None:
    items = [item("create", 10), item("unsupported", 50, reason="TRUNCATE")]
    held = plan(100, items)
    assert held.tables[T].to_lsn == 49
    assert "TRUNCATE" in (held.tables[T].held or "")
    again = plan(200, [*items, item("drop", 150), item("create", 160, version=2)], previous=held)
    assert again.tables[T] == TableState(
        "shop", "t", 159, 200, complete=True, version=2, touched=True, complete_from=True
    )


def test_a_block_in_the_transaction_of_a_create_holds_before_it() -> None:
    items = [item("create", 10), item("create", 50), item("unsupported", 50, reason="cascade")]
    assert plan(100, items).tables[T].to_lsn == 49


def test_a_fault_holds_its_tables_only_until_it_is_resolved() -> None:
    items = [item("create", 10), item("create", 20, U)]
    fault = OpenFault(60, "binlog.000001, position 60: bad bytes.", (T,))
    held = plan(100, items, [fault])
    assert (held.tables[T].to_lsn, held.tables[U].to_lsn, held.cut_lsn) == (59, 100, 100)
    assert held.held() == [f"shop.t is held: {fault.sentence}"]
    still = plan(100, items, [fault], held)
    assert same(held, still)
    free = plan(100, items, [], held)
    assert not same(held, free)
    assert (free.tables[T].from_lsn, free.tables[T].to_lsn) == (59, 100)
    assert free.tables[T].held is None
    assert free.tables[T].complete


def test_a_fault_of_unknown_tables_stops_the_batch_before_it() -> None:
    items = [item("create", 10), item("create", 20, U)]
    state = plan(100, items, [OpenFault(60, "incident", None)])
    assert {table.to_lsn for table in state.tables.values()} == {59}
    assert (state.cut_lsn, state.cut_held) == (59, "incident")
    assert state.held() == ["Every table is held: incident"]


def test_marked_faults_are_skipped_and_recorded() -> None:
    settings = Settings(on_fault="mark")
    items = [item("create", 10), item("create", 20, U)]
    faults = [OpenFault(60, "bad row", (T,)), OpenFault(150, "incident", None)]
    state = plan(100, items, faults, settings=settings)
    assert (state.tables[T].to_lsn, state.tables[T].complete) == (100, False)
    assert state.tables[T].reason == "bad row"
    assert state.tables[U].complete
    later = plan(200, items, faults, state, settings)
    assert later.cut_lsn == 200
    assert [later.tables[name].complete for name in (T, U)] == [False, False]
    assert later.tables[T].reason == "bad row"


def test_a_marked_fault_in_the_transaction_that_creates_its_table_counts() -> None:
    settings = Settings(on_fault="mark")
    table = plan(
        100, [item("create", 10)], [OpenFault(10, "bad row", (T,))], settings=settings
    ).tables[T]
    assert (table.to_lsn, table.complete, table.reason) == (100, False, "bad row")
    again = [item("create", 10), item("create", 60)]
    table = plan(100, again, [OpenFault(10, "bad row", (T,))], settings=settings).tables[T]
    assert (table.complete, table.reason) == (True, None), "its rows went with the first table"


def test_a_table_known_only_by_its_fault_is_reported() -> None:
    state = plan(100, [], [OpenFault(60, "bad table map", (T,))])
    assert state.tables[T].held == "bad table map"
    assert state.tables[T].version is None


def test_all_tables_spelled_like_the_faulty_one_are_held() -> None:
    name, other = TableName("a.b", "c"), TableName("a", "b.c")
    unclear = OpenFault(20, "damaged", (other,))
    state = plan(30, [item("create", 10, name)], [unclear])
    assert set(state.tables) == {name}
    assert state.tables[name].held == "damaged"


def test_an_earlier_fault_holds_nothing_once_the_table_was_created_after_it() -> None:
    state = plan(100, [item("create", 70)], [OpenFault(60, "bad", (T,))])
    assert (state.tables[T].to_lsn, state.tables[T].held) == (100, None)


def test_an_accepted_gap_holds_nothing_but_leaves_earlier_tables_incomplete() -> None:
    items = [item("create", 10), item("create", 70, U)]
    gap = OpenFault(60, "binlog.000003: a file is missing", None, marks_only=True)
    state = plan(100, items, [gap])
    assert (state.cut_lsn, state.cut_held) == (100, None)
    assert (state.tables[T].to_lsn, state.tables[T].complete) == (100, False)
    assert state.tables[T].reason == gap.sentence
    assert state.tables[U].complete
    later = plan(200, [*items, item("drop", 150), item("create", 160)], [gap], state)
    assert later.tables[T].complete
    # it does not hide later faults
    incident = OpenFault(90, "incident", None)
    assert plan(100, items, [gap, incident]).cut_held == "incident"


def test_a_table_that_gold_cannot_have_is_held_until_the_source_drops_it() -> None:
    created = item("create", (3 << 40) + 10, of=REFUSED["unsupported type"])
    upto = (3 << 40) + 100
    held = plan(upto, [created], files={3: "binlog.000007"}).tables[T]
    assert (held.held or "").startswith("binlog.000007, position ")
    for before in (GoldState(), plan(upto, [created])):
        items = [created, item("drop", upto + 50)]
        gone = plan(upto + 100, items, previous=before).tables[T]
        assert (gone.held, gone.dropped, gone.complete) == (None, True, False)
        assert (gone.version, gone.reason) == (None, DROPPED)
        assert parts(gone, items) == [Evolve(items[1], None)], "none of its rows is looked at"


@pytest.mark.parametrize("drop_rows", [False, True])
def test_kept_rows_wait_for_blocks_before_the_drop(drop_rows: bool) -> None:
    items = [item("create", 10), item("drop", 150)]
    fault = OpenFault(60, "bad row", (T,))
    settings = Settings(on_drop="drop" if drop_rows else "keep")
    for before in (GoldState(), plan(100, items, [fault])):
        table = plan(200, items, [fault], before, settings).tables[T]
        assert (table.to_lsn, table.dropped) == ((200, True) if drop_rows else (59, False))


def test_dropped_tables_are_marked() -> None:
    state = plan(100, [item("create", 10), item("drop", 20)])
    assert state.tables[T].dropped
    assert (state.tables[T].from_lsn, state.tables[T].version) == (9, 1), "its rows are kept"
    assert not state.tables[T].complete
    later = plan(200, [item("create", 10), item("drop", 20)], previous=state)
    assert later.tables[T].dropped
    assert not later.tables[T].touched


def test_excluded_tables_are_left_alone_and_not_complete() -> None:
    only_u = Settings(include=["shop.u"])
    items = [item("create", 10), item("create", 20, U)]
    assert T not in plan(100, items, [OpenFault(60, "bad", (T,))], settings=only_u).tables
    before = plan(100, items)
    after = plan(200, items, previous=before, settings=only_u)
    assert (after.tables[T].to_lsn, after.tables[T].complete) == (100, False)
    assert after.tables[T].reason == LEFT_OUT


def test_tables_are_touched_by_rows_definitions_and_lagging() -> None:
    items = [item("create", 10), item("create", 20, U)]
    before = plan(100, items, [OpenFault(60, "bad", (U,))])
    quiet = touch(plan(200, items, [OpenFault(60, "bad", (U,))], before), set(), 100)
    assert [quiet.tables[name].touched for name in (T, U)] == [False, False]
    rows = touch(plan(200, items, [OpenFault(60, "bad", (U,))], before), {"shop.t"}, 100)
    assert [rows.tables[name].touched for name in (T, U)] == [True, False]
    lagging = touch(plan(200, items, [], before), set(), 100)
    assert [lagging.tables[name].touched for name in (T, U)] == [False, True]


def test_without_news_the_state_is_the_same() -> None:
    items = [item("create", 10)]
    state = plan(100, items)
    assert same(state, plan(100, items, previous=state))
    assert not same(state, plan(101, items, previous=state))


def test_the_state_round_trips_through_a_plans_body() -> None:
    state = plan(100, [item("create", 10), item("create", 20, U, of=definition(U, primary_key=()))])
    assert GoldState.from_body(state.to_body()) == state


BY_DAY = Settings(gold={"cluster_by": {"shop.*": ["day"]}})
DAY = ColumnDefinition("day", ColumnType.DATE)
WITH_DAY = definition(columns=(*definition().columns, DAY))
LACKS_DAY = (
    "gold.cluster_by in the settings names day, which the table does not have; correct or remove"
    " it there, and run again"
)


def test_a_table_that_lacks_a_clustering_column_of_conf_is_held_from_where_it_lacks_it() -> None:
    created, altered = item("create", 10), item("alter", 20, version=2, of=WITH_DAY)
    dropped = item("alter", 40, version=3)
    table = plan(100, [created], settings=BY_DAY).tables[T]
    assert (table.to_lsn, table.held) == (9, LACKS_DAY)
    # History may begin without the column.
    table = plan(100, [created, altered], settings=BY_DAY).tables[T]
    assert (table.to_lsn, table.held) == (100, None)
    table = plan(100, [created, altered, dropped], settings=BY_DAY).tables[T]
    assert (table.to_lsn, table.held) == (39, LACKS_DAY)
    table = plan(100, [created, altered, dropped]).tables[T]
    assert (table.to_lsn, table.held) == (100, None)


def test_a_table_there_already_is_held_until_conf_fits_it() -> None:
    items = [item("create", 10)]
    before = plan(50, items)
    held = plan(100, items, previous=before, settings=BY_DAY)
    assert (held.tables[T].to_lsn, held.tables[T].held) == (50, LACKS_DAY)
    again = plan(100, items, previous=held).tables[T]
    assert (again.to_lsn, again.held, again.complete) == (100, None, True)
    gone = plan(100, [*items, item("drop", 60)], previous=before, settings=BY_DAY).tables[T]
    assert (gone.to_lsn, gone.held, gone.dropped) == (100, None, True)
