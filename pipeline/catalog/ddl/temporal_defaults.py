"""Convert constants to values of date and time columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.default_context import DefaultContext
from pipeline.catalog.ddl.literals import Constant, Moment, Now, Text
from pipeline.catalog.ddl.numeric_defaults import Conversion
from pipeline.catalog.ddl.temporal import (
    DateRules,
    ZeroDate,
    at_fraction,
    datetime_text,
    read_datetime,
    read_time,
    time_of_day,
    time_text,
    timestamp_utc,
)

_MOST_DIGITS = 6
"""The most fractional digits of a second."""


def moment_text(moment: Moment, context: DefaultContext) -> str:
    """Return a typed literal as the server prints it, with its number of fractional digits."""
    _, _, digits = moment.text.partition(".")
    fraction = min(len(digits.rstrip()), _MOST_DIGITS)
    if moment.part == "time":
        micros = read_time(moment.text, fraction, context.dates, context.instant())
        return time_text(micros, fraction)
    value = read_datetime(moment.text, fraction, context.dates, context.instant())
    if isinstance(value, ZeroDate):
        raise ValueError("an impossible date as text")
    text = datetime_text(value, fraction)
    return text[:10] if moment.part == "date" else text


def _now(now: Now, fraction: int, context: DefaultContext) -> datetime:
    """Return the statement's time with the digits of NOW(n), rounded to the column's."""
    value = context.instant().local(now.utc)
    step = int(10 ** (_MOST_DIGITS - now.fraction))
    value = value.replace(microsecond=value.microsecond // step * step)
    if now.part == "date":
        value = value.replace(hour=0, minute=0, second=0, microsecond=0)
    if context.mariadb and not context.dates.cuts and now.fraction > fraction:
        raise ValueError("the time with excess digits, which MariaDB rounds or cuts by version")
    return at_fraction(value, fraction, context.dates)


def _of_column(now: Now, fraction: int, context: DefaultContext) -> Now:
    """Return MariaDB's NOW() without digits as one with the column's."""
    if not context.mariadb or now.utc or now.part != "datetime" or now.fraction or not fraction:
        return now
    if now.local:
        raise ValueError("LOCALTIME, whose digits depend on the version of MariaDB")
    return replace(now, fraction=fraction)


def _moment(
    value: Constant, fraction: int, context: DefaultContext, rules: DateRules | None = None
) -> datetime | ZeroDate:
    """Convert a constant to a date and time, by the session's rules unless others are given."""
    rules = rules or context.dates
    if isinstance(value, Now):
        return _now(_of_column(value, fraction, context), fraction, context)
    if isinstance(value, Moment):
        if value.part == "time":
            raise ValueError("a time, which takes the statement's date")
        value = Text(value.text)
    if isinstance(value, Text):
        return read_datetime(value.text, fraction, rules, context.instant())
    if isinstance(value, Decimal):
        return read_datetime(value, fraction, rules, context.instant())
    raise ValueError("not a date")


def _date(value: Constant, _column: ColumnDefinition, context: DefaultContext) -> str | None:
    if isinstance(value, Now):
        return context.instant().local(value.utc).date().isoformat()
    rules = context.dates
    if context.mariadb:
        rules = rules._replace(cuts=True)  # in every sql_mode
    found = _moment(value, 0, context, rules)
    if isinstance(found, ZeroDate):
        return found.text[:10] if context.dates.keep_zero else None
    return found.date().isoformat()


def _datetime(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str | None:
    found = _moment(value, column.fraction, context)
    if isinstance(found, ZeroDate):
        return _zero_text(found, column, context)
    return datetime_text(found, column.fraction)


def _zero_text(found: ZeroDate, column: ColumnDefinition, context: DefaultContext) -> str | None:
    zeros = "." + "0" * column.fraction if column.fraction else ""
    return found.text + zeros if context.dates.keep_zero else None


def _timestamp(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str | None:
    if isinstance(value, Now) and value.part == "datetime" and not value.utc:
        now = _of_column(value, column.fraction, context)
        utc = _now(replace(now, utc=True), column.fraction, context)
    else:
        found = _moment(value, column.fraction, context)
        if isinstance(found, ZeroDate):
            if not found.is_zero:
                raise ValueError("it is out of range")
            return _zero_text(found, column, context)
        utc = timestamp_utc(found, context.instant())
    text = datetime_text(utc, column.fraction)
    return text if context.dates.keep_zero else f"{text}+00:00"


def _time(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str:
    micros = _time_micros(value, column.fraction, context)
    if context.options.time == "micros":
        return str(micros)
    return time_text(micros, column.fraction)


def _time_micros(value: Constant, fraction: int, context: DefaultContext) -> int:
    if isinstance(value, Now):
        return time_of_day(_now(value, fraction, context))
    if isinstance(value, Moment):
        if value.part == "date":
            return 0
        value = Text(value.text)
    if isinstance(value, Text):
        return read_time(value.text, fraction, context.dates, context.instant())
    if isinstance(value, Decimal):
        return read_time(value, fraction, context.dates, context.instant())
    raise ValueError("not a time")


TEMPORAL: dict[ColumnType, Conversion] = {
    ColumnType.DATE: _date,
    ColumnType.DATETIME2: _datetime,
    ColumnType.TIMESTAMP2: _timestamp,
    ColumnType.TIME2: _time,
}
"""Conversions by column type."""
