"""A table's rows as the server returns them, as the Python values that Arrow would return.

Everything is selected as text or hex, so that no client library rounds or rejects it; dates that do
not exist (zero, impossible, before year 1) become None.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa

from decoder.constants import ColumnType as T, LogicalType
from decoder.model.definition import ColumnDefinition

ReadDocument = Callable[[str], object]
"""Converts JSON text to what it is compared as."""
_AS_HEX = {T.VECTOR, T.GEOMETRY}
_NUMBERS = {T.BIT}
_EXACT_DIGITS = 17
"""Significant digits of a double; numbers with more digits are decimals."""


def expression(column: ColumnDefinition) -> str:
    """Return the SQL expression whose value `python_value` converts."""
    name = f"`{column.name}`"
    if column.logical not in (None, LogicalType.VECTOR):
        return f"CAST({name} AS CHAR)"
    if column.type in _AS_HEX or column.collation == 63:
        return f"HEX({name})"
    if column.type in _NUMBERS:
        return f"CAST({name} + 0 AS CHAR)"
    if column.type == T.FLOAT:
        # CAST to DOUBLE needs MySQL 8.0.17.
        return f"{name} * 1e0"
    if column.type == T.DOUBLE:
        return name
    return f"CAST({name} AS CHAR CHARACTER SET utf8mb4)"


def python_value(
    column: ColumnDefinition,
    arrow_type: pa.DataType,
    value: Any,
    document: ReadDocument | None = None,
) -> Any:
    """Return what an Arrow array of the column has for this value of its `expression`.

    JSON text is converted by `document`, by default `Document`.
    """
    if value is None:
        return None
    if column.type == T.GEOMETRY:
        data = bytes.fromhex(value)
        return {"srid": int.from_bytes(data[:4], "little"), "wkb": data[4:]}
    if column.type == T.VECTOR or column.logical is LogicalType.VECTOR:
        data = bytes.fromhex(value)
        return list(struct.unpack(f"<{len(data) // 4}f", data))
    if column.type == T.JSON:
        return (document or Document)(value)
    return _CONVERSIONS[_kind(arrow_type)](value)


def decoded_value(
    column: ColumnDefinition, value: Any, document: ReadDocument | None = None
) -> Any:
    """Return a decoded value in the form of `python_value`: JSON parsed, others unchanged."""
    is_json = column.type == T.JSON and value is not None
    return (document or Document)(value) if is_json else value


def _kind(arrow_type: pa.DataType) -> str:
    for kind, is_kind in _KINDS.items():
        if is_kind(arrow_type):
            return kind
    raise AssertionError(f"no type of the zoo decodes to {arrow_type}")


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _datetime(text: str) -> datetime | None:
    seconds, _, fraction = text.partition(".")
    try:
        moment = datetime.fromisoformat(seconds)
    except ValueError:
        return None
    return moment.replace(microsecond=int(fraction.ljust(6, "0")))


def _instant(text: str) -> datetime | None:
    moment = _datetime(text)
    return None if moment is None else moment.replace(tzinfo=timezone.utc)


_KINDS: dict[str, Callable[[pa.DataType], bool]] = {
    "boolean": pa.types.is_boolean,
    "integer": pa.types.is_integer,
    "floating": pa.types.is_floating,
    "decimal": pa.types.is_decimal,
    "date": pa.types.is_date,
    "instant": lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None,
    "timestamp": pa.types.is_timestamp,
    "binary": pa.types.is_binary,
    "string": pa.types.is_string,
}
_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "boolean": lambda text: text != "0",
    "integer": int,
    "floating": float,
    "decimal": Decimal,
    "date": _date,
    "instant": _instant,
    "timestamp": _datetime,
    "binary": bytes.fromhex,
    "string": str,
}


class Number:
    """A JSON number with a point or exponent; equal to any number of the same value."""

    def __init__(self, text: str) -> None:
        self.value = Decimal(text)
        self.digits = len(self.value.normalize().as_tuple().digits)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Number):
            return False
        doubles = max(self.digits, other.digits) <= _EXACT_DIGITS
        return self.value == other.value or (doubles and float(self.value) == float(other.value))

    def __hash__(self) -> int:
        return hash(float(self.value))

    def __repr__(self) -> str:
        return str(self.value)


class Document:
    """JSON text, equal to other spellings of the same value; integers never equal doubles."""

    def __init__(self, text: str) -> None:
        self.text = text
        # MySQL 5.7 puts unescaped line breaks into base64.
        self.value = json.loads(text, parse_float=Number, strict=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Document) and self.value == other.value

    def __hash__(self) -> int:
        return hash(str(self.value))

    def __repr__(self) -> str:
        return self.text
