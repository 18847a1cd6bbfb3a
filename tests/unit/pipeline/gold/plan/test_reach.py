"""Tables connected by a RENAME pass it together, and exchange their completeness."""

from __future__ import annotations

import json
from dataclasses import replace

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold import GoldState
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.steps import Evolve, Rows, parts
from pipeline.gold.plan.batch_plan import Known, plan_batch
from pipeline.gold.plan.reach import NOT_FROM_START
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, TimelineItem
from pipeline.settings import Settings

SETTINGS = Settings()
A, B, C = (TableName("s", name) for name in "abc")
_COLUMNS = (ColumnDefinition("id", ColumnType.LONG, nullable=False),)


def item(kind: ItemKind, lsn: int, name: TableName, other: TableName | None = None) -> TimelineItem:
    bare = kind in ("drop", "moved", "unsupported", "truncate")
    definition = TableDefinition(name.schema, name.table, _COLUMNS, (0,), (0,))
    return TimelineItem(
        lsn, lsn + 1, name.schema, name.table, kind, None if bare else 1,
        None if bare else definition, other=other,
    )  # fmt: skip


def plan(
    upto: int,
    items: list[TimelineItem],
    *faults: OpenFault,
    previous: GoldState | None = None,
    settings: Settings = SETTINGS,
) -> GoldState:
    known = Known(1, upto, items, faults)
    return plan_batch(previous or GoldState(), known, settings)


BEGUN = [item("create", 10, A), item("observed", 20, B)]
SWAP = [item("renamed", 50, A, B), item("renamed", 50, B, A)]
MOVED_TO_B = [item("moved", 50, A, B), item("renamed", 50, B, A)]
MOVE = [item("moved", 50, A, C), item("renamed", 50, C, A)]


def test_completeness_moves_with_the_rows() -> None:
    tables = plan(100, [*BEGUN, *SWAP]).tables
    assert [tables[name].complete for name in (A, B)] == [False, True]
    assert [tables[name].reason for name in (A, B)] == [NOT_FROM_START, None]
    moved = plan(100, [*BEGUN, *MOVE]).tables
    assert (moved[A].dropped, moved[A].complete, moved[C].complete) == (True, False, True)
    assert "s.c" in (moved[A].reason or "")


def test_a_marked_fault_moves_with_the_rows() -> None:
    settings = Settings(on_fault="mark")
    fault, later = OpenFault(30, "bad row", (A,)), OpenFault(60, "another", (A,))
    tables = plan(
        100, [item("create", 10, A), item("create", 20, B), *SWAP], fault, settings=settings
    )
    assert [tables.tables[n].complete for n in (A, B)] == [True, False]
    tables = plan(
        100, [item("create", 10, A), item("create", 20, B), *SWAP], later, settings=settings
    )
    assert [tables.tables[n].complete for n in (A, B)] == [False, True]


def test_a_held_table_holds_the_one_that_gets_its_rows() -> None:
    state = plan(100, [*BEGUN, *MOVE], OpenFault(30, "bad row", (A,)))
    assert [state.tables[n].to_lsn for n in (A, C)] == [29, 49]
    assert "s.a" in (state.tables[C].held or "")
    assert "bad row" in (state.tables[C].held or "")
    free = plan(100, [*BEGUN, *MOVE], previous=state)
    assert {table.to_lsn for table in free.tables.values()} == {100}


def test_a_held_table_continues_with_another_tables_rows() -> None:
    """RENAME TABLE a TO c, b TO a: `a`'s rows then go nowhere, and `c`, their target, is held."""
    items = [
        *BEGUN,
        *(item("renamed", 50, C, A), item("renamed", 50, A, B), item("moved", 50, B, A)),
    ]
    state = plan(100, items, OpenFault(30, "bad row", (A,)))
    assert [(state.tables[n].from_lsn, state.tables[n].to_lsn) for n in (A, B, C)] == [
        (49, 100),
        (0, 100),
        (0, 49),
    ]
    assert (state.tables[A].held, state.tables[B].held) == (None, None)
    assert "s.a" in (state.tables[C].held or "")
    later = plan(200, items, previous=state)
    assert [later.tables[n].to_lsn for n in (A, B, C)] == [200, 200, 49]
    assert "continued without them" in (later.tables[C].held or "")


def test_a_swap_with_a_held_table_holds_both() -> None:
    state = plan(100, [*BEGUN, *SWAP], OpenFault(30, "bad row", (A,)))
    assert [state.tables[n].to_lsn for n in (A, B)] == [29, 49]
    free = plan(100, [*BEGUN, *SWAP], previous=state)
    assert [free.tables[n].to_lsn for n in (A, B)] == [100, 100]


def test_a_held_table_continues_where_it_is_recreated() -> None:
    """RENAME TABLE a TO c and a new `a`: the remedy that the status suggests."""
    items = [*BEGUN, *MOVE, item("create", 60, A), item("create", 70, C)]
    fault = OpenFault(30, "bad row", (A,))
    state = plan(65, items[:5], fault)
    assert [(state.tables[n].to_lsn, state.tables[n].complete) for n in (A, C)] == [
        (65, True),
        (49, False),
    ]
    free = plan(100, items, fault, previous=state)
    assert [(free.tables[n].to_lsn, free.tables[n].complete) for n in (A, C)] == [
        (100, True),
        (100, True),
    ]


def test_two_held_tables_that_swap_names_stay_held() -> None:
    state = plan(
        100, [*BEGUN, *SWAP], OpenFault(30, "bad row", (A,)), OpenFault(40, "another", (B,))
    )
    assert [(state.tables[n].to_lsn, state.tables[n].held) for n in (A, B)] == [
        (29, "bad row"),
        (39, "another"),
    ]


def test_a_rename_holds_tables_connected_by_other_renames() -> None:
    again = [item("renamed", 70, B, C), item("moved", 70, C, B)]
    items = [*BEGUN, item("create", 25, C), item("moved", 50, A, B), item("renamed", 50, B, A)]
    state = plan(100, [*items, item("renamed", 70, C, B)], OpenFault(30, "bad row", (A,)))
    assert [state.tables[n].to_lsn for n in (A, B, C)] == [29, 49, 69]
    state = plan(100, [*items, *again], OpenFault(30, "bad row", (A,)))
    assert [state.tables[n].to_lsn for n in (A, B, C)] == [29, 100, 100]


def test_a_table_excluded_meanwhile_holds_the_rename() -> None:
    state = plan(100, [*BEGUN, *SWAP], settings=Settings(exclude=["s.b"]))
    assert state.tables[A].to_lsn == 49
    assert "s.b" in (state.tables[A].held or "")


def test_earlier_rows_are_applied_if_a_rename_needs_them() -> None:
    items = [*BEGUN, *MOVE, item("create", 60, A)]
    table = plan(100, items).tables[A]
    assert (table.from_lsn, table.complete) == (9, True)
    found = parts(table, [i for i in items if i.name == A])
    kinds = [part.item.kind if isinstance(part, Evolve) else "rows" for part in found]
    assert kinds == ["create", "rows", "moved", "create", "rows"]
    assert [part.stop for part in found if isinstance(part, Rows)] == [(50, 51), (101, 0)]


def test_rows_that_a_truncate_removes_are_not_applied_but_those_a_rename_took_are() -> None:
    items = [*BEGUN, *SWAP, item("truncate", 70, A)]
    found = parts(plan(100, items).tables[A], [i for i in items if i.name == A])
    kinds = [part.item.kind if isinstance(part, Evolve) else "rows" for part in found]
    assert kinds == ["create", "rows", "renamed", "truncate", "rows"]
    assert plan(100, items).tables[A].complete


def test_a_copy_that_replaces_a_held_table_is_applied() -> None:
    """RENAME TABLE a TO old, b TO a: `a`'s own rows go to a table that is not replicated."""
    items = [
        *(item("create", 10, A), item("unsupported", 30, A), item("create", 40, B)),
        *(item("renamed", 50, A, B), item("moved", 50, B, A)),
    ]
    held = plan(45, items)
    assert (held.tables[A].to_lsn, held.tables[B].to_lsn) == (29, 45)
    for previous in (held, None):
        tables = plan(100, items, previous=previous).tables
        assert [tables[name].to_lsn for name in (A, B)] == [100, 100]
        assert (tables[A].held, tables[A].complete, tables[B].dropped) == (None, True, True)
        found = parts(tables[A], [i for i in items if i.name == A])
        assert [part.start for part in found if isinstance(part, Rows)] == [(50, 51)]


def test_a_table_that_waits_for_a_rename_restarts_after_it() -> None:
    """`b` would start at the RENAME, `a` does not reach it, and `b` has an earlier fault."""
    items = [*BEGUN, *MOVED_TO_B, item("create", 60, B)]
    state = plan(100, items, OpenFault(30, "bad row", (A,)), OpenFault(40, "another", (B,)))
    assert [state.tables[n].to_lsn for n in (A, B)] == [29, 100]


def test_the_state_records_taken_over_rows_and_their_completeness() -> None:
    state = plan(100, [*BEGUN, *SWAP])
    assert [state.tables[n].taken_over for n in (A, B)] == [((50, False),), ((50, True),)]
    assert GoldState.from_body(json.loads(json.dumps(state.to_body()))) == state


def test_an_empty_table_replaces_the_rows_of_another() -> None:
    """RENAME TABLE a TO c, b TO a, where `b` is only known to be empty."""
    nothing = replace(item("create", 50, A), pos=52, definition=None, version=None)
    items = [item("create", 10, A), item("moved", 50, A, C), item("renamed", 50, C, A), nothing]
    tables = plan(100, items).tables
    assert [tables[n].to_lsn for n in (A, C)] == [100, 100]
    assert [tables[n].held for n in (A, C)] == [None, None]
    found = parts(tables[A], [i for i in items if i.name == A])
    kinds = [part.item.kind if isinstance(part, Evolve) else "rows" for part in found]
    assert kinds == ["create", "rows", "moved", "create"]
