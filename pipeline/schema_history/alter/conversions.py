"""Conversions that MODIFY and CHANGE make of existing values, if their result is certain.

A conversion is a text that gold interprets (`pipeline.gold.schema.converted_values`): a word and,
after a colon, its number. None: values stay as they are. If MySQL's result depends on anything that
the log lacks, or gold may compute it differently, `UnknownValueError` says why, and the table is
held.

Source: `Field::store` and `get_copy_func` of MySQL's `sql/field.cc` and `sql/field_conv.cc`; every
pair that is allowed here is compared with a server in
tests/integration/schema_history/test_conversions.py.
"""

from __future__ import annotations

from collections.abc import Callable

from decoder.columns import reader
from decoder.constants import BINARY_COLLATION, INTEGER_BITS, ColumnType as T
from decoder.errors import UnsupportedError
from decoder.model import ColumnDefinition
from pipeline.schema_history.alter import text_conversions, time_conversions
from pipeline.schema_history.ddl.conversion_mode import (
    CAST,
    INSTANT,
    LOCAL,
    MAPPED,
    NUMBER,
    RINT,
    ROUND,
    ROUNDED,
    ConversionMode,
    UnknownValueError,
)

_Rule = Callable[[ColumnDefinition, ColumnDefinition, ConversionMode], "str | None"]

_INTEGER_DIGITS = 20
"""Characters of the longest integer, with sign."""
_LAST_YEAR = 2155
_PLAIN_DIGITS = 6
"""The largest scale of a decimal that is certainly printed without an exponent."""
_MOST_DECIMAL_DIGITS = 38
"""The most digits of a Delta decimal; longer ones are text."""


def conversion(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Return the conversion of values of `old` to `new`, or None if they stay as they are.

    Raises `UnknownValueError`.
    """
    if old.nullable and not new.nullable:
        mode.require_strict("it becomes NOT NULL")
    try:
        kinds = reader(old, mode.options).arrow_type, reader(new, mode.options).arrow_type
    except UnsupportedError as error:
        raise UnknownValueError(str(error)) from error
    rule = _RULES.get((_family(old), _family(new)))
    if rule is None:
        raise UnknownValueError(f"{old.type.name} becomes {new.type.name}")
    found = rule(old, new, mode)
    if found is None and kinds[0] != kinds[1]:
        found = CAST
    return None if found == CAST and kinds[0] == kinds[1] else found


def _family(column: ColumnDefinition) -> str:
    if column.logical is not None:
        return column.logical.value.lower()
    found = _FAMILIES.get(column.type, "")
    return "binary" if found == "text" and column.collation == BINARY_COLLATION else found


_FAMILIES = {
    **dict.fromkeys(INTEGER_BITS, "integer"),
    T.NEWDECIMAL: "decimal",
    **dict.fromkeys((T.FLOAT, T.DOUBLE), "real"),
    **dict.fromkeys((T.STRING, T.VAR_STRING, T.VARCHAR, T.BLOB), "text"),
    **dict.fromkeys((T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB), "text"),
    **dict.fromkeys((T.VARCHAR_COMPRESSED, T.BLOB_COMPRESSED), "text"),
    T.ENUM: "enum",
    T.SET: "set",
    **dict.fromkeys((T.DATE, T.NEWDATE), "date"),
    **dict.fromkeys((T.DATETIME, T.DATETIME2), "datetime"),
    **dict.fromkeys((T.TIMESTAMP, T.TIMESTAMP2), "timestamp"),
    **dict.fromkeys((T.TIME, T.TIME2), "time"),
    T.YEAR: "year",
    T.BIT: "bit",
    T.JSON: "json",
    T.GEOMETRY: "geometry",
    T.VECTOR: "vector",
}


def _range(column: ColumnDefinition) -> tuple[int, int]:
    if column.type is T.YEAR:
        return 0, _LAST_YEAR
    bits = column.length if column.type is T.BIT else INTEGER_BITS[column.type]
    if column.unsigned or column.type is T.BIT:
        return 0, (1 << bits) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _to_integer(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert integers, bits and years."""
    (low, high), (new_low, new_high) = _range(old), _range(new)
    if low < new_low or high > new_high:
        mode.require_strict("its range gets smaller")
    return CAST


def _integer_to_decimal(
    old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    _require_delta_decimal(new)
    if len(str(_range(old)[1])) > new.precision - new.scale or (new.unsigned and not old.unsigned):
        mode.require_strict("its range gets smaller")
    return CAST


def _integer_to_real(
    old: ColumnDefinition, new: ColumnDefinition, _mode: ConversionMode
) -> str | None:
    _require_bare(new)
    exact = INTEGER_BITS[old.type] <= INTEGER_BITS[T.LONG]
    if not exact and (old.unsigned or new.type is T.FLOAT):
        raise UnknownValueError(f"{old.type.name} becomes {new.type.name}, which rounds")
    rounds = not exact or (new.type is T.FLOAT and old.type is T.LONG)
    return ROUNDED if rounds else CAST


def _integer_to_text(
    old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    if old.unsigned:  # ZEROFILL, not in table maps, would show
        raise UnknownValueError("an unsigned number becomes text")
    if text_conversions.characters(new) < _INTEGER_DIGITS:
        mode.require_strict("its length becomes smaller")
    return CAST


def _text_to_decimal(
    _old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    _require_delta_decimal(new)
    mode.require_strict("text becomes a number")
    return ROUNDED


def _decimal_to_text(
    old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    _require_delta_decimal(old)
    if old.unsigned:  # as above: ZEROFILL
        raise UnknownValueError("an unsigned number becomes text")
    if old.scale > _PLAIN_DIGITS:
        raise UnknownValueError(f"a number with over {_PLAIN_DIGITS} decimals becomes text")
    if text_conversions.characters(new) < old.precision + len("-0."):
        mode.require_strict("its length becomes smaller")
    return CAST


def _require_delta_decimal(column: ColumnDefinition) -> None:
    if column.precision > _MOST_DECIMAL_DIGITS:
        raise UnknownValueError(f"a number of {column.precision} digits is text in Delta")


def _require_bare(column: ColumnDefinition) -> None:
    if column.precision:
        raise UnknownValueError(f"{column.type.name} with a precision rounds")


def _decimal(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    same = (old.precision, old.scale) == (new.precision, new.scale)
    if not same:
        _require_delta_decimal(old)
        _require_delta_decimal(new)
    whole, new_whole = old.precision - old.scale, new.precision - new.scale
    if new_whole < whole or (new.unsigned and not old.unsigned):
        mode.require_strict("its range gets smaller")
    return ROUNDED if new.scale < old.scale else CAST


def _decimal_to_integer(
    old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    _require_delta_decimal(old)
    mode.require_strict("a decimal becomes an integer")
    return ROUND


def _decimal_to_real(
    old: ColumnDefinition, new: ColumnDefinition, _mode: ConversionMode
) -> str | None:
    _require_delta_decimal(old)
    _require_bare(new)
    if new.type is T.FLOAT:
        raise UnknownValueError("a decimal becomes a FLOAT, which rounds twice")
    return ROUNDED


def _real(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    if (old.precision, old.scale) != (new.precision, new.scale):
        _require_bare(new)
    if new.unsigned and not old.unsigned:
        mode.require_strict("its range gets smaller")
    if old.type is T.DOUBLE and new.type is T.FLOAT:
        mode.require_strict("its range gets smaller")
        return ROUNDED
    return CAST


def _bits(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    if new.length < old.length:
        mode.require_strict("its range gets smaller")
    if new.length == 1 and old.length > 1:
        raise UnknownValueError("a BIT becomes one bit")
    return CAST


def _always(found: str | None, *, strict: str = "") -> _Rule:
    """Return the rule for a conversion that is the same for all columns of both types.

    `strict`: what happens to values that a session which is not strict would change.
    """

    def rule(_old: ColumnDefinition, _new: ColumnDefinition, mode: ConversionMode) -> str | None:
        if strict:
            mode.require_strict(strict)
        return found

    return rule


def _geometry(old: ColumnDefinition, new: ColumnDefinition, _mode: ConversionMode) -> str | None:
    if new.geometry_type not in (0, old.geometry_type):
        raise UnknownValueError("the type of a geometry changes")
    return None


_ADDRESSES = ("uuid", "inet4", "inet6")
_RULES: dict[tuple[str, str], _Rule] = {
    ("integer", "integer"): _to_integer,
    ("bit", "integer"): _to_integer,
    ("year", "integer"): _to_integer,
    ("integer", "decimal"): _integer_to_decimal,
    ("integer", "real"): _integer_to_real,
    ("integer", "text"): _integer_to_text,
    ("decimal", "decimal"): _decimal,
    ("decimal", "integer"): _decimal_to_integer,
    ("decimal", "real"): _decimal_to_real,
    ("decimal", "text"): _decimal_to_text,
    ("text", "integer"): _always(NUMBER, strict="text becomes a number"),
    ("text", "decimal"): _text_to_decimal,
    ("real", "real"): _real,
    ("real", "integer"): _always(RINT, strict="a real number becomes an integer"),
    ("text", "text"): text_conversions.text,
    ("binary", "binary"): text_conversions.binary,
    ("text", "enum"): text_conversions.text_to_enum,
    ("enum", "enum"): text_conversions.enum,
    ("set", "set"): text_conversions.set_,
    ("enum", "text"): text_conversions.labels_to_text,
    ("set", "text"): text_conversions.labels_to_text,
    ("date", "date"): _always(None),
    ("date", "text"): time_conversions.date_to_text,
    ("text", "date"): time_conversions.text_to_date,
    ("date", "datetime"): time_conversions.date_to_datetime,
    ("datetime", "date"): time_conversions.datetime_to_date,
    ("datetime", "datetime"): time_conversions.instants,
    ("datetime", "text"): time_conversions.date_to_text,
    ("text", "datetime"): time_conversions.text_to_date,
    ("timestamp", "timestamp"): time_conversions.instants,
    ("datetime", "timestamp"): time_conversions.zoned(INSTANT),
    ("timestamp", "datetime"): time_conversions.zoned(LOCAL),
    ("time", "time"): time_conversions.time,
    ("time", "text"): time_conversions.time_to_text,
    ("year", "year"): _always(None),
    ("bit", "bit"): _bits,
    ("json", "json"): _always(None),
    ("geometry", "geometry"): _geometry,
    ("vector", "vector"): text_conversions.vector,
    ("binary", "vector"): text_conversions.from_bytes,
    **{(kind, kind): _always(None) for kind in _ADDRESSES},
    **{(kind, "text"): text_conversions.to_text for kind in _ADDRESSES},
    **{("text", kind): text_conversions.from_text for kind in _ADDRESSES},
    **{(kind, "binary"): text_conversions.to_bytes for kind in _ADDRESSES},
    **{("binary", kind): text_conversions.from_bytes for kind in _ADDRESSES},
    ("inet4", "inet6"): _always(MAPPED),
}
"""Rules by the families of both types; any other conversion is unknown."""
