"""Gold's schema from a definition, its clustering columns, and changes of columns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st_
from pyspark.sql import types as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.alter.items import ColumnStep
from pipeline.gold.schema.alter_table import first_out_of_place, next_change
from pipeline.gold.table.gold_table import clustering, gold_schema


def test_gold_has_the_sources_columns_and_its_own() -> None:
    columns = (
        ColumnDefinition("id", ColumnType.LONGLONG, unsigned=True, nullable=False),
        ColumnDefinition("a.b", ColumnType.NEWDECIMAL, precision=40, scale=2),
        ColumnDefinition("where", ColumnType.GEOMETRY),
    )
    schema = gold_schema(TableDefinition("s", "t", columns, (0,)), TypeOptions())
    assert [(f.name, f.dataType.simpleString(), f.nullable) for f in schema] == [
        ("id", "decimal(20,0)", True),
        ("a.b", "string", True),
        ("where", "struct<srid:int,wkb:binary>", True),
        ("__lsn", "bigint", True),
        ("__committed_at", "timestamp", True),
    ]


def schema_of(*kinds: tuple[str, st.DataType]) -> st.StructType:
    return st.StructType([st.StructField(name, kind) for name, kind in kinds])


WIDE = schema_of(*((f"c{n}", st.LongType()) for n in range(40)))
CLUSTERED: dict[str, tuple[st.StructType, tuple[str, ...], list[str]]] = {
    "in the key's order": (
        schema_of(("b", st.LongType()), ("a", st.StringType())),
        ("a", "b"),
        ["a", "b"],
    ),
    "by no more than four": (
        WIDE,
        ("c1", "c2", "c3", "c4", "c5"),
        ["c1", "c2", "c3", "c4"],
    ),
    "not by bytes or truth": (
        schema_of(("a", st.BinaryType()), ("b", st.BooleanType()), ("c", st.DateType())),
        ("a", "b", "c"),
        ["c"],
    ),
    "only by columns with statistics": (WIDE, ("c35", "c31", "c32"), ["c31"]),
}


@pytest.mark.parametrize("name", CLUSTERED)
def test_gold_is_clustered(name: str) -> None:
    schema, key, columns = CLUSTERED[name]
    assert clustering(schema, key) == columns


@pytest.mark.parametrize(
    ("present", "targets", "place"),
    [
        ("abcd", "abcd", None),
        ("abcd", "bcda", 3),
        ("abcd", "dabc", 0),
        ("abcd", "acbd", 1),
        ("dcba", "abcd", 0),
        ("", "", None),
    ],
)
def test_as_few_columns_as_possible_are_moved(
    present: str, targets: str, place: int | None
) -> None:
    assert first_out_of_place(present, targets) == place


def step(name: str, old: str | None = "") -> ColumnStep:
    return ColumnStep(name, name if old == "" else old)


@given(st_.permutations("abcdef"), st_.sets(st_.sampled_from("abcdef")), st_.permutations("abcxyz"))
def test_metadata_changes_end_with_the_wanted_columns(
    present: list[str], renamed: set[str], targets: list[str]
) -> None:
    free = [name for name in "def" if name in renamed]
    old = dict(zip("xyz", free, strict=False))
    steps = [step(name, old.get(name, None if name in "xyz" else name)) for name in targets]
    schema = schema_of(*((name, st.LongType()) for name in targets))
    columns = [(name, name) for name in present]  # current name, original name
    clustered = [present[0]]
    for _ in range(30):
        names = [name for name, _ in columns]
        change = next_change(names, clustered, steps, schema)
        if change is None:
            break
        clustered = [] if change == "CLUSTER BY NONE" else clustered
        columns = changed(columns, change, clustered)
    assert [name for name, _ in columns] == targets
    assert dict(columns) == {s.name: s.old or "new" for s in steps}


def changed(
    columns: list[tuple[str, str]], change: str, clustered: list[str]
) -> list[tuple[str, str]]:
    """Return the columns after Delta's change."""
    words = change.replace("`", "").replace("(", "").replace(")", "").replace(",", "").split()
    if words[:2] == ["DROP", "COLUMNS"]:
        assert not set(words[2:]) & set(clustered)
        return [pair for pair in columns if pair[0] not in words[2:]]
    if words[:2] == ["RENAME", "COLUMN"]:
        return [(words[4] if n == words[2] else n, first) for n, first in columns]
    if words[:2] == ["ADD", "COLUMNS"]:
        rest = words[2:]
        while rest:
            size = 4 if rest[2] == "AFTER" else 3
            columns = placed(columns, (rest[0], "new"), rest[2:size])
            rest = rest[size:]
        return columns
    if words[:2] == ["ALTER", "COLUMN"]:
        (moved,) = [pair for pair in columns if pair[0] == words[2]]
        others = [pair for pair in columns if pair != moved]
        return placed(others, moved, words[3:])
    return columns


def placed(
    columns: list[tuple[str, str]], column: tuple[str, str], where: list[str]
) -> list[tuple[str, str]]:
    at = [name for name, _ in columns].index(where[1]) + 1 if where[0] == "AFTER" else 0
    return [*columns[:at], column, *columns[at:]]
