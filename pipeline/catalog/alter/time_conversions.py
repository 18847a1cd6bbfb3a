"""Conversions of dates and times: what matters is their digits, and the zone they are in."""

from __future__ import annotations

from collections.abc import Callable

from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.alter.text_conversions import characters
from pipeline.catalog.ddl.conversion_mode import (
    CAST,
    DIGITS,
    FRACTION,
    PARSED,
    PRINTED,
    ROUNDED,
    TRUNCATE,
    ConversionMode,
    UnknownConversionError,
)


def instants(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """DATETIME and TIMESTAMP, each among themselves."""
    if new.fraction == old.fraction:
        return None
    if mode.options.zero_dates == "string":
        raise UnknownConversionError("a time that is kept as text gets other digits")
    if new.fraction > old.fraction:
        return None
    mode.require_strict("its fraction becomes shorter")
    return f"{TRUNCATE if mode.truncates else FRACTION}:{new.fraction}"


def date_to_datetime(
    _old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    """At midnight."""
    if mode.options.zero_dates == "string":
        raise UnknownConversionError("a date that is kept as text becomes a time")
    return CAST


def datetime_to_date(
    old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    """The day, which a fraction may round up."""
    if old.fraction or mode.options.zero_dates == "string":
        raise UnknownConversionError("a time becomes a date")
    return ROUNDED


def date_to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """A DATE or DATETIME, as the server prints it."""
    printed = _printed(old)
    if characters(new) < printed:
        mode.require_strict("its length becomes smaller")
    return None if mode.options.zero_dates == "string" else f"{PRINTED}:{printed}"


def text_to_date(_old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Text that has no more digits than a DATE or DATETIME shows."""
    if mode.options.zero_dates == "string":
        raise UnknownConversionError("text becomes a date that is kept as text")
    return f"{PARSED}:{_printed(new)}"


def _printed(column: ColumnDefinition) -> int:
    """The characters of a printed DATE or DATETIME."""
    if column.type in (T.DATE, T.NEWDATE):
        return len("YYYY-MM-DD")
    return len("YYYY-MM-DD hh:mm:ss") + (column.fraction + 1 if column.fraction else 0)


def time(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """With as many digits or more."""
    if new.fraction < old.fraction:
        raise UnknownConversionError("its fraction becomes shorter")
    if new.fraction == old.fraction or mode.options.time == "micros":
        return None
    return f"{DIGITS}:{new.fraction}"


def time_to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """As the server prints it, which is how gold has it."""
    if mode.options.time == "micros":
        raise UnknownConversionError("a TIME that is kept as a number becomes text")
    if characters(new) < len("-838:59:59.") + old.fraction:
        mode.require_strict("its length becomes smaller")
    return None


def zoned(name: str) -> Callable[[ColumnDefinition, ColumnDefinition, ConversionMode], str | None]:
    """Between DATETIME and TIMESTAMP."""

    def rule(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
        if new.fraction < old.fraction:
            raise UnknownConversionError("its fraction becomes shorter")
        if mode.options.zero_dates == "string":
            raise UnknownConversionError("a time that is kept as text becomes one of another zone")
        if mode.utc_offset is None:
            raise UnknownConversionError(
                "a time becomes one of another zone, and its session's is not logged, or not always"
                " the same"
            )
        mode.require_strict("its range becomes another")
        return f"{name}:{mode.utc_offset}"

    return rule
