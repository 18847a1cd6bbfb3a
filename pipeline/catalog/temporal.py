"""MySQL's spellings of dates and times in literals, to their one plain spelling.

Source: `str_to_datetime` and `str_to_time` of MySQL's `sql-common/my_time.cc`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from pipeline.time_zone import zone

_DELIMITED = re.compile(
    r"\s*(\d{1,4})[^\w\s](\d{1,2})[^\w\s](\d{1,2})"
    r"(?:[T\s]+(\d{1,2})(?:[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?)?"
    r"\s*([+-]\d{1,2}:\d{2})?\s*$"
)
_COMPACT = re.compile(r"\s*(\d{2}|\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}))?(?:\.(\d*))?\s*$")
_TIME = re.compile(r"\s*(-?)(?:(\d+)\s+)?(\d+)(?::(\d{1,2})(?::(\d{1,2}))?)?(?:\.(\d*))?\s*$")


@dataclass(frozen=True, slots=True)
class Local:
    """A date and time of day in some zone."""

    value: datetime

    def date(self) -> date:
        """The day."""
        return self.value.date()

    def text(self, fraction: int) -> str:
        """As MySQL prints it, cut (not rounded: NOW(f) has only f digits)."""
        return _text(self.value, fraction)


@dataclass(frozen=True, slots=True)
class Instant:
    """When a statement began, and the zone it ran in."""

    at: datetime | None
    time_zone: str

    def local(self, utc: bool = False) -> Local:
        """NOW() or UTC_TIMESTAMP(). Raises ValueError when it is not known."""
        if self.at is None:
            raise ValueError("the log does not tell when the statement began")
        return Local(self.at.astimezone(timezone.utc if utc else zone(self.time_zone)))

    def to_utc(self, text: str, fraction: int) -> str:
        """A time of day in the statement's zone, in UTC."""
        local = datetime.fromisoformat(text).replace(tzinfo=zone(self.time_zone))
        return _text(local.astimezone(timezone.utc), fraction)


def _text(value: datetime, fraction: int) -> str:
    seconds = f"{value:%H:%M:%S}"
    day = f"{value.year:04}-{value.month:02}-{value.day:02}"
    return f"{day} {seconds}" + (f".{value.microsecond:06}"[: fraction + 1] if fraction else "")


def read_date(text: str, *, keep_zero: bool) -> str | None:
    """A DATE as `YYYY-MM-DD`; None for one with a zero in it, unless it is to be kept as text."""
    year, month, day, *_ = _parts(text)
    if year and month and day:
        return datetime(year, month, day).date().isoformat()
    return f"{year:04}-{month:02}-{day:02}" if keep_zero else None


def read_datetime(text: str, fraction: int, *, keep_zero: bool) -> str | None:
    """A DATETIME as `YYYY-MM-DD HH:MM:SS[.ffffff]`, rounded; zero dates as in `read_date`."""
    year, month, day, hour, minute, second, micros = _parts(text)
    if not (year and month and day):
        zero = f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        return (zero + ("." + "0" * fraction if fraction else "")) if keep_zero else None
    value = datetime(year, month, day, hour, minute, second)
    return _text(value + timedelta(microseconds=_rounded(micros, fraction)), fraction)


def _rounded(micros: int, fraction: int) -> int:
    step = int(10 ** (6 - fraction))
    return (micros + step // 2) // step * step


def _parts(text: str) -> tuple[int, int, int, int, int, int, int]:
    delimited = _DELIMITED.match(text)
    match = delimited or _COMPACT.match(text)
    if match is None and text.strip("0") == "":
        return 0, 0, 0, 0, 0, 0, 0
    if match is None:
        raise ValueError("not a date")
    if delimited and match.group(8):
        raise ValueError("a time with an offset of its own")
    year, month, day, hour, minute, second = (int(match.group(i) or 0) for i in range(1, 7))
    if len(match.group(1)) == 2:
        year += 2000 if year < 70 else 1900
    return year, month, day, hour, minute, second, _micros(match.group(7))


def _micros(digits: str | None) -> int:
    return int((digits or "")[:6].ljust(6, "0"))


def read_time(text: str, fraction: int, *, as_micros: bool) -> str:
    """A TIME as MySQL prints it, or its microseconds: `D HH:MM:SS`, `HH:MM`, `HHMMSS`, `SS`."""
    match = _TIME.match(text)
    if match is None:
        raise ValueError("not a time")
    minus, days, first, minutes, seconds, digits = match.groups()
    if minutes is None and days is None:
        number = int(first)
        hours, minute, second = number // 10000, number // 100 % 100, number % 100
    else:
        hours, minute, second = int(first), int(minutes or 0), int(seconds or 0)
    total = ((int(days or 0) * 24 + hours) * 60 + minute) * 60 + second
    micros = total * 1_000_000 + _rounded(_micros(digits), fraction)
    if as_micros:
        return str(-micros if minus else micros)
    return time_text(micros, fraction, negative=bool(minus and micros))


def time_text(micros: int, fraction: int, *, negative: bool) -> str:
    """`[-]HHH:MM:SS[.ffffff]` of a number of microseconds."""
    seconds, rest = divmod(micros, 1_000_000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    part = f".{rest:06}"[: fraction + 1] if fraction else ""
    return f"{'-' if negative else ''}{text}{part}"


def read_year(text: str, *, is_text: bool) -> str:
    """A YEAR: two digits stand for 1970 to 2069; the number 0 is 0, the text '0' is 2000."""
    year = int(text)
    if year >= 100 or (year == 0 and (not is_text or text == "0000")):
        return str(year)
    return str(year + (2000 if year < 70 else 1900))
