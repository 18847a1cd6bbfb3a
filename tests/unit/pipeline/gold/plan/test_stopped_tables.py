"""State of a table after a batch that could not apply all of its changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TableDefinition
from pipeline.gold import GoldState
from pipeline.gold.changes.steps import Evolve, Part, Rows
from pipeline.gold.plan.stopped_tables import StoppedTable, state_after_stops
from pipeline.gold.table.state import Refusal, TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, TimelineItem

T = TableName("s", "t")
DEFINITION = TableDefinition("s", "t", ())
BEFORE = TableState("s", "t", 5, 10, complete=True, version=1)
PLANNED = replace(BEFORE, from_lsn=10, to_lsn=50, complete_from=True)


def change(kind: ItemKind, lsn: int, statement: str | None = "…") -> Evolve:
    return Evolve(TimelineItem(lsn, 3, "s", "t", kind, statement=statement), DEFINITION)


def rows(start: tuple[int, int], stop: tuple[int, int], *, complete: bool = True) -> Rows:
    return Rows(DEFINITION, 1, start, stop, complete=complete)


def stopped(done: list[Part], left: Part) -> TableState:
    stop = StoppedTable(T, tuple(done), left, "no", Refusal(20, "no", True))
    return state_after_stops(
        GoldState(1, 50, tables={T: PLANNED}), GoldState(tables={T: BEFORE}), [stop], ()
    ).tables[T]


@pytest.mark.parametrize(
    ("done", "left", "lsn"),
    [
        # nothing was done: unchanged
        ([], rows((11, 0), (20, 3)), 10),
        ([], change("truncate", 20), 10),
        ([rows((11, 0), (20, 3))], change("alter", 20), 19),
        # a DDL statement is done with its transaction
        ([rows((11, 0), (20, 3)), change("truncate", 20)], rows((20, 3), (51, 0)), 20),
        ([change("alter", 20)], rows((20, 3), (51, 0)), 20),
        # unless that may contain rows, of a CREATE or after a table map
        ([change("create", 20)], rows((20, 3), (51, 0)), 19),
        ([change("observed", 20, None)], rows((20, 3), (51, 0)), 19),
    ],
)
def test_a_table_stops_after_its_last_complete_transaction(
    done: list[Part], left: Part, lsn: int
) -> None:
    state = stopped(done, left)
    assert (state.from_lsn, state.to_lsn, state.held) == (lsn, lsn, "no")
    assert state.refused == Refusal(20, "no", True)
    assert state.complete


def test_a_stopped_table_keeps_its_completeness() -> None:
    assert not stopped([rows((11, 0), (20, 3), complete=False)], change("alter", 20)).complete
    emptied = [rows((11, 0), (20, 3), complete=False), change("truncate", 20)]
    assert stopped([*emptied], rows((20, 3), (51, 0))).complete
