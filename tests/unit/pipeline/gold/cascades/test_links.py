"""Foreign keys in force over a batch, without Spark."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.cascades.links import ancestors, cascading, changes_of, descendants, links
from pipeline.gold.table.state import TableState
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import ItemKind, TimelineItem
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.model import TableModel
from tests.support.silver.made_silver import definition, item, lsn

NUMBER = ColumnDefinition("id", ColumnType.LONG, nullable=False)
UP = ColumnDefinition("up", ColumnType.LONG)
P, C = definition("P", NUMBER), definition("c", NUMBER, UP)
CHILD, PARENT = TableName("shop", "c"), TableName("shop", "P")
KEY = ForeignKey(("UP",), ("shop", "p"), (), "CASCADE", name="f")
OTHER = replace(KEY, name="g")
RESTRICTS = replace(KEY, on_delete="")


def declared(kind: ItemKind, n: int, *keys: ForeignKey) -> TimelineItem:
    return item(kind, n, C, model=TableModel(foreign_keys=keys))


def shown(kind: ItemKind, n: int) -> TimelineItem:
    """Return an item from a table map."""
    return replace(item(kind, n, C), statement=None)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([declared("create", 1, KEY)], [KEY]),
        ([declared("create", 1, RESTRICTS)], []),
        ([declared("create", 1, KEY), shown("create", 2)], [KEY]),
        ([declared("create", 1, KEY), shown("version", 12)], [KEY]),
        ([declared("create", 1, KEY), item("drop", 2, C)], []),
        ([declared("create", 1, KEY), declared("model", 2)], []),
        ([declared("create", 1, KEY), declared("model", 12)], [KEY]),
        ([declared("create", 1), declared("model", 12, OTHER)], [OTHER]),
        ([declared("create", 1), declared("model", 22, OTHER)], []),
    ],
)
def test_foreign_keys_of_a_batch_include_those_added_in_it(
    items: list[TimelineItem], expected: list[ForeignKey]
) -> None:
    state = TableState("shop", "c", lsn(10), lsn(20))
    found = cascading({CHILD: state}, {CHILD: items})
    assert found == ({CHILD: expected} if expected else {})


@pytest.mark.parametrize(
    ("parent", "doubt"),
    [
        (P, ""),
        (definition("P", replace(NUMBER, unsigned=True)), "have different types"),
        (definition("P", NUMBER, UP, key=(0, 1)), "are not known"),
        (None, "are not known"),
    ],
)
def test_a_link_uses_golds_column_names_or_has_a_doubt(
    parent: TableDefinition | None, doubt: str
) -> None:
    items = {CHILD: [declared("create", 1, KEY)]}
    if parent is not None:
        items[PARENT] = [item("create", 1, parent)]
    states = {CHILD: TableState("shop", "c", lsn(1), lsn(2))}
    (found,) = links({CHILD: [KEY]}, states, items)
    assert found.columns == (("up",) if not doubt or "types" in doubt else ("UP",))
    assert doubt in found.doubt
    assert bool(doubt) == bool(found.doubt)
    assert (found.parent == PARENT) == (parent is not None)


def test_cascades_reach_over_any_number_of_tables() -> None:
    tables = [TableName("s", name) for name in "abcd"]
    keys = {
        child: [ForeignKey(("up",), (parent.schema, parent.table), ("id",), "CASCADE")]
        for parent, child in pairwise(tables)
    }
    states = {name: TableState(name.schema, name.table, 0, 10) for name in tables}
    found = links(keys, states, {})
    a, b, c, d = tables
    assert ancestors(found) == {b: {a}, c: {a, b}, d: {a, b, c}}
    assert (descendants(found, b), descendants(found, d)) == ({c, d}, set())


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(lsn(0), lsn(9), [1, 3]), (lsn(1) - 1, lsn(9), [3]), (1, 2, [])]
)
def test_changes_of_columns_and_foreign_keys_split_batches(
    low: int, high: int, expected: list[int]
) -> None:
    """The CREATE that a table starts with does not."""
    items = [declared("create", 1), shown("version", 2), declared("model", 3), item("keys", 4, C)]
    assert changes_of(TableState("shop", "c", low, high), items) == [lsn(n) for n in expected]


def test_a_created_table_has_none_of_the_earlier_foreign_keys() -> None:
    items = [declared("create", 1, KEY), declared("create", 5, OTHER)]
    states = {CHILD: TableState("shop", "c", lsn(5) - 1, lsn(9))}
    assert cascading(states, {CHILD: items}) == {CHILD: [OTHER]}


VARCHAR = ColumnDefinition("id", ColumnType.VARCHAR, length=80, length_bytes=1, collation=255)
CHAR = replace(VARCHAR, type=ColumnType.STRING, length=40)
BIT = ColumnDefinition("id", ColumnType.BIT, length=1)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (VARCHAR, CHAR, False),
        (CHAR, replace(CHAR, collation=46), True),
        (CHAR, replace(CHAR, length=80), False),
        (VARCHAR, replace(VARCHAR, length=8), True),
        (replace(CHAR, collation=63), replace(CHAR, collation=63, length=8), False),
        (BIT, replace(BIT, length=8), False),
        (NUMBER, replace(NUMBER, nullable=True), True),
    ],
)
def test_columns_are_alike_if_equal_values_are_equal_in_gold(
    one: ColumnDefinition, other: ColumnDefinition, *, same: bool
) -> None:
    child = definition("c", NUMBER, replace(other, name="up"))
    declared = item("create", 1, child, model=TableModel(foreign_keys=(KEY,)))
    items = {CHILD: [declared], PARENT: [item("create", 1, definition("P", one))]}
    states = {CHILD: TableState("shop", "c", lsn(1), lsn(2))}
    (found,) = links({CHILD: [KEY]}, states, items)
    assert (found.doubt == "") == same


@pytest.mark.parametrize(("source", "computed"), [("up", True), ("id", False)])
def test_columns_generated_from_a_foreign_key_are_flagged(source: str, *, computed: bool) -> None:
    model = TableModel(generated=("g",), foreign_keys=(KEY,), sources=(source,))
    items = {CHILD: [item("create", 1, C, model=model)], PARENT: [item("create", 1, P)]}
    states = {CHILD: TableState("shop", "c", lsn(1), lsn(2))}
    (found,) = links({CHILD: [KEY]}, states, items)
    assert found.computed == computed
