"""Conversions of dates and times, which depend on their digits and time zone."""

from __future__ import annotations

from collections.abc import Callable

from decoder.constants import ColumnType as T
from decoder.model import ColumnDefinition
from pipeline.schema_history.alter.text_conversions import characters
from pipeline.schema_history.ddl.conversion_mode import (
    CAST,
    DIGITS,
    FRACTION,
    PARSED,
    PRINTED,
    ROUNDED,
    TRUNCATE,
    ConversionMode,
    UnknownValueError,
)


def instants(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert DATETIME to DATETIME, or TIMESTAMP to TIMESTAMP."""
    if new.fraction == old.fraction:
        return None
    if mode.dates_are_text:
        raise UnknownValueError("the number of digits of a time stored as text changes")
    if new.fraction > old.fraction:
        return None
    mode.require_strict("its fraction gets shorter")
    return f"{TRUNCATE if mode.truncates else FRACTION}:{new.fraction}"


def date_to_datetime(
    _old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    """Convert a date to midnight of that day."""
    if mode.dates_are_text:
        raise UnknownValueError("a date stored as text becomes a time")
    return CAST


def datetime_to_date(
    old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    """Convert to the date, which a fraction may round up."""
    if old.fraction or mode.dates_are_text:
        raise UnknownValueError("a time becomes a date")
    return ROUNDED


def date_to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert a DATE or DATETIME to text as the server prints it."""
    printed = _printed(old)
    if characters(new) < printed:
        mode.require_strict("its length becomes smaller")
    return None if mode.dates_are_text else f"{PRINTED}:{printed}"


def text_to_date(_old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert text that has no more digits than the DATE or DATETIME."""
    if mode.dates_are_text:
        raise UnknownValueError("text becomes a date stored as text")
    return f"{PARSED}:{_printed(new)}"


def _printed(column: ColumnDefinition) -> int:
    """Return the number of characters of a printed DATE or DATETIME."""
    if column.type in (T.DATE, T.NEWDATE):
        return len("YYYY-MM-DD")
    return len("YYYY-MM-DD hh:mm:ss") + (column.fraction + 1 if column.fraction else 0)


def time(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert a TIME to one with as many digits or more."""
    if new.fraction < old.fraction:
        raise UnknownValueError("its fraction gets shorter")
    if new.fraction == old.fraction or mode.options.time == "micros":
        return None
    return f"{DIGITS}:{new.fraction}"


def time_to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert a TIME to text as the server prints it, which is also gold's form."""
    if mode.options.time == "micros":
        raise UnknownValueError("a TIME stored as a number becomes text")
    if characters(new) < len("-838:59:59.") + old.fraction:
        mode.require_strict("its length becomes smaller")
    return None


def zoned(name: str) -> Callable[[ColumnDefinition, ColumnDefinition, ConversionMode], str | None]:
    """Return the rule for conversions between DATETIME and TIMESTAMP."""

    def rule(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
        if new.fraction < old.fraction:
            raise UnknownValueError("its fraction gets shorter")
        if mode.dates_are_text:
            raise UnknownValueError("a time stored as text is converted to another time zone")
        if mode.utc_offset is None:
            raise UnknownValueError(
                "a time is converted to another time zone, and the session's is not logged or not"
                " constant"
            )
        mode.require_strict("its range changes")
        return f"{name}:{mode.utc_offset}"

    return rule
