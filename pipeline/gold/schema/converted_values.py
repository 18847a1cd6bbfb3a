"""Conversions of `pipeline.schema_history.alter.conversions` as Spark expressions."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from decimal import Decimal

from pyspark.sql import Column, functions as sf, types as st

from decoder.columns import address_text
from decoder.constants import ADDRESS_BYTES, LogicalType
from pipeline.gold.changes.images import known
from pipeline.schema_history.ddl import conversion_mode
from pipeline.schema_history.ddl.addresses import address_in_bytes


def converted(value: Column, how: str | None, kind: st.DataType, *, vouched: bool) -> Column:
    """Return a column's values after an ALTER TABLE, with their new Delta type.

    `vouched`: they are exactly the source's, where the statement would have failed for a value that
    does not fit, so this fails too; otherwise such values become NULL.
    """
    if how is None:
        return value
    cast = Column.cast if vouched else Column.try_cast
    name, _, number = how.partition(":")
    if name in _CERTAIN:
        result, is_known = _CERTAIN[name](value, number)
        return cast(known(result, is_known, name, vouched=vouched), kind)
    if name in _BY_WAY_OF:
        value = cast(value, _BY_WAY_OF[name])
    return cast(_CONVERSIONS[name](value, int(number or 0), kind), kind)


def certainly_converted(value: Column, how: str, kind: st.DataType) -> tuple[Column, Column]:
    """Return the same as `converted`, with NULL for uncertain values, and whether it is certain."""
    name, _, number = how.partition(":")
    is_known = _CERTAIN[name](value, number)[1] if name in _CERTAIN else sf.lit(True)
    return converted(value, how, kind, vouched=False), sf.coalesce(is_known, sf.lit(True))


def _label(value: Column, labels: str) -> tuple[Column, Column]:
    label = sf.rtrim(value)
    return label, value.isNull() | label.isin(json.loads(labels))


def _printed(value: Column, length: str) -> tuple[Column, Column]:
    # Not by date_format, which takes a DATETIME through the session's zone.
    text = value.cast("string")
    fraction = int(length) - _WHOLE_SECONDS - 1
    return text if fraction <= 0 else _digits(text, fraction, st.StringType()), value.isNotNull()


def _parsed(value: Column, length: str) -> tuple[Column, Column]:
    day, time = r"(?!0000)\d{4}-\d\d-\d\d", r" \d\d:\d\d:\d\d"
    fraction = int(length) - _WHOLE_SECONDS - 1
    digits = rf"(\.\d{{1,{fraction}}})?" if fraction > 0 else ""
    full = f"^{day}$" if int(length) == len("YYYY-MM-DD") else f"^{day}({time}{digits})?$"
    return value, value.isNull() | value.rlike(full)


def _fitting(value: Column, room: str) -> tuple[Column, Column]:
    has = json.loads(room)
    text = sf.rtrim(value) if has["trimmed"] else value
    fits = sf.char_length(text) <= has["characters"]
    return text, value.isNull() | (fits & text.rlike(_ASCII) if has["ascii"] else fits)


def _logical(value: Column, kind: str) -> tuple[Column, Column]:
    made = _VECTOR(value) if kind == LogicalType.VECTOR else _ADDRESS(value, sf.lit(kind))
    return made, value.isNull() | made.isNotNull()


def _address(value: str | bytearray | None, name: str) -> str | None:
    """Return text or bytes as the server prints them; None if they are not an address."""
    kind = LogicalType(name)
    if value is None:
        return None
    raw = address_in_bytes(value, kind) if isinstance(value, str) else bytes(value)
    return address_text(kind, raw) if raw is not None and len(raw) == ADDRESS_BYTES[kind] else None


def _numbers(value: bytearray | None) -> list[float] | None:
    """Return a VECTOR's numbers; None if the bytes are not a VECTOR."""
    if value is None or len(value) % _FLOAT.size:
        return None
    return [number for (number,) in _FLOAT.iter_unpack(value)]


def _bytes(value: str | None) -> bytes | None:
    return None if value is None else address_in_bytes(value)


def _stored(value: Column, number: int, _kind: st.DataType) -> Column:
    raw = _BYTES(value)
    return sf.rpad(raw, number, sf.lit(b"\0")) if number else raw


def _extended(value: Column, number: int, _kind: st.DataType) -> Column:
    zeros = sf.array_repeat(sf.lit(0.0).cast("float"), sf.lit(number) - sf.size(value))
    return sf.concat(value, zeros)


def _fraction(value: Column, number: int, kind: st.DataType) -> Column:
    """Round to `number` fractional digits, halves up, also before 1970 (negative microseconds)."""
    unit = 10 ** (6 - number)
    raised = _micros(value) + unit // 2
    return _of_micros(raised - sf.pmod(raised, sf.lit(unit)), kind)


def _truncate(value: Column, number: int, kind: st.DataType) -> Column:
    unit = 10 ** (6 - number)
    return _of_micros(_micros(value) - sf.pmod(_micros(value), sf.lit(unit)), kind)


def _micros(value: Column) -> Column:
    return sf.unix_micros(value.cast("timestamp"))


def _of_micros(value: Column, kind: st.DataType) -> Column:
    return sf.timestamp_micros(value.cast("bigint")).cast(kind)


def _digits(value: Column, number: int, _kind: st.DataType) -> Column:
    """Pad a TIME's text with zeros to `number` digits after the point."""
    point = sf.when(sf.contains(value, sf.lit(".")), value).otherwise(sf.concat(value, sf.lit(".")))
    length = sf.instr(point, ".") + number
    return sf.rpad(point, length, sf.lit("0"))


def _shifted(value: Column, minutes: int, kind: st.DataType) -> Column:
    return _of_micros(_micros(value) + minutes * _MINUTE, kind)


def _clamp(value: Column, number: int, _kind: st.DataType) -> Column:
    return _between(sf.round(value, 0), -(1 << number - 1), (1 << number - 1) - 1)


def _clamp_unsigned(value: Column, number: int, _kind: st.DataType) -> Column:
    return _between(sf.round(value, 0), 0, (1 << number) - 1)


def _nearest(value: Column, _number: int, kind: st.DataType) -> Column:
    if not isinstance(kind, st.DecimalType):
        raise TypeError(f"a decimal cannot become {kind.simpleString()}")
    most = Decimal((0, (9,) * kind.precision, -kind.scale))
    return _between(sf.round(value, kind.scale), most.copy_negate(), most)


def _between(value: Column, low: int | Decimal, high: int | Decimal) -> Column:
    least, most = sf.lit(Decimal(low)), sf.lit(Decimal(high))
    return sf.when(value > most, most).when(value < least, least).otherwise(value)


_FLOAT = struct.Struct("<f")
_ASCII = r"\A[\x00-\x7f]*\z"
_ADDRESS = sf.udf(_address, st.StringType(), useArrow=False)
_VECTOR = sf.udf(_numbers, st.ArrayType(st.FloatType()), useArrow=False)
_BYTES = sf.udf(_bytes, st.BinaryType(), useArrow=False)
_MINUTE = 60_000_000
_WHOLE_SECONDS = len("YYYY-MM-DD hh:mm:ss")
_CERTAIN: dict[str, Callable[[Column, str], tuple[Column, Column]]] = {
    conversion_mode.LABEL: _label,
    conversion_mode.PRINTED: _printed,
    conversion_mode.PARSED: _parsed,
    conversion_mode.FITTING: _fitting,
    conversion_mode.LOGICAL: _logical,
}
"""Converted values, and a condition for which of them the conversion is known."""
_BY_WAY_OF: dict[str, st.DataType] = {conversion_mode.NUMBER: st.DecimalType(38, 0)}
"""Intermediate types."""
_CONVERSIONS: dict[str, Callable[[Column, int, st.DataType], Column]] = {
    conversion_mode.CAST: lambda value, *_: value,
    conversion_mode.ROUNDED: lambda value, *_: value,
    conversion_mode.NUMBER: lambda value, *_: value,
    conversion_mode.ROUND: lambda value, *_: sf.round(value, 0),
    conversion_mode.RINT: lambda value, *_: sf.rint(value),
    conversion_mode.RTRIM: lambda value, *_: sf.rtrim(value),
    conversion_mode.SHORTEN: lambda value, length, _: sf.substring(value, 1, length),
    conversion_mode.PAD: lambda value, length, _: sf.rpad(value, length, sf.lit(b"\0")),
    conversion_mode.FRACTION: _fraction,
    conversion_mode.TRUNCATE: _truncate,
    conversion_mode.DIGITS: _digits,
    conversion_mode.CLAMP: _clamp,
    conversion_mode.CLAMP_UNSIGNED: _clamp_unsigned,
    conversion_mode.NEAREST: _nearest,
    conversion_mode.INSTANT: lambda value, zone, kind: _shifted(value, -zone, kind),
    conversion_mode.LOCAL: _shifted,
    conversion_mode.STORED: _stored,
    conversion_mode.MAPPED: lambda value, *_: sf.concat(sf.lit("::ffff:"), value),
    conversion_mode.EXTENDED: _extended,
}
