"""Dates and times, stored as MySQL documents it and read back."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from decoder import TypeOptions
from decoder.columns.cells import CellError
from decoder.columns.registry import reader
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from tests.support.decoder.cells import column, read, values
from tests.support.decoder.kernels import examples
from tests.support.decoder.stored import (
    printed_time,
    stored_date,
    stored_datetime,
    stored_fraction,
    stored_time,
)

TEXT = TypeOptions(zero_dates="string")
MICROS = TypeOptions(time="micros")


@examples(50)
@given(st.lists(st.none() | st.dates(), max_size=30))
def test_dates_round_trip(days: list[date | None]) -> None:
    stored = [None if d is None else stored_date(d.year, d.month, d.day) for d in days]
    assert values(column(T.DATE), stored) == days
    texts = values(column(T.DATE), stored, TEXT)
    assert texts == [None if d is None else d.isoformat() for d in days]


IMPOSSIBLE = [(0, 0, 0), (2020, 0, 10), (2020, 10, 0), (2023, 2, 29), (2023, 4, 31), (0, 1, 1)]


@pytest.mark.parametrize("fields", IMPOSSIBLE)
def test_impossible_dates_are_null_and_lossy_or_text(fields: tuple[int, int, int]) -> None:
    text = "{:04}-{:02}-{:02}".format(*fields)
    stored = [stored_date(2024, 2, 29), None, stored_date(*fields)]
    found = read(column(T.DATE), stored)
    assert found.array.to_pylist() == [date(2024, 2, 29), None, None]
    assert found.lossy.tolist() == [2]
    assert values(column(T.DATE), stored, TEXT) == ["2024-02-29", None, text]
    stored = [stored_datetime((*fields, 1, 2, 3), 500000, 3)]
    found = read(column(T.DATETIME2, fraction=3), stored)
    assert found.array.to_pylist() == [None]
    assert found.lossy.tolist() == [0]
    assert values(column(T.DATETIME2, fraction=3), stored, TEXT) == [f"{text} 01:02:03.500"]


@pytest.mark.parametrize("digits", range(7))
@examples(25)
@given(moments=st.lists(st.datetimes(), min_size=1, max_size=9))
def test_datetimes_round_trip(digits: int, moments: list[datetime]) -> None:
    unit = 10 ** (6 - digits)
    moments = [m.replace(microsecond=m.microsecond // unit * unit) for m in moments]
    stored = [stored_datetime(m.timetuple()[:6], m.microsecond, digits) for m in moments]
    definition = column(T.DATETIME2, fraction=digits)
    assert values(definition, [*stored, None]) == [*moments, None]
    expected = [
        (m.isoformat(" ", "microseconds") + " ")[: 19 + (digits > 0) + digits] for m in moments
    ]
    assert values(definition, stored, TEXT) == expected


@pytest.mark.parametrize("digits", range(7))
@examples(25)
@given(instants=st.lists(st.integers(10**6, 2**32 * 10**6 - 1), min_size=1, max_size=9))
def test_timestamps_round_trip(digits: int, instants: list[int]) -> None:
    unit = 10 ** (6 - digits)
    instants = [instant // unit * unit for instant in instants]
    stored = [
        (instant // 10**6).to_bytes(4, "big")
        + stored_fraction(instant % 10**6, digits).to_bytes((digits + 1) // 2, "big")
        for instant in instants
    ]
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    moments = [epoch + timedelta(microseconds=instant) for instant in instants]
    definition = column(T.TIMESTAMP2, fraction=digits)
    assert values(definition, [*stored, None]) == [*moments, None]
    expected = [f"{m:%Y-%m-%d %H:%M:%S.%f}"[: 19 + (digits > 0) + digits] for m in moments]
    assert values(definition, stored, TEXT) == expected


def test_timestamp_0_is_the_zero_date() -> None:
    stored = [bytes(4), None, bytes([0, 0, 0, 1])]
    found = read(column(T.TIMESTAMP2), stored)
    assert found.array.to_pylist() == [
        None,
        None,
        datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc),
    ]
    assert found.lossy.tolist() == [0]
    text = values(column(T.TIMESTAMP2), stored, TEXT)
    assert text == ["0000-00-00 00:00:00", None, "1970-01-01 00:00:01"]


@pytest.mark.parametrize("digits", range(7))
@examples(50)
@given(times=st.lists(st.integers(-3020399000000, 3020399000000), min_size=1, max_size=9))
def test_times_round_trip(digits: int, times: list[int]) -> None:
    unit = 10 ** (6 - digits)
    times = [int(time / unit) * unit for time in times]
    stored = [stored_time(time, digits) for time in times]
    definition = column(T.TIME2, fraction=digits)
    assert values(definition, [*stored, None]) == [*(printed_time(t, digits) for t in times), None]
    assert values(definition, [*stored, None], MICROS) == [*times, None]


def test_reads_the_storage_formats_before_5_6_4() -> None:
    assert values(column(T.TIME), [(-12345).to_bytes(3, "little", signed=True)]) == ["-01:23:45"]
    assert values(column(T.TIME), [(8385959).to_bytes(3, "little")]) == ["838:59:59"]
    moments = [20240229123456, 0]
    found = read(column(T.DATETIME), [moment.to_bytes(8, "little") for moment in moments])
    assert found.array.to_pylist() == [datetime(2024, 2, 29, 12, 34, 56), None]
    assert found.lossy.tolist() == [1]
    instant = datetime(2001, 9, 9, 1, 46, 40, tzinfo=timezone.utc)
    assert values(column(T.TIMESTAMP), [(10**9).to_bytes(4, "little")]) == [instant]


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (T.DATE, stored_date(2024, 13, 1)),
        (T.DATE, stored_date(10000, 1, 1)),
        (T.DATETIME2, bytes(5)),
        (T.DATETIME2, stored_datetime((10000, 1, 1, 0, 0, 0))),
        (T.DATETIME, b"\xff" * 8),
        (T.DATETIME, (20241301000000).to_bytes(8, "little")),
        (T.DATETIME, (20240101000060).to_bytes(8, "little")),
        (T.TIME, (6000).to_bytes(3, "little")),
        (T.TIME, (-60).to_bytes(3, "little", signed=True)),
    ],
)
@pytest.mark.parametrize("options", [TypeOptions(), TEXT, MICROS])
def test_fields_that_mysql_never_stores_raise(kind: T, stored: bytes, options: TypeOptions) -> None:
    with pytest.raises(CellError, match="never stores") as caught:
        values(column(kind), [None, stored], options)
    assert caught.value.row == 1


@examples(50)
@given(times=st.lists(st.integers(-3020399, 3020399), min_size=1, max_size=9))
def test_times_stored_before_5_6_4_round_trip(times: list[int]) -> None:
    def stored(time: int) -> bytes:
        seconds = abs(time)
        digits = seconds // 3600 * 10000 + seconds // 60 % 60 * 100 + seconds % 60
        return (-digits if time < 0 else digits).to_bytes(3, "little", signed=True)

    cells = [*map(stored, times), None]
    assert values(column(T.TIME), cells) == [*(printed_time(t * 10**6, 0) for t in times), None]
    assert values(column(T.TIME), cells, MICROS) == [*(time * 10**6 for time in times), None]


@examples(50)
@given(moments=st.lists(st.datetimes(), min_size=1, max_size=9))
def test_datetimes_stored_before_5_6_4_round_trip(moments: list[datetime]) -> None:
    moments = [moment.replace(microsecond=0) for moment in moments]
    stored = [int(f"{m.year:04}{m:%m%d%H%M%S}").to_bytes(8, "little") for m in moments]
    assert values(column(T.DATETIME), [*stored, None]) == [*moments, None]
    assert values(column(T.DATETIME), stored, TEXT) == [moment.isoformat(" ") for moment in moments]


@pytest.mark.parametrize("kind", [T.TIME, T.DATETIME, T.TIMESTAMP])
def test_values_of_unknown_size_are_unsupported(kind: T) -> None:
    with pytest.raises(UnsupportedError, match="mysql56_temporal_format"):
        reader(column(kind, fraction_logged=False), TypeOptions())
