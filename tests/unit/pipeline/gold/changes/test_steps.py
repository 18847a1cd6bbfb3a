"""Splitting one table's batch at changes of its definition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.changes.steps import Evolve, Rows, parts
from pipeline.gold.table.state import TableState
from pipeline.schema_history.alter.items import ColumnStep, ItemKind, TimelineItem
from pipeline.schema_history.ddl.model import ColumnDefault, TableModel

ONE, TWO = TableDefinition("s", "t", ()), TableDefinition("s", "t", (), complete_metadata=False)


def item(kind: ItemKind, lsn: int, pos: int, version: int | None = None) -> TimelineItem:
    made = {1: ONE, 2: TWO}.get(version or 0)
    return TimelineItem(lsn, pos, "s", "t", kind, version, made)


def state(from_lsn: int, to_lsn: int) -> TableState:
    return TableState("s", "t", from_lsn, to_lsn)


CREATE = item("create", 10, 14, 1)
ADD = item("add_columns", 20, 25, 2)


def test_rows_alone_are_one_part() -> None:
    assert parts(state(15, 19), [CREATE, ADD]) == [Rows(ONE, 1, (16, 0), (20, 0))]


def test_each_part_has_the_defaults_that_are_in_force_in_it() -> None:
    first, second = (TableModel(defaults=(ColumnDefault("a", text),)) for text in "12")
    create = replace(CREATE, statement="CREATE …", model=first)
    shown = item("version", 12, 13, 1)
    alter = replace(item("model", 20, 25), statement="ALTER …", model=second)
    add = replace(ADD, lsn=30, statement="ALTER …", model=None)
    found = parts(state(12, 40), [create, shown, alter, add])
    assert [part.model for part in found if isinstance(part, Rows)] == [first, second, None]


def test_a_table_map_with_the_key_keeps_the_ddl_model() -> None:
    declared = TableModel(defaults=(ColumnDefault("a"),))
    begun = replace(CREATE, statement="CREATE …", model=declared)
    shown = item("create", 20, 25, 2)
    found = parts(state(0, 40), [begun, shown, item("truncate", 30, 33)])
    assert [part.model for part in found if isinstance(part, Rows)] == [declared]
    dropped = parts(state(0, 40), [begun, item("drop", 15, 16), shown])
    assert [part.model for part in dropped if isinstance(part, Rows)] == [None]


def test_definition_changes_split_rows_by_position() -> None:
    assert parts(state(10, 30), [CREATE, ADD]) == [
        Rows(ONE, 1, (11, 0), (20, 25)),
        Evolve(ADD, ONE),
        Rows(TWO, 2, (20, 25), (31, 0)),
    ]


def test_a_create_may_have_rows_in_its_transaction() -> None:
    rows = Rows(ONE, 1, (10, 14), (11, 0), complete=True)
    assert parts(state(0, 10), [CREATE]) == [Evolve(CREATE, None), rows]


def test_parts_before_the_last_create_are_left_out() -> None:
    again = item("create", 40, 44, 2)
    items = [CREATE, ADD, item("unsupported", 30, 33), item("drop", 35, 36), again]
    rows = Rows(TWO, 2, (40, 44), (51, 0), complete=True)
    assert parts(state(0, 50), items) == [Evolve(again, None), rows]


def test_a_dropped_table_has_no_rows() -> None:
    drop = item("drop", 30, 33)
    assert parts(state(10, 40), [CREATE, drop]) == [
        Rows(ONE, 1, (11, 0), (30, 33)),
        Evolve(drop, ONE),
    ]
    assert parts(state(30, 40), [CREATE, drop]) == []


def test_a_new_version_only_changes_where_rows_are_read() -> None:
    other = item("version", 20, 21, 2)
    assert parts(state(10, 30), [CREATE, other]) == [
        Rows(ONE, 1, (11, 0), (20, 21)),
        Rows(TWO, 2, (20, 21), (31, 0)),
    ]


def test_a_table_that_was_never_seen_has_no_parts() -> None:
    assert parts(state(0, 100), []) == []


def keyed(*key: int) -> TableDefinition:
    columns = (ColumnDefinition("a", ColumnType.LONG), ColumnDefinition("b", ColumnType.LONG))
    return TableDefinition("s", "t", columns, key)


@pytest.mark.parametrize(
    ("given", "expected"), [((), [("a",), ("b",), ("b",)]), (("a", "b"), [("a", "b")] * 3)]
)
def test_each_part_has_the_key_in_force_in_it(
    given: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    items = [
        TimelineItem(10, 14, "s", "t", "create", 1, keyed(0)),
        TimelineItem(20, 25, "s", "t", "add_columns", 2, keyed(1)),
    ]
    found = parts(replace(state(10, 30), key=given), items)
    assert [part.key for part in found] == expected


OBSERVED = item("observed", 20, 25, 1)


@pytest.mark.parametrize(
    ("before", "items", "marked", "expected"),
    [
        (True, [CREATE], (), [True]),
        (False, [CREATE], (), [False]),
        # a marked fault counts from its LSN on, until the table is emptied
        (True, [CREATE, ADD], (22,), [True, False]),
        (True, [CREATE, ADD], (15,), [False, False]),
        (True, [CREATE, item("truncate", 20, 25)], (15,), [True]),
        (False, [CREATE, item("truncate", 20, 25)], (), [True]),
        (False, [CREATE, item("truncate", 20, 25)], (22,), [False]),
        (True, [CREATE, item("drop", 15, 17), OBSERVED], (), [True, False]),
    ],
)
def test_each_part_has_the_completeness_in_force_in_it(
    before: bool, items: list[TimelineItem], marked: tuple[int, ...], expected: list[bool]
) -> None:
    found = parts(replace(state(10, 30), complete_from=before, marked=marked), items)
    assert [part.complete for part in found if isinstance(part, Rows)] == expected


def test_a_fault_in_the_transaction_of_a_create_counts_for_the_rows_in_it() -> None:
    found = parts(replace(state(0, 30), marked=(10,)), [CREATE])
    assert [part.complete for part in found if isinstance(part, Rows)] == [False]


@pytest.mark.parametrize(("convert", "kinds"), [(None, "ADD"), ("int", "rows ADD")])
def test_rows_that_a_truncate_removes_are_applied_where_their_values_are_converted(
    convert: str | None, kinds: str
) -> None:
    alter = replace(item("alter", 20, 25, 2), columns=(ColumnStep("v", "v", convert),))
    found = parts(state(10, 40), [CREATE, alter, item("truncate", 30, 35)])
    names = ["ADD" if isinstance(part, Evolve) else "rows" for part in found]
    assert names == [*kinds.split(), "ADD", "rows"]


def test_a_create_of_unknown_columns_discards_the_earlier_model() -> None:
    declared = replace(
        CREATE, statement="CREATE …", model=TableModel(defaults=(ColumnDefault("a"),))
    )
    again = replace(item("create", 20, 25), statement="CREATE TABLE t LIKE …")
    found = parts(
        state(10, 40), [declared, item("moved", 20, 24), again, item("create", 30, 33, 2)]
    )
    assert [part.model for part in found if isinstance(part, Rows)] == [declared.model, None]


def test_renamed_rows_are_as_complete_as_their_table_was() -> None:
    items = [CREATE, item("renamed", 20, 25, 2), item("moved", 30, 35)]
    for whole in (True, False):
        at_the_end = replace(state(10, 40), complete_from=not whole, taken_over=((20, whole),))
        found = parts(at_the_end, items)
        assert [p.complete for p in found if isinstance(p, Rows)] == [not whole, whole]
