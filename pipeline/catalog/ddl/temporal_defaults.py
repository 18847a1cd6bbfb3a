"""Convert constants to values of date and time columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.constants import Constant, Moment, Now, Text
from pipeline.catalog.ddl.conversion_mode import MARIADB_TIME_ROUND_FRACTIONAL, ConversionMode
from pipeline.catalog.ddl.numeric_defaults import Conversion
from pipeline.catalog.ddl.temporal import (
    ZeroDate,
    at_fraction,
    datetime_text,
    read_datetime,
    read_time,
    statement_time,
    time_of_day,
    time_text,
    timestamp_utc,
)

_MOST_DIGITS = 6
"""The most fractional digits of a second."""


def moment_text(moment: Moment, mode: ConversionMode) -> str:
    """Return a typed literal as the server prints it, with its number of fractional digits."""
    _, _, digits = moment.text.partition(".")
    fraction = min(len(digits.rstrip()), _MOST_DIGITS)
    if moment.part == "time":
        micros = read_time(moment.text, fraction, mode)
        return time_text(micros, fraction)
    value = read_datetime(moment.text, fraction, mode)
    if isinstance(value, ZeroDate):
        raise ValueError("an impossible date as text")
    text = datetime_text(value, fraction)
    return text[:10] if moment.part == "date" else text


def _now(now: Now, fraction: int, mode: ConversionMode) -> datetime:
    """Return the statement's time with the digits of NOW(n), rounded to the column's."""
    value = statement_time(mode, utc=now.utc)
    step = int(10 ** (_MOST_DIGITS - now.fraction))
    value = value.replace(microsecond=value.microsecond // step * step)
    if now.part == "date":
        value = value.replace(hour=0, minute=0, second=0, microsecond=0)
    if mode.mariadb and not mode.truncates and now.fraction > fraction:
        raise ValueError("the time with excess digits, which MariaDB rounds or cuts by version")
    return at_fraction(value, fraction, mode)


def _of_column(now: Now, fraction: int, mode: ConversionMode) -> Now:
    """Return MariaDB's NOW() without digits as one with the column's."""
    if not mode.mariadb or now.utc or now.part != "datetime" or now.fraction or not fraction:
        return now
    if now.local:
        raise ValueError("LOCALTIME, whose digits depend on the version of MariaDB")
    return replace(now, fraction=fraction)


def _moment(value: Constant, fraction: int, mode: ConversionMode) -> datetime | ZeroDate:
    """Convert a constant to a date and time."""
    if isinstance(value, Now):
        return _now(_of_column(value, fraction, mode), fraction, mode)
    if isinstance(value, Moment) and value.part == "time":
        raise ValueError("a time, which takes the statement's date")
    return read_datetime(_written(value, "not a date"), fraction, mode)


def _written(value: Constant, otherwise: str) -> str | Decimal:
    """Return the text or number of a constant. Raises ValueError for others."""
    if isinstance(value, (Text, Moment)):
        return value.text
    if isinstance(value, Decimal):
        return value
    raise ValueError(otherwise)


def _date(value: Constant, _column: ColumnDefinition, mode: ConversionMode) -> str | None:
    if isinstance(value, Now):
        return statement_time(mode, utc=value.utc).date().isoformat()
    if mode.mariadb:  # which truncates dates in every sql_mode
        mode = replace(mode, sql_mode=mode.sql_mode & ~MARIADB_TIME_ROUND_FRACTIONAL)
    found = _moment(value, 0, mode)
    if isinstance(found, ZeroDate):
        return found.text[:10] if mode.dates_are_text else None
    return found.date().isoformat()


def _datetime(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    found = _moment(value, column.fraction, mode)
    if isinstance(found, ZeroDate):
        return _zero_text(found, column, mode)
    return datetime_text(found, column.fraction)


def _zero_text(found: ZeroDate, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    zeros = "." + "0" * column.fraction if column.fraction else ""
    return found.text + zeros if mode.dates_are_text else None


def _timestamp(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str | None:
    if isinstance(value, Now) and value.part == "datetime" and not value.utc:
        now = _of_column(value, column.fraction, mode)
        utc = _now(replace(now, utc=True), column.fraction, mode)
    else:
        found = _moment(value, column.fraction, mode)
        if isinstance(found, ZeroDate):
            if not found.is_zero:
                raise ValueError("it is out of range")
            return _zero_text(found, column, mode)
        utc = timestamp_utc(found, mode)
    text = datetime_text(utc, column.fraction)
    return text if mode.dates_are_text else f"{text}+00:00"


def _time(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    micros = _time_micros(value, column.fraction, mode)
    if mode.options.time == "micros":
        return str(micros)
    return time_text(micros, column.fraction)


def _time_micros(value: Constant, fraction: int, mode: ConversionMode) -> int:
    if isinstance(value, Now):
        return time_of_day(_now(value, fraction, mode))
    if isinstance(value, Moment) and value.part == "date":
        return 0
    return read_time(_written(value, "not a time"), fraction, mode)


TEMPORAL: dict[ColumnType, Conversion] = {
    ColumnType.DATE: _date,
    ColumnType.DATETIME2: _datetime,
    ColumnType.TIMESTAMP2: _timestamp,
    ColumnType.TIME2: _time,
}
"""Conversions by column type."""
