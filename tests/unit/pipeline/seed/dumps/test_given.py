"""Rows in CSV and Parquet, of a table that the caller describes."""

from __future__ import annotations

import datetime as dt
import gzip
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from decoder import TypeOptions
from pipeline.seed.dumps import Dump, GivenTable, open_csv, open_parquet
from pipeline.seed.dumps.model import created
from pipeline.seed.errors import DumpError, SeedValueError
from pipeline.seed.values import RowReader
from tests.support.seed.seed_rows import all_columns, rows_of

PLACE = ("binlog.000003", 4)
UUID = "6ccd780c-baba-1026-9564-5b8c656024db"


def table(columns: str) -> GivenTable:
    return GivenTable("s", f"CREATE TABLE t ({columns})", PLACE, "a:1-5")


SIMPLE = table("id INT, b VARCHAR(20), c DATETIME(3)")


def test_csv(tmp_path: Path) -> None:
    text = 'c,id,other,b\n2020-01-01 00:00:00.5,1,x,"quoted, ""b""\nline"\n\\N,2,x,"\\N"\n,3,x,\n'
    (tmp_path / "rows.csv").write_text(text)
    dump = open_csv(str(tmp_path / "rows.csv"), SIMPLE)
    assert (dump.place, dump.gtids) == (PLACE, "a:1-5")
    dump.tables[0].require_readable(all_columns(dump.tables[0]))
    assert rows_of(dump.tables[0]) == [
        [b"1", b'quoted, "b"\nline', b"2020-01-01 00:00:00.5"],
        [b"2", b"\\N", None],
        [b"3", b"", b""],
    ]


def test_a_folder_of_csv_with_another_delimiter_and_null(tmp_path: Path) -> None:
    for number in range(3):
        text = f"id;b;c\n{number};NULL;NULL\n".encode()
        (tmp_path / f"part-{number}.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "_SUCCESS").touch()
    (found,) = open_csv(str(tmp_path), SIMPLE, delimiter=";", null="NULL").tables
    assert rows_of(found) == [[b"%d" % number, None, None] for number in range(3)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("id,b\n1,2\n", "no column c"), ("id,b,c\n1,2\n", "Expected 3 columns, got 2"), ("", "Empty")],
)
def test_malformed_csv_is_an_error(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "rows.csv").write_text(text)
    (found,) = open_csv(str(tmp_path / "rows.csv"), SIMPLE).tables
    with pytest.raises(DumpError, match=reason):
        rows_of(found)


UTC = dt.timezone.utc
MOMENT = dt.datetime(2024, 2, 29, 12, 34, 56, 789000)
IN_PARQUET: list[tuple[str, pa.DataType, Any, Any]] = [
    ("TINYINT UNSIGNED", pa.uint8(), 255, 255),
    ("TINYINT", pa.bool_(), True, 1),
    ("BIT(1)", pa.bool_(), True, True),
    ("BIT(9)", pa.int64(), 5, 5),
    ("BIGINT UNSIGNED", pa.uint64(), 2**64 - 1, Decimal(2**64 - 1)),
    ("BIGINT UNSIGNED", pa.decimal128(20, 0), Decimal(7), Decimal(7)),
    ("DECIMAL(10,2)", pa.decimal128(38, 4), Decimal("1.2500"), Decimal("1.25")),
    ("DECIMAL(10,2)", pa.int32(), 3, Decimal("3.00")),
    ("DECIMAL(65,1)", pa.string(), "7", "7.0"),
    ("FLOAT", pa.float32(), 0.5, 0.5),
    ("DOUBLE", pa.float64(), 5e-324, 5e-324),
    ("VARCHAR(9)", pa.large_string(), "é", "é"),
    ("VARCHAR(9)", pa.dictionary(pa.int8(), pa.string()), "é", "é"),
    ("ENUM('a','b')", pa.string(), "b", "b"),
    ("BLOB", pa.binary(), b"\0\xff", b"\0\xff"),
    ("BINARY(3)", pa.binary(3), b"abc", b"abc"),
    ("DATE", pa.date32(), dt.date(1, 1, 1), dt.date(1, 1, 1)),
    ("TIME(3)", pa.time64("us"), dt.time(1, 2, 3, 500000), "01:02:03.500"),
    ("DATETIME(3)", pa.timestamp("ns"), MOMENT, MOMENT),
    ("DATETIME", pa.timestamp("s"), MOMENT.replace(microsecond=0), MOMENT.replace(microsecond=0)),
    ("TIMESTAMP(3)", pa.timestamp("us", "Asia/Tokyo"), MOMENT.replace(tzinfo=UTC),
     MOMENT.replace(tzinfo=UTC)),
    ("JSON", pa.string(), '{"a": 1}', '{"a":1}'),
    ("UUID", pa.string(), "6CCD780C-baba1026-9564-5b8c656024db", UUID),
    ("UUID", pa.binary(), bytes.fromhex(UUID.replace("-", "")), UUID),
    ("INET6", pa.string(), "1.2.3.4", "::ffff:1.2.3.4"),
    ("INET4", pa.string(), "1.2.3.4", "1.2.3.4"),
    ("VECTOR(2)", pa.list_(pa.float32()), [1.0, 2.5], [1.0, 2.5]),
    ("POINT", pa.struct({"srid": pa.int32(), "wkb": pa.binary()}), {"srid": 4326, "wkb": b"w"},
     {"srid": 4326, "wkb": b"w"}),
]  # fmt: skip


def written(folder: Path, columns: str, values: Sequence[Any]) -> Dump:
    path = folder / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"c": values}), path)
    return open_parquet(str(path), table(columns))


@pytest.mark.parametrize(("kind", "of", "value", "expected"), IN_PARQUET)
def test_parquet(tmp_path: Path, kind: str, of: pa.DataType, value: Any, expected: Any) -> None:
    (found,) = written(tmp_path, f"c {kind}", pa.array([None, value], of)).tables
    effect = created(found.statement, "s")
    assert effect is not None
    reader = RowReader(effect.definition, TypeOptions())
    (cells,) = found.chunks[0].cells(effect.definition.columns)
    assert reader.read(cells).column(0).to_pylist() == [None, expected]


@pytest.mark.parametrize(
    ("kind", "values", "reason"),
    [
        ("TIMESTAMP", pa.array([MOMENT]), "needs a time zone"),
        ("DATETIME", pa.array([MOMENT], pa.timestamp("us", "UTC")), "has no time zone"),
        ("INT", pa.array([MOMENT]), "column is LONG"),
        ("INT", pa.array([[1.0]]), "column is LONG"),
        ("INT", pa.array([{"a": 1}]), "column is LONG"),
        ("INT", pa.array([1], pa.duration("s")), "are not supported"),
        ("BIT(3)", pa.array([1, 300]), "row 2"),
    ],
)
def test_parquet_types_that_do_not_fit_the_column_are_errors(
    tmp_path: Path, kind: str, values: pa.Array, reason: str
) -> None:
    (found,) = written(tmp_path, f"c {kind}", values).tables
    with pytest.raises(DumpError, match=reason) as caught:
        rows_of(found)
    assert "column c" in str(caught.value)


def test_parquet_values_out_of_range_are_errors(tmp_path: Path) -> None:
    (found,) = written(tmp_path, "c TINYINT", pa.array([1, 128])).tables
    effect = created(found.statement, "s")
    assert effect is not None
    (cells,) = found.chunks[0].cells(effect.definition.columns)
    with pytest.raises(SeedValueError, match="row 2"):
        RowReader(effect.definition, TypeOptions()).read(cells)


def test_a_column_missing_from_parquet_is_an_error(tmp_path: Path) -> None:
    (found,) = written(tmp_path, "c INT, d INT", pa.array([1])).tables
    with pytest.raises(DumpError, match="no column d"):
        rows_of(found)


def test_a_file_or_definition_that_cannot_be_parsed_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"id\n1\n")
    (found,) = open_parquet(str(path), table("id INT")).tables
    with pytest.raises(DumpError, match="cannot be read"):
        rows_of(found)
    with pytest.raises(DumpError, match="not a CREATE TABLE"):
        open_parquet(str(path), GivenTable("s", "SELECT 1"))
