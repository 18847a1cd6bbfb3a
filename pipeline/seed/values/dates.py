"""Convert printed DATE, TIME, DATETIME and TIMESTAMP values to the decoder's packed fields.

The formats are `YYYY-MM-DD`, `YYYY-MM-DD hh:mm:ss[.f…]` and `[-]h…h:mm:ss[.f…]`. Columns are read
as a whole, digit by digit. The decoder's own readers then turn the fields into dates, text, or null
for a zero date.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder import TypeOptions
from decoder.columns import Cells, Int64s, fields_reader
from decoder.constants import ColumnType
from decoder.model import ColumnDefinition
from pipeline.seed.values.cell_bytes import PrintedReader, as_stored, refuse

_DATE, _DATETIME = 10, 19
"""Lengths of a date, and of a date and time without a fraction, in characters."""
_SHORTEST_TIME, _CLOCK = 8, 5
"""Lengths of `hh:mm:ss` and of `mm:ss`, in characters."""
_FRACTION = 6
_LAST_HOUR = 838
_EPOCH = (1970 * 13 + 1 << 5 | 1) << 41

Mask = npt.NDArray[np.bool_]


class _Characters:
    """The characters of a column's cells, and a mask (`bad`) of the rows that are invalid."""

    def __init__(self, cells: Cells) -> None:
        self.buffer = cells.buffer
        self.filled: Mask = cells.positions >= 0
        self.start = np.where(self.filled, cells.positions, 0).astype(np.int64)
        self.length = np.where(self.filled, cells.lengths, 0).astype(np.int64)
        self.bad: Mask = np.zeros(len(self.start), np.bool_)

    def is_at(self, at: Int64s, *characters: str) -> Mask:
        """Return a mask of the rows with one of these characters at `at`."""
        found = self.buffer[np.minimum(at, len(self.buffer) - 1)]
        mask: Mask = np.isin(found, [ord(character) for character in characters])
        return mask

    def require(self, mask: Any) -> None:
        """Mark the rows as invalid where `mask` is false."""
        self.bad |= ~mask

    def number(self, at: Int64s, digits: int, where: Mask | None = None) -> Int64s:
        """Return the number of `digits` digits at `at`; they are required where `where` is true."""
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
        """Return the microseconds from the decimal point to the end of the value, 0 without one.

        Nonzero digits beyond the column's precision make a value invalid.
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
        """Return the packed fields, 0 for NULL. Raises CellError for the first invalid row."""
        refuse(self.bad & self.filled, reason)
        return np.where(self.filled, packed, 0)


def _date(characters: _Characters) -> Int64s:
    """Return YYYY-MM-DD at the start, packed; a day like February 31 is accepted."""
    start = characters.start
    characters.require(characters.is_at(start + 4, "-") & characters.is_at(start + 7, "-"))
    year, month = characters.number(start, 4), characters.number(start + 5, 2)
    day = characters.number(start + 8, 2)
    characters.require((month <= 12) & (day <= 31))
    return (year * 13 + month << 5 | day) << 41


def _clock(characters: _Characters, at: Int64s, hour: Int64s) -> Int64s:
    """Return mm:ss at `at`, packed together with the hour."""
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
    """Return TIMESTAMPs: instants since 1970, or the zero date."""
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
    """Return where the fraction begins, or else the value ends; too short values are invalid."""
    end = characters.start + characters.length
    point = end.copy()
    for place in range(1, _FRACTION + 2):
        at = np.maximum(end - place, characters.start)
        point = np.where(characters.is_at(at, "."), at, point)
    characters.require(point - characters.start >= _SHORTEST_TIME - 1)
    return point


def _reason(column: ColumnDefinition) -> str:
    digits = f"({column.fraction})" if column.fraction else ""
    return f"it is not a valid {column.type.name.removesuffix('2')}{digits}"


TEMPORAL: dict[ColumnType, Callable[[Cells, ColumnDefinition], Int64s]] = {
    **dict.fromkeys((ColumnType.DATE, ColumnType.NEWDATE), _dates),
    **dict.fromkeys((ColumnType.TIME, ColumnType.TIME2), _times),
    **dict.fromkeys((ColumnType.DATETIME, ColumnType.DATETIME2), _datetimes),
    **dict.fromkeys((ColumnType.TIMESTAMP, ColumnType.TIMESTAMP2), _timestamps),
}
"""The function that packs the fields of each type's values."""


def printed_temporal(column: ColumnDefinition, options: TypeOptions) -> PrintedReader:
    """Return the reader of DATE, TIME, DATETIME or TIMESTAMP, printed by a session in UTC."""
    read = TEMPORAL[column.type]
    return as_stored(fields_reader(column, options, lambda cells: read(cells, column)))
