"""Printed values that servers do not print themselves: other programs' spellings, and errors."""

from __future__ import annotations

import datetime as dt
import pickle
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from decoder import TableDefinition, TypeOptions
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.seed.dumps.model import created
from pipeline.seed.errors import SeedValueError
from pipeline.seed.values import RowReader
from pipeline.seed.values.rows import printed_reader

AS_TEXT = TypeOptions(zero_dates="string")


def definition(kind: str, *, key: bool = False) -> TableDefinition:
    found = created(f"CREATE TABLE t (c {kind}{' PRIMARY KEY' if key else ''})", "s")
    assert isinstance(found, CreateTable)
    return found.definition


def read(kind: str, *values: bytes | None, options: TypeOptions | None = None) -> list[Any]:
    reader = RowReader(definition(kind), options or TypeOptions())
    found: list[Any] = reader.read([pa.array(values, pa.binary())]).column(0).to_pylist()
    return found


UTC = dt.timezone.utc
READ: list[tuple[str, bytes, Any]] = [
    ("INT ZEROFILL", b"0000000042", 42),
    ("BIGINT UNSIGNED", b"18446744073709551615", Decimal(2**64 - 1)),
    ("YEAR", b"0000", 0),
    ("DECIMAL(5,2)", b"-.5", Decimal("-0.50")),
    ("DECIMAL(5,2) ZEROFILL", b"007.50", Decimal("7.50")),
    ("DECIMAL(65,30)", b"00001.5", "1." + "5".ljust(30, "0")),
    ("DECIMAL(39,0)", b"-007", "-7"),
    ("DECIMAL(39,39)", b"-.5", "-0." + "5".ljust(39, "0")),
    ("DOUBLE", b"1e-5", 1e-5),
    ("FLOAT", b"0.10000000149011612", 0.10000000149011612),
    ("BIT(1)", b"\x01", True),
    ("BIT(9)", b"\x05", 5),
    ("BIT(64)", b"", Decimal(0)),
    ("CHAR(5)", b"ab   ", "ab"),
    ("VARCHAR(5)", b"ab  ", "ab  "),
    ("VARCHAR(5)", b"\xff", "�"),
    ("BINARY(4)", b"ab", b"ab\0\0"),
    ("ENUM('a','b')", b"", ""),
    ("SET('a','b')", b"a,b", "a,b"),
    ("DATE", b"2024-02-29", dt.date(2024, 2, 29)),
    ("DATE", b"2023-02-30", None),
    ("DATETIME", b"2024-02-29T12:34:56", dt.datetime(2024, 2, 29, 12, 34, 56)),
    ("DATETIME(6)", b"2024-02-29 12:34:56.5", dt.datetime(2024, 2, 29, 12, 34, 56, 500000)),
    ("DATETIME(3)", b"2024-02-29 12:34:56.500000", dt.datetime(2024, 2, 29, 12, 34, 56, 500000)),
    ("TIMESTAMP", b"1970-01-01 00:00:01", dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
    ("TIMESTAMP", b"0000-00-00 00:00:00", None),
    ("TIME", b"-838:59:59", "-838:59:59"),
    ("TIME", b"1:02:03", "01:02:03"),
    ("TIME(2)", b"-00:00:00.5", "-00:00:00.50"),
    ("JSON", b'["base64:type252:AP+A\nAP8=", \n1]', '["base64:type252:AP+A\\nAP8=",1]'),
    ("JSON", b' {"a" : [1, 2.50, "x, y: z", 1E2] }', '{"a":[1,2.50,"x, y: z",100.0]}'),
    ("POINT", b"\xe6\x10\0\0wkb", {"srid": 4326, "wkb": b"wkb"}),
    ("VECTOR(2)", b"\0\0\x80?\0\0\0@", [1.0, 2.0]),
]


@pytest.mark.parametrize(("kind", "value", "expected"), READ)
def test_spellings_that_are_accepted(kind: str, value: bytes, expected: Any) -> None:
    assert read(kind, None, value, None) == [None, expected, None]


def test_lossy_values_are_reported() -> None:
    cells = pa.array([b"2020-01-01", None, b"0000-00-00", b"2020-02-30"], pa.binary())
    (column,) = definition("DATE").columns
    assert printed_reader(column, TypeOptions())(cells).lossy.tolist() == [2, 3]


def test_invalid_dates_are_kept_as_text() -> None:
    assert read("DATE", b"2020-00-10", options=AS_TEXT) == ["2020-00-10"]
    zero = b"0000-00-00 00:00:00"
    assert read("TIMESTAMP(3)", zero, options=AS_TEXT) == ["0000-00-00 00:00:00.000"]


REFUSED = [
    ("TINYINT", b"128"), ("TINYINT UNSIGNED", b"-1"), ("TINYINT UNSIGNED", b"256"),
    ("MEDIUMINT", b"8388608"), ("INT", b""), ("INT", b"1.5"), ("INT", b"0x1"), ("INT", b" 1"),
    ("INT", b"\xff"), ("BIGINT", b"9223372036854775808"),
    ("BIGINT UNSIGNED", b"18446744073709551616"),
    ("YEAR", b"1900"), ("YEAR", b"2156"), ("DECIMAL(5,2)", b"1000.00"), ("DECIMAL(5,2)", b"1.234"),
    ("DECIMAL(5,2)", b"x"), ("DECIMAL(65,2)", b"1.234"), ("DECIMAL(65,2)", b"1e3"),
    ("DECIMAL(40,0)", b"1" * 41), ("DOUBLE", b"1e400"), ("DOUBLE", b"nan"), ("DOUBLE", b"inf"),
    ("FLOAT", b""), ("BIT(9)", b"\x02\x00"), ("BIT(8)", b"\x00\x01"), ("BINARY(2)", b"abc"),
    ("ENUM('a')", b"b"), ("SET('a','b')", b"a,c"), ("DATE", b"2024-1-1"), ("DATE", b"2024-13-01"),
    ("DATE", b"2024-01-32"), ("DATE", b"2024/01/01"), ("DATE", b"2024-01-01 00:00:00"),
    ("DATE", b""),
    ("DATETIME", b"2024-01-01"), ("DATETIME", b"2024-01-01 24:00:00"),
    ("DATETIME", b"2024-01-01 00:60:00"), ("DATETIME", b"2024-01-01 00:00:00.5"),
    ("DATETIME(3)", b"2024-01-01 00:00:00.1234"), ("DATETIME", b"2024-01-01 00:00:00."),
    ("DATETIME(6)", b"2024-01-01 00:00:00.1234567"), ("TIMESTAMP", b"1969-12-31 23:59:59"),
    ("TIMESTAMP", b"2024-01-01 00:00:00Z"), ("TIME", b"839:00:00"), ("TIME", b"00:00"),
    ("TIME", b"-"), ("TIME", b"1000:00:00"), ("TIME", b"00:00:60"), ("TIME", b"0a:00:00"),
    ("JSON", b"{"), ("JSON", b"NaN"), ("JSON", b""), ("JSON", b"1,2"), ("JSON", b"[1]\0[2]"),
    ("POINT", b"abc"), ("VECTOR(2)", b"abcde"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value"), REFUSED)
def test_invalid_values_are_refused(kind: str, value: bytes) -> None:
    good = {"INT": b"1"}.get(kind)
    reader = RowReader(definition(kind), TypeOptions())
    with pytest.raises(SeedValueError) as caught:
        reader.read([pa.array([None, good, value], pa.binary())], part="chunk 7", rows_before=10)
    error = caught.value
    assert (error.table, error.column, error.row) == ("s.t", "c", 13)
    assert error.value == value
    assert "row 13 of chunk 7" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_long_value_is_truncated_in_the_error() -> None:
    with pytest.raises(SeedValueError, match=r"\(70000 bytes\)") as caught:
        read("INT", b"x" * 70000)
    assert len(str(caught.value)) < 500


def test_a_lossy_key_value_is_an_error() -> None:
    reader = RowReader(definition("DATE", key=True), TypeOptions())
    with pytest.raises(SeedValueError, match="part of a key"):
        reader.read([pa.array([b"0000-00-00"], pa.binary())])


def test_an_enum_with_unknown_labels_is_refused() -> None:
    column = ColumnDefinition("c", T.ENUM, length=1)
    with pytest.raises(UnsupportedError, match="labels"):
        RowReader(TableDefinition("s", "t", (column,)), TypeOptions())


@given(st.lists(st.one_of(st.none(), st.datetimes(min_value=dt.datetime(1, 1, 1)))))
def test_datetimes_round_trip(values: list[dt.datetime | None]) -> None:
    texts = [one and one.isoformat(" ", "microseconds").encode() for one in values]
    assert read("DATETIME(6)", *texts) == values
    expected = [text and text.decode() for text in texts]
    assert read("DATETIME(6)", *texts, options=AS_TEXT) == expected


@given(st.lists(st.one_of(st.none(), st.integers(-(10**38) + 1, 10**38 - 1))))
def test_decimals_round_trip(values: list[int | None]) -> None:
    texts = [None if one is None else b"%d" % one for one in values]
    assert read("DECIMAL(38,0)", *texts) == values
    assert read("DECIMAL(65,0)", *texts) == [text and text.decode() for text in texts]


@given(st.lists(st.binary(max_size=30)), st.sampled_from(sorted({kind for kind, *_ in READ})))
def test_arbitrary_bytes_are_read_or_refused(values: list[bytes], kind: str) -> None:
    with suppress(SeedValueError):
        assert len(read(kind, *values)) == len(values)


def test_a_slice_of_cells_is_read_from_its_offset() -> None:
    cells = pa.array([b"bad", b"2", None, b"4", b"bad"], pa.binary()).slice(1, 3)
    for kind in ("INT", "VARCHAR(9)"):
        batch = RowReader(definition(kind), TypeOptions()).read([cells])
        assert [one and str(one) for one in batch.column(0).to_pylist()] == ["2", None, "4"]


def test_an_empty_batch_has_the_schema() -> None:
    for kind, *_ in READ:
        reader = RowReader(definition(kind), TypeOptions())
        assert reader.read([pa.array([], pa.binary())]).schema == reader.schema
