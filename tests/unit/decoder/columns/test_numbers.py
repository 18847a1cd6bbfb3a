"""Integers, floats, bits and decimals equal Python's values of the same bytes."""

from __future__ import annotations

import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from decoder.columns.cells import CellError
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from tests.support.decoder.cells import column, values
from tests.support.decoder.kernels import examples
from tests.support.decoder.stored import packed_decimal, printed_decimal

INTEGERS = [
    (T.TINY, 1, False, pa.int8()),
    (T.TINY, 1, True, pa.int16()),
    (T.SHORT, 2, False, pa.int16()),
    (T.SHORT, 2, True, pa.int32()),
    (T.INT24, 3, False, pa.int32()),
    (T.INT24, 3, True, pa.int32()),
    (T.LONG, 4, False, pa.int32()),
    (T.LONG, 4, True, pa.int64()),
    (T.LONGLONG, 8, False, pa.int64()),
    (T.LONGLONG, 8, True, pa.decimal128(20, 0)),
]


@pytest.mark.parametrize(("kind", "size", "unsigned", "arrow_type"), INTEGERS)
@examples(25)
@given(data=st.data())
def test_integers_equal_int_from_bytes(
    kind: T, size: int, unsigned: bool, arrow_type: pa.DataType, data: st.DataObject
) -> None:
    stored = data.draw(st.lists(st.none() | st.binary(min_size=size, max_size=size), max_size=70))
    expected = [
        None if value is None else int.from_bytes(value, "little", signed=not unsigned)
        for value in stored
    ]
    assert values(column(kind, unsigned=unsigned), stored) == expected


@pytest.mark.parametrize(("kind", "size", "unsigned", "arrow_type"), INTEGERS)
def test_integers_at_the_limits_of_their_types(
    kind: T, size: int, unsigned: bool, arrow_type: pa.DataType
) -> None:
    low, high = (
        (0, (1 << 8 * size) - 1) if unsigned else (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1)
    )
    stored = [n.to_bytes(size, "little", signed=not unsigned) for n in (low, high)]
    definition = column(kind, unsigned=unsigned)
    found = values(definition, stored)
    assert found == [low, high]
    assert pa.array(found, arrow_type).to_pylist() == found


def test_year_0_is_not_1900() -> None:
    assert values(column(T.YEAR), [b"\x00", b"\x01", b"\xff", None]) == [0, 1901, 2155, None]


@examples(50)
@given(st.lists(st.floats(allow_nan=False), max_size=20))
def test_doubles_keep_their_bits(numbers: list[float]) -> None:
    doubles = values(column(T.DOUBLE), [struct.pack("<d", number) for number in numbers])
    assert [struct.pack("<d", d) for d in doubles] == [struct.pack("<d", d) for d in numbers]


def test_negative_zero_and_denormal_floats_keep_their_bits() -> None:
    stored = [struct.pack("<f", -0.0), b"\x01\x00\x00\x00"]
    assert [struct.pack("<f", f) for f in values(column(T.FLOAT), stored)] == stored


@pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 16, 17, 31, 32, 33, 57, 63, 64])
def test_bits_are_unsigned_integers(width: int) -> None:
    numbers = [0, 1, (1 << width) - 1, 1 << (width - 1)] * 20
    stored = [n.to_bytes((width + 7) // 8, "big") for n in numbers]
    assert values(column(T.BIT, length=width), [*stored, None]) == [*numbers, None]


@st.composite
def decimals(draw: st.DrawFn) -> tuple[int, int, list[int]]:
    precision = draw(st.integers(1, 65))
    scale = draw(st.integers(0, min(precision, 30)))
    limit = 10**precision - 1
    return precision, scale, draw(st.lists(st.integers(-limit, limit), min_size=1, max_size=9))


@examples(200)
@given(decimals())
def test_decimals_keep_all_digits(drawn: tuple[int, int, list[int]]) -> None:
    precision, scale, numbers = drawn
    definition = column(T.NEWDECIMAL, precision=precision, scale=scale)
    stored = [packed_decimal(number, precision, scale) for number in numbers]
    found = values(definition, [*stored, None])
    if precision > 38:
        assert found == [*(printed_decimal(number, scale) for number in numbers), None]
    else:
        assert found == [*(Decimal(printed_decimal(number, scale)) for number in numbers), None]


@pytest.mark.parametrize(("precision", "scale"), [(9, 0), (18, 9), (5, 2), (30, 10), (50, 20)])
def test_a_decimal_group_out_of_range_is_malformed(precision: int, scale: int) -> None:
    definition: ColumnDefinition = column(T.NEWDECIMAL, precision=precision, scale=scale)
    good = packed_decimal(1, precision, scale)
    bad = bytes([0xFF] * len(good))
    with pytest.raises(CellError) as caught:
        values(definition, [good, None, bad, good])
    assert caught.value.row == 2
