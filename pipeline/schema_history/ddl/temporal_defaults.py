"""Convert constants to values of date and time columns, from MySQL's and MariaDB's spellings.

Source: `str_to_datetime`, `str_to_time` and `number_to_datetime` of MySQL's
`sql-common/my_time.cc`, and of MariaDB's `sql-common/my_time.c`. A literal whose reading is not
known for certain raises ValueError.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import NamedTuple

from decoder.constants import ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.constants import Constant, Moment, Now, Text
from pipeline.schema_history.ddl.conversion_mode import (
    MARIADB_TIME_ROUND_FRACTIONAL,
    ConversionMode,
)
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.numeric_defaults import Conversion
from pipeline.settings.time_zone import zone

_PUNCT = r"""[!-/:-@\[-`{-~]"""
_SPACE = r"[ \t\n\v\f\r]"
_DELIMITED = re.compile(
    rf"{_SPACE}*(\d{{1,4}}){_PUNCT}(\d{{1,2}}){_PUNCT}(\d{{1,2}})"
    rf"(?:(?:T|{_SPACE}+)(\d{{1,2}})(?:{_PUNCT}(\d{{1,2}})(?:{_PUNCT}(\d{{1,2}})(?:\.(\d*))?)?)?)?"
    rf"([+-]\d{{2}}:\d{{2}})?{_SPACE}*",
    re.ASCII,
)
_COMPACT = re.compile(
    rf"{_SPACE}*(\d{{2}}|\d{{4}})(\d{{2}})(\d{{2}})(?:T?(\d{{2}})(\d{{2}})(\d{{2}})(?:\.(\d*))?)?()"
    rf"{_SPACE}*",
    re.ASCII,
)
_TIME = re.compile(
    rf"{_SPACE}*(-?)(?:(\d+){_SPACE}+)?(\d+)(?::(\d{{1,2}})(?::(\d{{1,2}}))?)?(?:\.(\d*))?{_SPACE}*",
    re.ASCII,
)
_LONGEST_TIME = 838 * 3600 + 59 * 60 + 59
_LARGEST_TIME_NUMBER = 8385959
_SHORTEST_DATETIME = 12
"""Text of at least this many characters for a TIME may be a date and time."""
_FIRST_TIMESTAMP = datetime(1970, 1, 1, 0, 0, 1)
_LAST_TIMESTAMP = datetime(2038, 1, 19, 3, 14, 7, 999999)
"""The range of a TIMESTAMP."""
_MOST_DIGITS = 6
"""The most fractional digits of a second."""
_TWO_DIGIT_YEARS = (
    (101, 691231, 20_000_000),
    (700101, 991231, 19_000_000),
    (10_000_101, 99_991_231, 0),
)
"""Numbers that are dates: first, last, and what to add to complete the year."""
_CLOCK = 1_000_000
"""The factor of the date in a number that ends in a time of day."""


class _ZeroDate(NamedTuple):
    """A zero or impossible date, as text with its time of day."""

    text: str

    @property
    def is_zero(self) -> bool:
        """True if all its parts are zero."""
        return not self.text.strip("0-: ")


class _Fields(NamedTuple):
    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    digits: str
    offset: str

    @property
    def clock(self) -> int:
        """The time of day in seconds."""
        return (self.hour * 60 + self.minute) * 60 + self.second


def _statement_time(mode: ConversionMode, *, utc: bool = False) -> datetime:
    """Return NOW(6) or UTC_TIMESTAMP(6), without a zone. Raises ValueError if unknown."""
    if mode.executed_at is None:
        raise ValueError("the log does not record when the statement began")
    there = mode.executed_at.astimezone(timezone.utc if utc else zone(mode.time_zone))
    return there.replace(tzinfo=None)


def _from_offset(local: datetime, offset: str, mode: ConversionMode) -> datetime:
    """Convert a time at an explicit UTC offset to the session's zone."""
    minutes = int(offset[1:3]) * 60 + int(offset[4:])
    there = timezone(timedelta(minutes=-minutes if offset[0] == "-" else minutes))
    at = local.replace(tzinfo=there).astimezone(zone(mode.time_zone))
    return at.replace(tzinfo=None)


def _at_fraction(
    value: datetime, fraction: int, mode: ConversionMode, digits: str = ""
) -> datetime:
    """Return a time with `fraction` digits after the second.

    `digits` are its fractional digits if `value` has none.
    """
    micros = value.microsecond if not digits else _micros(digits, mode)
    step = int(10 ** (_MOST_DIGITS - fraction))
    kept = micros // step * step if mode.truncates else (micros + step // 2) // step * step
    return value.replace(microsecond=0) + timedelta(microseconds=kept)


def _micros(digits: str, mode: ConversionMode) -> int:
    """Return the six fractional digits; as in the server, the seventh rounds them first."""
    micros = int(digits[:6].ljust(6, "0"))
    return micros + (not mode.truncates and digits[6:7] >= "5")


def _datetime_text(value: datetime, fraction: int) -> str:
    """Return `YYYY-MM-DD HH:MM:SS[.ffffff]`."""
    return value.isoformat(" ", "microseconds")[: 20 + fraction if fraction else 19]


def _read_datetime(
    value: str | Decimal, fraction: int, mode: ConversionMode
) -> datetime | _ZeroDate:
    """Read a date and time from text or a number, to `fraction` digits after the second."""
    fields = _number_fields(value) if isinstance(value, Decimal) else _text_fields(value)
    return _dated(fields, fraction, mode)


def _dated(fields: _Fields, fraction: int, mode: ConversionMode) -> datetime | _ZeroDate:
    if fields.clock >= 86400 or max(fields.minute, fields.second) > 59:
        raise ValueError("not a time of day")
    if fields.month > 12 or fields.day > 31:
        raise ValueError("not a date")
    try:
        day = date(fields.year, fields.month, fields.day)
    except ValueError:
        return _zero_date(fields, mode)
    value = datetime(day.year, day.month, day.day) + timedelta(seconds=fields.clock)
    if fields.offset:
        if mode.mariadb:
            raise ValueError("a UTC offset, which MariaDB does not support")
        if fields.digits[fraction:].strip("0"):  # MySQL drops the offset then
            raise ValueError("a UTC offset after more digits than the column has")
        value = _from_offset(value, fields.offset, mode)
    return _at_fraction(value, fraction, mode, fields.digits or "0")


def _zero_date(fields: _Fields, mode: ConversionMode) -> _ZeroDate:
    zero = not (fields.year or fields.month or fields.day)
    if fields.month and fields.day and fields.year:
        if not mode.sql_mode & SqlMode.ALLOW_INVALID_DATES:
            raise ValueError("a day that its month does not have")
    elif not zero and mode.sql_mode & SqlMode.NO_ZERO_IN_DATE and not (fields.month and fields.day):
        raise ValueError("a date with a zero part, which the session rejects")
    if fields.digits.strip("0") or fields.offset:
        raise ValueError("an impossible date with a fraction or a UTC offset")
    day = f"{fields.year:04}-{fields.month:02}-{fields.day:02}"
    return _ZeroDate(f"{day} {fields.hour:02}:{fields.minute:02}:{fields.second:02}")


def _text_fields(text: str) -> _Fields:
    match = _DELIMITED.fullmatch(text) or _COMPACT.fullmatch(text)
    if match is None:
        if text and not text.strip("0"):
            return _Fields(0, 0, 0, 0, 0, 0, "", "")
        raise ValueError("not a date")
    year, month, day, hour, minute, second = (int(match.group(i) or 0) for i in range(1, 7))
    if len(match.group(1)) == 2 and any((year, month, day, hour, minute, second)):
        year += 2000 if year < 70 else 1900
    digits, offset = match.group(7) or "", match.group(8) or ""
    return _Fields(year, month, day, hour, minute, second, digits, offset)


def _number_fields(value: Decimal) -> _Fields:
    whole, _, digits = f"{value:f}".partition(".")
    number = int(whole)
    if digits.strip("0") and number < 10**13:
        raise ValueError("a fraction after a date")
    day, clock = (number, 0) if number <= _TWO_DIGIT_YEARS[-1][1] else divmod(number, _CLOCK)
    century = 0
    if number:
        fits = [c for low, high, c in _TWO_DIGIT_YEARS if low <= day <= high]
        if not fits or value < 0:
            raise ValueError("a number that is not a date")
        century = fits[0]
    day += century
    return _Fields(
        *(day // 10000, day // 100 % 100, day % 100),
        *(clock // 10000, clock // 100 % 100, clock % 100),
        *(digits, ""),
    )


def _timestamp_utc(value: datetime, mode: ConversionMode) -> datetime:
    """Convert a TIMESTAMP value in the session's zone to UTC.

    Raises ValueError if it is out of range, or if a clock change skips or repeats it.
    """
    first = value.replace(tzinfo=zone(mode.time_zone), fold=0)
    if first.utcoffset() != first.replace(fold=1).utcoffset():
        raise ValueError("a local time that a clock change skips or repeats")
    found = first.astimezone(timezone.utc).replace(tzinfo=None)
    if not _FIRST_TIMESTAMP <= found <= _LAST_TIMESTAMP:
        raise ValueError("it is out of range")
    return found


def _read_time(value: str | Decimal, fraction: int, mode: ConversionMode) -> int:
    """Return a TIME in microseconds.

    Spellings: `D HH:MM:SS`, `HH:MM`, `HHMMSS`, `SS`, or the time of a date and time.
    """
    if isinstance(value, Decimal):
        if abs(int(value)) > _LARGEST_TIME_NUMBER:
            return _time_of_day(_number_fields(value), fraction, mode)
        value = f"{value:f}"
    elif len(value) >= _SHORTEST_DATETIME:
        match = _DELIMITED.fullmatch(value)
        if (match and match.group(4)) or _COMPACT.fullmatch(value):
            return _time_of_day(_text_fields(value), fraction, mode)
    match = _TIME.fullmatch(value)
    if match is None:
        raise ValueError("not a time")
    minus, days, *parts, digits = match.groups()
    hour, minute, second = _clock(days, parts)
    if max(minute, second) > 59:
        raise ValueError("not a time")
    seconds = ((int(days or 0) * 24 + hour) * 60 + minute) * 60 + second
    total = seconds * 1_000_000 + _kept_micros(digits or "0", fraction, mode)
    if total > _LONGEST_TIME * 1_000_000:
        raise ValueError("it is out of range")
    return -total if minus else total


def _clock(days: str | None, parts: list[str | None]) -> tuple[int, int, int]:
    first, minutes, seconds = (int(part or 0) for part in parts)
    if parts[1] is None and days is None:  # HHMMSS
        return first // 10000, first // 100 % 100, first % 100
    return first, minutes, seconds


def _time_of_day(fields: _Fields, fraction: int, mode: ConversionMode) -> int:
    value = _dated(fields._replace(digits=""), 0, mode)
    if isinstance(value, _ZeroDate) or fields.offset:
        raise ValueError("the time of an impossible date, or with a UTC offset")
    return _micros_of_day(value) + _kept_micros(fields.digits or "0", fraction, mode)


def _micros_of_day(value: datetime) -> int:
    """Return the microseconds since midnight."""
    since = value - value.replace(hour=0, minute=0, second=0, microsecond=0)
    return since // timedelta(microseconds=1)


def _kept_micros(digits: str, fraction: int, mode: ConversionMode) -> int:
    """Return fractional digits as microseconds, rounded; a full second carries."""
    start = datetime(2000, 1, 1)
    return (_at_fraction(start, fraction, mode, digits) - start) // timedelta(microseconds=1)


def _time_text(micros: int, fraction: int) -> str:
    """Return microseconds as `[-]HHH:MM:SS[.ffffff]`."""
    seconds, rest = divmod(abs(micros), 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    part = f".{rest:06}"[: fraction + 1] if fraction else ""
    return f"{'-' if micros < 0 else ''}{text}{part}"


def moment_text(moment: Moment, mode: ConversionMode) -> str:
    """Return a typed literal as the server prints it, with its number of fractional digits."""
    _, _, digits = moment.text.partition(".")
    fraction = min(len(digits.rstrip()), _MOST_DIGITS)
    if moment.part == "time":
        micros = _read_time(moment.text, fraction, mode)
        return _time_text(micros, fraction)
    value = _read_datetime(moment.text, fraction, mode)
    if isinstance(value, _ZeroDate):
        raise ValueError("an impossible date as text")
    text = _datetime_text(value, fraction)
    return text[:10] if moment.part == "date" else text


def _now(now: Now, fraction: int, mode: ConversionMode) -> datetime:
    """Return the statement's time with the digits of NOW(n), rounded to the column's."""
    value = _statement_time(mode, utc=now.utc)
    step = int(10 ** (_MOST_DIGITS - now.fraction))
    value = value.replace(microsecond=value.microsecond // step * step)
    if now.part == "date":
        value = value.replace(hour=0, minute=0, second=0, microsecond=0)
    if mode.mariadb and not mode.truncates and now.fraction > fraction:
        raise ValueError("the time with excess digits, which MariaDB rounds or cuts by version")
    return _at_fraction(value, fraction, mode)


def _of_column(now: Now, fraction: int, mode: ConversionMode) -> Now:
    """Return MariaDB's NOW() without digits as one with the column's."""
    if not mode.mariadb or now.utc or now.part != "datetime" or now.fraction or not fraction:
        return now
    if now.local:
        raise ValueError("LOCALTIME, whose digits depend on the version of MariaDB")
    return replace(now, fraction=fraction)


def _moment(value: Constant, fraction: int, mode: ConversionMode) -> datetime | _ZeroDate:
    """Convert a constant to a date and time."""
    if isinstance(value, Now):
        return _now(_of_column(value, fraction, mode), fraction, mode)
    if isinstance(value, Moment) and value.part == "time":
        raise ValueError("a time, which takes the statement's date")
    return _read_datetime(_written(value, "not a date"), fraction, mode)


def _written(value: Constant, otherwise: str) -> str | Decimal:
    """Return the text or number of a constant. Raises ValueError for others."""
    if isinstance(value, (Text, Moment)):
        return value.text
    if isinstance(value, Decimal):
        return value
    raise ValueError(otherwise)


def _date(value: Constant, _column: ColumnDefinition, mode: ConversionMode) -> str | None:
    if isinstance(value, Now):
        return _statement_time(mode, utc=value.utc).date().isoformat()
    if mode.mariadb:  # which truncates dates in every sql_mode
        mode = replace(mode, sql_mode=mode.sql_mode & ~MARIADB_TIME_ROUND_FRACTIONAL)
    found = _moment(value, 0, mode)
    if isinstance(found, _ZeroDate):
        return found.text[:10] if mode.dates_are_text else None
    return found.date().isoformat()


def _datetime(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    found = _moment(value, column.fraction, mode)
    if isinstance(found, _ZeroDate):
        return _zero_text(found, column, mode)
    return _datetime_text(found, column.fraction)


def _zero_text(found: _ZeroDate, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    zeros = "." + "0" * column.fraction if column.fraction else ""
    return found.text + zeros if mode.dates_are_text else None


def _timestamp(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    if isinstance(value, Now) and value.part == "datetime" and not value.utc:
        now = _of_column(value, column.fraction, mode)
        utc = _now(replace(now, utc=True), column.fraction, mode)
    else:
        found = _moment(value, column.fraction, mode)
        if isinstance(found, _ZeroDate):
            if not found.is_zero:
                raise ValueError("it is out of range")
            return _zero_text(found, column, mode)
        utc = _timestamp_utc(found, mode)
    text = _datetime_text(utc, column.fraction)
    return text if mode.dates_are_text else f"{text}+00:00"


def _time(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    micros = _time_micros(value, column.fraction, mode)
    if mode.options.time == "micros":
        return str(micros)
    return _time_text(micros, column.fraction)


def _time_micros(value: Constant, fraction: int, mode: ConversionMode) -> int:
    if isinstance(value, Now):
        return _micros_of_day(_now(value, fraction, mode))
    if isinstance(value, Moment) and value.part == "date":
        return 0
    return _read_time(_written(value, "not a time"), fraction, mode)


TEMPORAL: dict[ColumnType, Conversion] = {
    ColumnType.DATE: _date,
    ColumnType.DATETIME2: _datetime,
    ColumnType.TIMESTAMP2: _timestamp,
    ColumnType.TIME2: _time,
}
"""Conversions by column type."""
