"""A seed's place in a table's timeline, and the changes applied to its rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold import GoldState
from pipeline.gold.apply.seed_rows import changes_since, first_seed
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.changes.steps import Evolve, Rows, parts
from pipeline.gold.plan.batch_plan import Known, plan_batch, same
from pipeline.gold.plan.reach import NOT_FROM_START
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, SeededFrom, TimelineItem
from pipeline.schema_history.timeline.seed_items import AFTER_ALL_EVENTS
from pipeline.settings import Settings

NAME = TableName("s", "t")
SETTINGS = Settings()
MARKING = Settings(on_fault="mark")
DEFINITION = TableDefinition(
    "s", "t", (ColumnDefinition("id", ColumnType.LONG, nullable=False),), (0,), (0,)
)
SEED, END = 100, 200


def item(kind: ItemKind, lsn: int, pos: int = 1, version: int = 1) -> TimelineItem:
    bare = kind in ("drop", "unsupported")
    return TimelineItem(
        lsn, pos, "s", "t", kind, None if bare else version, None if bare else DEFINITION
    )


def seeded(lsn: int = END, since: int = SEED, reason: str | None = None) -> TimelineItem:
    bare = item("seeded", lsn, AFTER_ALL_EVENTS)
    seed = SeededFrom("s~t~1", since, exact=False)
    return replace(bare, statement="CREATE TABLE t", seed=seed, reason=reason)


def fault(lsn: int) -> OpenFault:
    return OpenFault(lsn, f"fault at {lsn}", (NAME,))


def table(
    *items: TimelineItem, faults: tuple[OpenFault, ...] = (), settings: Settings = SETTINGS
) -> TableState:
    """Return the table's state after a batch up to 300, with gold at 120 before."""
    before = GoldState(
        1,
        120,
        tables={NAME: TableState("s", "t", 0, 120, reason=NOT_FROM_START, version=1)},
    )
    known = Known(2, 300, items, faults)
    return plan_batch(before, known, settings).tables[NAME]


def test_a_table_without_create_is_complete_from_its_seed_on() -> None:
    found = table(item("observed", 50), seeded())
    assert (found.from_lsn, found.to_lsn, found.complete, found.reason) == (199, 300, True, None)
    evolve, rows = parts(found, [item("observed", 50), seeded()])
    assert isinstance(evolve, Evolve)
    assert evolve.item == seeded()
    assert isinstance(rows, Rows)
    assert (rows.start, rows.stop, rows.complete) == ((END, AFTER_ALL_EVENTS), (301, 0), True)


@pytest.mark.parametrize("lsn", [50, SEED])
def test_faults_before_the_seed_no_longer_hold_the_table(lsn: int) -> None:
    found = table(item("observed", 10), seeded(), faults=(fault(lsn),))
    assert (found.held, found.complete, found.to_lsn) == (None, True, 300)


@pytest.mark.parametrize("lsn", [SEED + 1, 150, END])
def test_faults_after_the_seed_hold_the_table(lsn: int) -> None:
    found = table(item("observed", 10), seeded(), faults=(fault(lsn),))
    assert found.held == f"fault at {lsn}"
    # gold may have skipped it earlier, if conf allowed that then
    assert found.to_lsn == (lsn if lsn > 120 else END) - 1
    assert not found.complete


def test_another_seed_at_the_same_position_replaces_the_first() -> None:
    items = [item("observed", 10), seeded(), seeded(since=160)]
    found = table(*items, faults=(fault(150),))
    assert (found.held, found.complete) == (None, True)
    evolve, _ = parts(found, items)
    assert isinstance(evolve, Evolve)
    assert evolve.item == items[-1]


def test_a_seed_at_golds_position_is_loaded_once() -> None:
    """For a server without writes, the seed's item is at the table's current position."""
    items = [item("observed", 10), seeded(120, 20)]
    found = table(*items)
    assert (found.from_lsn, found.to_lsn, found.complete) == (119, 300, True)
    assert (found.touched, found.seed) == (True, "s~t~1")
    again = GoldState(1, 300, tables={NAME: replace(found, touched=False)})
    known = Known(3, 300, items, ())
    assert same(again, plan_batch(again, known, SETTINGS))
    held = table(*items, faults=(fault(100),))
    assert (held.held, held.to_lsn, held.complete, held.seed) == (None, 300, False, "")


@pytest.mark.parametrize(("lsn", "complete"), [(SEED, True), (150, False), (END, False)])
def test_a_marked_fault_after_the_seed_is_reported(lsn: int, complete: bool) -> None:
    found = table(item("observed", 10), seeded(), faults=(fault(lsn),), settings=MARKING)
    assert (found.held, found.complete) == (None, complete)
    last = parts(found, [item("observed", 10), seeded()])[-1]
    assert isinstance(last, Rows)
    assert last.complete == complete


def test_the_seeds_own_reason_is_reported() -> None:
    found = table(item("observed", 10), seeded(reason="foreign keys"))
    assert (found.complete, found.reason, found.held) == (False, "foreign keys", None)


def test_an_unknown_table_starts_with_its_seed() -> None:
    known = Known(2, 300, [seeded()], ())
    found = plan_batch(GoldState(), known, SETTINGS).tables[NAME]
    assert (found.complete, found.version, found.touched) == (True, 1, True)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([seeded()], []),
        ([item("observed", 50), seeded()], [(1, (101, 0), (201, 0))]),
        ([item("observed", 150), seeded()], [(1, (150, 1), (201, 0))]),
        # table maps seen again
        (
            [item("observed", 50), item("version", 150), seeded()],
            [(1, (101, 0), (201, 0))],
        ),
        # another table of silver with the same columns
        (
            [item("observed", 50), item("version", 150, version=2), seeded()],
            [(1, (101, 0), (150, 1)), (2, (150, 1), (201, 0))],
        ),
        # an earlier seed's rows do not count, but its definition does
        ([seeded(120, 20), seeded()], [(1, (120, AFTER_ALL_EVENTS), (201, 0))]),
        ([item("observed", 50), seeded(120, 20), seeded()], [(1, (101, 0), (201, 0))]),
    ],
)
def test_changes_since_a_seed(
    items: list[TimelineItem], expected: list[tuple[int, tuple[int, int], tuple[int, int]]]
) -> None:
    last = items[-1]
    assert last.seed is not None
    found = changes_since(TableState("s", "t"), items, last, last.seed)
    assert [(rows.version, rows.start, rows.stop) for rows in found] == expected


@pytest.mark.parametrize(("low", "expected"), [(0, 150), (150, 200), (200, 300)])
def test_a_batch_ends_at_its_first_seed(low: int, expected: int) -> None:
    assert first_seed([item("observed", 10), seeded(150), seeded(200)], low, 300) == expected
