"""The comparison of gold with the source finds every kind of difference."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.support.gold.compare import SourceColumn, compare

COLUMNS = [
    SourceColumn("id", "int", "int"),
    SourceColumn("name", "varchar", "varchar(20)"),
    SourceColumn("ratio", "double", "double"),
    SourceColumn("doc", "json", "json"),
]
SCHEMA = pa.schema(
    [("id", pa.int32()), ("name", pa.string()), ("ratio", pa.float64()), ("doc", pa.string())]
)
ROWS = [("1", "a", 0.5, '{"n": 1}'), ("2", None, -0.0, None)]


def gold(*rows: tuple[Any, ...]) -> pa.Table:
    names = SCHEMA.names
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows], schema=SCHEMA)


SAME = ((1, "a", 0.5, '{ "n":1 }'), (2, None, -0.0, None))


def test_equal_tables_have_no_differences() -> None:
    assert list(compare(COLUMNS, [0], gold(*SAME), ROWS)) == []


DIFFERENT: dict[str, tuple[tuple[Any, ...], str]] = {
    "missing": (SAME[:1], "key (2,) is missing in gold"),
    "too much": ((*SAME, (3, "x", 0.0, None)), "key (3,) is in gold only"),
    "double": ((*SAME, SAME[0]), "key (1,) is in gold 2 times, in the source 1 times"),
    "text": (((1, "A", 0.5, '{"n": 1}'), SAME[1]), "name varchar(20): gold has 'A'"),
    "null": (((1, None, 0.5, '{"n": 1}'), SAME[1]), "gold has None"),
    "a sign of zero": ((SAME[0], (2, None, 0.0, None)), "gold has 0.0, the source -0.0"),
    "a kind of number in JSON": (((1, "a", 0.5, '{"n": 1.0}'), SAME[1]), "doc json"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_each_difference_is_reported(name: str) -> None:
    rows, sentence = DIFFERENT[name]
    (line,) = compare(COLUMNS, [0], gold(*rows), ROWS)
    assert sentence in line


KEYLESS: dict[str, tuple[int, int, str]] = {
    "as often": (3, 3, ""),
    "too few": (2, 3, "is in gold 2 times, in the source 3 times"),
    "too many": (3, 2, "is in gold 3 times, in the source 2 times"),
    "none": (0, 2, "is missing in gold, 2 times"),
    "only in gold": (2, 0, "is in gold only, 2 times"),
}


@pytest.mark.parametrize("name", KEYLESS)
def test_identical_rows_of_a_table_without_a_key_are_counted(name: str) -> None:
    ours, theirs, sentence = KEYLESS[name]
    found = list(compare(COLUMNS, range(4), gold(*SAME[:1] * ours), ROWS[:1] * theirs))
    assert len(found) == (1 if sentence else 0)
    assert all(sentence in line for line in found)


def test_rows_of_one_key_that_differ_are_paired_whatever_their_order() -> None:
    rows = [("1", "a", 0.5, None), ("1", "b", 0.5, None), ("1", "c", 0.5, None)]
    ours = [(1, "c", 0.5, None), (1, "a", 0.5, None), (1, "x", 0.5, None)]
    (line,) = compare(COLUMNS, [0], gold(*ours), rows)
    assert "gold has 'x', the source 'b'" in line


def test_types_follow_the_design() -> None:
    shown = {
        ("int", "int unsigned"): "bigint",
        ("bigint", "bigint unsigned"): "decimal(20,0)",
        ("mediumint", "mediumint"): "int",
        ("decimal", "decimal(38,10) unsigned"): "decimal(38,10)",
        ("decimal", "decimal(39,2)"): "string",
        ("bit", "bit(1)"): "boolean",
        ("bit", "bit(63)"): "bigint",
        ("bit", "bit(64)"): "decimal(20,0)",
        ("enum", "enum('unsigned','(9)')"): "string",
        ("point", "point"): "struct<srid:int,wkb:binary>",
        ("datetime", "datetime(6)"): "timestamp_ntz",
    }
    assert {key: SourceColumn("c", *key).spark_type for key in shown} == shown
