"""Gold's schema from a definition, its clustering columns, and changes of columns."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st_
from pyspark.sql import types as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.schema.alter_table import Metadata, first_out_of_place, next_change
from pipeline.gold.schema.evolve import first_properties
from pipeline.gold.table.gold_table import gold_schema
from pipeline.gold.table.options import TableOptions
from pipeline.lake.delta_log.column_features import COLUMN_MAPPING, FOR_MAPPING
from pipeline.schema_history.alter.items import ColumnStep


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


FIRST: dict[str, tuple[st.StructType, dict[str, str]]] = {
    "no feature": (schema_of(("id", st.LongType()), ("a.b", st.StringType())), {}),
    "a name that Parquet refuses": (
        schema_of(("id", st.LongType()), ("a b", st.StringType())),
        {"delta.columnMapping.mode": "name", "delta.feature.timestampNtz": "supported"},
    ),
    "a DATETIME": (
        schema_of(("id", st.LongType()), ("at", st.TimestampNTZType())),
        {"delta.feature.timestampNtz": "supported"},
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_a_new_table_has_only_the_features_that_its_columns_need(name: str) -> None:
    schema, features = FIRST[name]
    vectors = {"delta.enableDeletionVectors": "true"}
    assert first_properties(schema, TableOptions()) == {**features, **vectors}


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


MAPPING = (
    "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name',"
    " 'delta.feature.timestampNtz' = 'supported')"
)


def test_features_for_new_columns_are_enabled_first() -> None:
    schema = schema_of(("id", st.LongType()), ("at", st.TimestampNTZType()), ("a;b", st.LongType()))
    steps = [step("id"), step("at", None), step("a;b", None)]
    features = frozenset({"deletionVectors"})
    assert next_change(Metadata(["id"], [], features), steps, schema) == MAPPING
    clocks = "SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')"
    plain = schema_of(("id", st.LongType()), ("at", st.TimestampNTZType()))
    assert next_change(Metadata(["id"], [], features), steps[:2], plain) == clocks
    features |= FOR_MAPPING
    change = next_change(Metadata(["id"], [], features), steps, schema)
    assert change is not None
    assert change.startswith("ADD COLUMNS")


@given(st_.permutations("abcdef"), st_.sets(st_.sampled_from("abcdef")), st_.permutations("abcxyz"))
def test_metadata_changes_end_with_the_wanted_columns(
    present: list[str], renamed: set[str], targets: list[str]
) -> None:
    free = [name for name in "def" if name in renamed]
    old = dict(zip("xyz", free, strict=False))
    steps = [step(name, old.get(name, None if name in "xyz" else name)) for name in targets]
    schema = schema_of(*((name, st.LongType()) for name in targets))
    columns = [(name, name) for name in present]  # current name, original name
    clustered, features = [present[0]], frozenset[str]()
    for _ in range(30):
        names = [name for name, _ in columns]
        change = next_change(Metadata(names, clustered, features), steps, schema)
        if change is None:
            break
        if change == MAPPING:
            features |= FOR_MAPPING
        elif change.startswith(("DROP", "RENAME")):
            assert COLUMN_MAPPING in features
        clustered = [] if change == "CLUSTER BY NONE" else clustered
        columns = changed(columns, change, clustered)
    assert [name for name, _ in columns] == targets
    assert dict(columns) == {s.name: s.old or "new" for s in steps}
    assert (COLUMN_MAPPING in features) == (set(present) > set(targets) & set(present))


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
