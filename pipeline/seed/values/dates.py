"""DATE, TIME, DATETIME and TIMESTAMP as they are printed, to the decoder's packed fields.

Read are `YYYY-MM-DD`, `YYYY-MM-DD hh:mm:ss[.f…]` and `[-]h…h:mm:ss[.f…]`, all rows of a column at a
time, digit by digit. What becomes of the fields (a date, text, null for a zero date) is for the
decoder's own readers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder import TypeOptions
from decoder.columns.arrays import Int64s
from decoder.columns.cells import Cells
from decoder.columns.temporal import Unpack, fields_reader
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.cell_bytes import StoredReader, refuse

_DATE, _DATETIME = 10, 19
"""Characters of a date, and of a date and a time without a fraction."""
_SHORTEST_TIME, _CLOCK = 8, 5
"""Characters of `hh:mm:ss`, and of `mm:ss`."""
_FRACTION = 6
_LAST_HOUR = 838
_EPOCH = (1970 * 13 + 1 << 5 | 1) << 41

Mask = npt.NDArray[np.bool_]


class _Characters:
    """The cells' characters by column: positions of all rows, and which rows are no value."""

    def __init__(self, cells: Cells) -> None:
        self.buffer = cells.buffer
        self.filled: Mask = cells.positions >= 0
        self.start = np.where(self.filled, cells.positions, 0).astype(np.int64)
        self.length = np.where(self.filled, cells.lengths, 0).astype(np.int64)
        self.bad: Mask = np.zeros(len(self.start), np.bool_)

    def is_at(self, at: Int64s, *characters: str) -> Mask:
        """Whether one of them stands there; past the buffer's end stands nothing."""
        found = self.buffer[np.minimum(at, len(self.buffer) - 1)]
        mask: Mask = np.isin(found, [ord(character) for character in characters])
        return mask

    def require(self, mask: Any) -> None:
        """Rows where it does not hold are no value."""
        self.bad |= ~mask

    def number(self, at: Int64s, digits: int, where: Mask | None = None) -> Int64s:
        """The number of so many digits there; required are they where `where` holds."""
        value = np.zeros(len(at), np.int64)
        for place in range(digits):
            value = value * 10 + self._digit(at + place, where)
        return value

    def _digit(self, at: Int64s, where: Mask | None) -> Int64s:
        inside = np.clip(at, 0, len(self.buffer) - 1)
        digit = self.buffer[inside].astype(np.int64) - ord("0")
        wrong = (digit < 0) | (digit > 9)
        self.bad |= wrong if where is None else wrong & where
        return np.where(wrong, 0, digit)

    def fraction(self, point: Int64s, digits: int) -> Int64s:
        """Microseconds from the point on to the end, if anything is there.

        A value with more digits than the column's, other than zeros, is none of it.
        """
        more = self.start + self.length - point
        self.require((more == 0) | (self.is_at(point, ".") & (more > 1) & (more <= 1 + _FRACTION)))
        micros = np.zeros(len(point), np.int64)
        for place in range(1, 1 + _FRACTION):
            present = more > place
            digit = np.where(present, self._digit(point + place, present), 0)
            micros = micros * 10 + digit
        self.require(micros % 10 ** (_FRACTION - digits) == 0)
        return micros

    def result(self, packed: Int64s, reason: str) -> Int64s:
        """The packed form, 0 where NULL; CellError for the first row that is no value."""
        refuse(self.bad & self.filled, reason)
        return np.where(self.filled, packed, 0)


def _date(characters: _Characters) -> Int64s:
    """YYYY-MM-DD at the start, packed; days that a month does not have too."""
    start = characters.start
    characters.require(characters.is_at(start + 4, "-") & characters.is_at(start + 7, "-"))
    year, month = characters.number(start, 4), characters.number(start + 5, 2)
    day = characters.number(start + 8, 2)
    characters.require((month <= 12) & (day <= 31))
    return (year * 13 + month << 5 | day) << 41


def _clock(characters: _Characters, at: Int64s, hour: Int64s) -> Int64s:
    """mm:ss there, packed with the hour before it."""
    characters.require(characters.is_at(at - 1, ":") & characters.is_at(at + 2, ":"))
    minute, second = characters.number(at, 2), characters.number(at + 3, 2)
    characters.require((minute < 60) & (second < 60))
    return (hour << 12 | minute << 6 | second) << 24


def _dates(cells: Cells, column: ColumnDefinition) -> Int64s:
    characters = _Characters(cells)
    characters.require(characters.length == _DATE)
    return characters.result(_date(characters), _reason(column))


def _datetimes(cells: Cells, column: ColumnDefinition) -> Int64s:
    characters = _Characters(cells)
    characters.require(characters.length >= _DATETIME)
    start = characters.start
    characters.require(characters.is_at(start + _DATE, " ", "T"))
    hour = characters.number(start + 11, 2)
    characters.require(hour < 24)
    packed = _date(characters) | _clock(characters, start + 14, hour)
    packed += characters.fraction(start + _DATETIME, column.fraction)
    return characters.result(packed, _reason(column))


def _timestamps(cells: Cells, column: ColumnDefinition) -> Int64s:
    """Instants are not before 1970; what is no instant is all zeros."""
    packed = _datetimes(cells, column)
    early = (cells.positions >= 0) & (packed < _EPOCH) & (packed != 0)
    refuse(early, _reason(column))
    return packed


def _times(cells: Cells, column: ColumnDefinition) -> Int64s:
    characters = _Characters(cells)
    negative = characters.is_at(characters.start, "-") & (characters.length > 0)
    point = _points(characters)
    hours = characters.start + negative
    digits = point - _CLOCK - 1 - hours
    characters.require((digits >= 1) & (digits <= 3))
    hour = np.zeros(len(hours), np.int64)
    for place in range(3):
        present = digits > place
        digit = characters.number(hours + place, 1, present)
        hour = np.where(present, hour * 10 + digit, hour)
    characters.require(hour <= _LAST_HOUR)
    packed = _clock(characters, point - _CLOCK, hour)
    packed += characters.fraction(point, column.fraction)
    return characters.result(np.where(negative, -packed, packed), _reason(column))


def _points(characters: _Characters) -> Int64s:
    """Where the fraction begins, or the value ends; a value too short for a time is none."""
    end = characters.start + characters.length
    point = end.copy()
    for place in range(1, _FRACTION + 2):
        at = np.maximum(end - place, characters.start)
        point = np.where(characters.is_at(at, "."), at, point)
    characters.require(point - characters.start >= _SHORTEST_TIME - 1)
    return point


def _reason(column: ColumnDefinition) -> str:
    digits = f"({column.fraction})" if column.fraction else ""
    return f"it is no {column.type.name.removesuffix('2')}{digits}"


_FIELDS: dict[ColumnType, Callable[[Cells, ColumnDefinition], Int64s]] = {
    **dict.fromkeys((ColumnType.DATE, ColumnType.NEWDATE), _dates),
    **dict.fromkeys((ColumnType.TIME, ColumnType.TIME2), _times),
    **dict.fromkeys((ColumnType.DATETIME, ColumnType.DATETIME2), _datetimes),
    **dict.fromkeys((ColumnType.TIMESTAMP, ColumnType.TIMESTAMP2), _timestamps),
}


def printed_temporal(column: ColumnDefinition, options: TypeOptions) -> StoredReader:
    """The reader of a DATE, TIME, DATETIME or TIMESTAMP column, of a session in UTC."""
    return StoredReader(fields_reader(column, options, _fields(column)))


def _fields(column: ColumnDefinition) -> Unpack:
    read = _FIELDS[column.type]
    return lambda cells: read(cells, column)
