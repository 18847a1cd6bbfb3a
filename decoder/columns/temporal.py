"""DATE, TIME, DATETIME and TIMESTAMP, in the storage formats since MySQL 5.6.4 and before it.

Two passes over a column: unpack the stored values (`temporal_storage`), then convert them to Arrow
values (`temporal_values`) or text (`temporal_text`). A date that is not in the calendar becomes
null and its row is lossy; with `zero_dates="string"`, all dates become text, TIMESTAMP in UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s, Int64s, allocate, allocate_text
from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.temporal_storage import (
    IMPOSSIBLE,
    unpack_dates,
    unpack_datetimes,
    unpack_old_datetimes,
    unpack_old_times,
    unpack_old_timestamps,
    unpack_times,
    unpack_timestamps,
)
from decoder.columns.temporal_text import (
    LONGEST_DATE,
    LONGEST_DATETIME,
    LONGEST_TIME,
    dates_text,
    datetimes_text,
    times_text,
)
from decoder.columns.temporal_values import (
    calendar,
    days,
    durations,
    instants,
    micros,
    pack_instants,
)
from decoder.columns.validity import validity, without
from decoder.constants import INSTANT_TYPES, ColumnType
from decoder.kernels.memory import Bytes
from decoder.model.definition import ColumnDefinition
from decoder.model.options import TypeOptions

Unpack = Callable[[Cells], Int64s]
"""Returns the packed form (for TIMESTAMP, microseconds since 1970) of every cell; CellError for
fields that no date or time has."""
WriteValues = Callable[[Int32s, Int64s, Bytes, Int64s], int]
"""(positions, packed, values, lost): fills `values` and `lost`, returns the number of lost rows."""
WriteText = Callable[[Int32s, Int64s, Bytes, Bytes], None]
"""(positions, packed, offsets, text): fills `offsets` and `text`."""


@dataclass(frozen=True, slots=True)
class DateReader:
    """Reader for DATE, DATETIME and TIMESTAMP as Arrow's types; other dates are null and lossy."""

    arrow_type: pa.DataType
    unpack: Unpack
    write: WriteValues

    def read(self, cells: Cells) -> Column:
        """Return the cells as `arrow_type`; CellError for fields that MySQL never stores."""
        rows = len(cells.positions)
        data, values = allocate(rows * self.arrow_type.bit_width // 8)
        rows_lost = np.empty(rows, np.int64)
        count = self.write(cells.positions, self.unpack(cells), values, rows_lost)
        lost = rows_lost[:count]
        kept = without(cells, lost)
        buffers = [validity(kept), data]
        return Column(pa.Array.from_buffers(self.arrow_type, rows, buffers, kept.nulls), lost)


@dataclass(frozen=True, slots=True)
class DurationReader:
    """Reader for TIME as microseconds."""

    arrow_type: pa.DataType
    unpack: Unpack

    def read(self, cells: Cells) -> Column:
        """Return the cells as int64; CellError for fields that MySQL never stores."""
        rows = len(cells.positions)
        data, values = allocate(8 * rows)
        durations(self.unpack(cells), values)
        buffers = [validity(cells), data]
        return Column(pa.Array.from_buffers(self.arrow_type, rows, buffers, cells.nulls))


@dataclass(frozen=True, slots=True)
class TemporalTextReader:
    """Reader for dates and times as MySQL prints them, in at most `longest` bytes."""

    arrow_type: pa.DataType
    unpack: Unpack
    write: WriteText
    longest: int

    def read(self, cells: Cells) -> Column:
        """Return the cells as text; CellError for fields that MySQL never stores."""
        rows = len(cells.positions)
        packed = self.unpack(cells)
        offsets, ends = allocate(4 * (rows + 1))
        data, text = allocate_text(self.longest * rows)
        self.write(cells.positions, packed, ends, text)
        buffers = [validity(cells), offsets, data]
        return Column(pa.Array.from_buffers(self.arrow_type, rows, buffers, cells.nulls))


def _unpack(kernel: Callable[..., None], *arguments: int) -> Unpack:
    def unpack(cells: Cells) -> Int64s:
        packed = np.empty(len(cells.positions), np.int64)
        kernel(cells.buffer, cells.positions, *arguments, packed)
        if packed.min(initial=0) == IMPOSSIBLE:
            _raise_if_impossible(cells, packed)
        return packed

    return unpack


def _raise_if_impossible(cells: Cells, packed: Int64s) -> None:
    rows = np.flatnonzero((packed == IMPOSSIBLE) & (cells.positions >= 0))
    if len(rows):
        raise CellError(int(rows[0]), "a date or time has fields that MySQL never stores")


def _unpack_instants_to_fields(unpack: Unpack) -> Unpack:
    def fields(cells: Cells) -> Int64s:
        stored = unpack(cells)
        pack_instants(stored, stored)
        return stored

    return fields


def _in_calendar(kernel: Callable[..., int]) -> WriteValues:
    def write(positions: Int32s, packed: Int64s, values: Bytes, lost: Int64s) -> int:
        return kernel(positions, packed, calendar(), values, lost)

    return write


def _with_digits(kernel: Callable[..., None], digits: int) -> WriteText:
    def write(positions: Int32s, packed: Int64s, offsets: Bytes, text: Bytes) -> None:
        kernel(positions, packed, digits, offsets, text)

    return write


_OLD_FORMATS: dict[ColumnType, Any] = {
    ColumnType.DATETIME: unpack_old_datetimes,
    ColumnType.TIME: unpack_old_times,
    ColumnType.TIMESTAMP: unpack_old_timestamps,
}
_FORMATS: dict[ColumnType, Any] = {
    ColumnType.DATETIME2: unpack_datetimes,
    ColumnType.TIME2: unpack_times,
    ColumnType.TIMESTAMP2: unpack_timestamps,
}


def temporal_reader(column: ColumnDefinition, options: TypeOptions) -> ColumnReader:
    """Return the reader for a DATE, TIME, DATETIME or TIMESTAMP column, old or new."""
    text = options.zero_dates == "string"
    if column.type in (ColumnType.DATE, ColumnType.NEWDATE):
        return fields_reader(column, options, _unpack(unpack_dates))
    column.require_fraction()
    digits = column.fraction
    if column.type in _OLD_FORMATS:
        unpack = _unpack(_OLD_FORMATS[column.type])
    else:
        unpack = _unpack(_FORMATS[column.type], (digits + 1) // 2)
    if not text and column.type in INSTANT_TYPES:
        return DateReader(pa.timestamp("us", "UTC"), unpack, instants)
    instant = column.type in INSTANT_TYPES
    return fields_reader(column, options, _unpack_instants_to_fields(unpack) if instant else unpack)


def fields_reader(column: ColumnDefinition, options: TypeOptions, fields: Unpack) -> ColumnReader:
    """Return the reader for a column of dates or times that `fields` unpacks from any source.

    A TIMESTAMP is packed as its date and time in UTC.
    """
    if column.type in (ColumnType.TIME, ColumnType.TIME2):
        return _time_reader(fields, column.fraction, options)
    text = options.zero_dates == "string"
    if column.type in (ColumnType.DATE, ColumnType.NEWDATE):
        return _date_reader(fields, text)
    if text:
        write = _with_digits(datetimes_text, column.fraction)
        return TemporalTextReader(pa.string(), fields, write, LONGEST_DATETIME)
    kind = pa.timestamp("us", "UTC") if column.type in INSTANT_TYPES else pa.timestamp("us")
    return DateReader(kind, fields, _in_calendar(micros))


def _date_reader(unpack: Unpack, text: bool) -> ColumnReader:
    if text:
        return TemporalTextReader(pa.string(), unpack, dates_text, LONGEST_DATE)
    return DateReader(pa.date32(), unpack, _in_calendar(days))


def _time_reader(unpack: Unpack, digits: int, options: TypeOptions) -> ColumnReader:
    if options.time == "micros":
        return DurationReader(pa.int64(), unpack)
    write = _with_digits(times_text, digits)
    return TemporalTextReader(pa.string(), unpack, write, LONGEST_TIME)
