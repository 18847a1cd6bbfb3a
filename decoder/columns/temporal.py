"""DATE, TIME, DATETIME and TIMESTAMP, in the storage formats since MySQL 5.6.4 and before it.

Two passes over a column: unpack the stored values (`temporal_storage`), then convert them to Arrow
values (`temporal_values`) or text (`temporal_text`). A date that is not in the calendar becomes
null and its row is lossy; with `zero_dates="string"`, all dates become text, TIMESTAMP in UTC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s, Int64s, allocate
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
from decoder.columns.values import allocate_values, arrow_array, without
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
class TemporalReader:
    """Reader for dates and times as Arrow's types, and TIME as microseconds.

    A date that Arrow does not have is null and lossy.
    """

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
        return Column(arrow_array(self.arrow_type, without(cells, lost), data), lost)


@dataclass(frozen=True, slots=True)
class TemporalTextReader:
    """Reader for dates and times as MySQL prints them, in at most `longest` bytes."""

    arrow_type: pa.DataType
    unpack: Unpack
    write: WriteText
    longest: int

    def read(self, cells: Cells) -> Column:
        """Return the cells as text; CellError for fields that MySQL never stores."""
        packed = self.unpack(cells)
        rows = len(cells.positions)
        values = allocate_values(rows, rows * self.longest)
        self.write(cells.positions, packed, values.ends, values.bytes)
        return Column(values.array(self.arrow_type, cells))


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
    if column.type in (ColumnType.DATE, ColumnType.NEWDATE):
        return fields_reader(column, options, _unpack(unpack_dates))
    column.require_fraction()
    if column.type in _OLD_FORMATS:
        unpack = _unpack(_OLD_FORMATS[column.type])
    else:
        unpack = _unpack(_FORMATS[column.type], (column.fraction + 1) // 2)
    if column.type not in INSTANT_TYPES:
        return fields_reader(column, options, unpack)
    if options.zero_dates == "string":
        return fields_reader(column, options, _unpack_instants_to_fields(unpack))
    return TemporalReader(pa.timestamp("us", "UTC"), unpack, instants)


def fields_reader(column: ColumnDefinition, options: TypeOptions, fields: Unpack) -> ColumnReader:
    """Return the reader for a column of dates or times that `fields` unpacks from any source.

    A TIMESTAMP is packed as its date and time in UTC.
    """
    digits = column.fraction
    if column.type in (ColumnType.TIME, ColumnType.TIME2):
        if options.time == "micros":
            return TemporalReader(pa.int64(), fields, durations)
        return TemporalTextReader(pa.string(), fields, partial(times_text, digits), LONGEST_TIME)
    text = options.zero_dates == "string"
    if column.type in (ColumnType.DATE, ColumnType.NEWDATE):
        if text:
            return TemporalTextReader(pa.string(), fields, dates_text, LONGEST_DATE)
        return TemporalReader(pa.date32(), fields, _in_calendar(days))
    if text:
        return TemporalTextReader(
            pa.string(), fields, partial(datetimes_text, digits), LONGEST_DATETIME
        )
    kind = pa.timestamp("us", "UTC") if column.type in INSTANT_TYPES else pa.timestamp("us")
    return TemporalReader(kind, fields, _in_calendar(micros))
