"""Convert constants to values of text, binary, label and JSON columns."""

from __future__ import annotations

import json
from decimal import Decimal

from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import can_hold, charset_in, decoded, encoded, widest
from pipeline.schema_history.ddl.constants import ByteString, Constant, Json, Moment, Text
from pipeline.schema_history.ddl.conversion_mode import ConversionMode
from pipeline.schema_history.ddl.numeric_defaults import Conversion
from pipeline.schema_history.ddl.temporal_defaults import moment_text

_SPACES = " \t\n\v\f\r"
"""Characters that may be truncated from text that is too long."""
_SMALLEST_INTEGER, _LARGEST_INTEGER = -(1 << 63), (1 << 64) - 1
"""Integers of a JSON document; larger ones become doubles."""


def _text(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    charset = charset_in(column.collation)
    if isinstance(value, ByteString):
        if not charset:
            raise ValueError("bytes as text in an unknown charset")
        return decoded(value.raw, charset)
    text = _characters(value, mode)
    if charset and not can_hold(text, charset):
        raise ValueError(f"characters that {charset} lacks")
    return text


def _characters(value: Constant, mode: ConversionMode) -> str:
    """Return a constant as the server prints it."""
    if isinstance(value, Text):
        return value.text
    if isinstance(value, Decimal):
        return f"{value if value else value.copy_abs():f}"
    if isinstance(value, Moment):
        return moment_text(value, mode)
    raise ValueError("an approximate number, a time or JSON in a column of text")


def _string(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    if column.collation == BINARY_COLLATION:
        return _binary(value, column, mode).hex()
    text = _text(value, column, mode)
    if column.type is ColumnType.BLOB:
        if len(text.encode()) >= 1 << 8 * column.length_bytes:
            raise ValueError("it is too long")
        return text
    length = column.length // widest(column.collation)
    if text[length:].strip(_SPACES):
        raise ValueError("it is too long")
    return text[:length].rstrip(" ") if column.type is ColumnType.STRING else text[:length]


def _binary(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> bytes:
    if isinstance(value, ByteString):
        raw = value.raw
    elif isinstance(value, Text):
        raw = encoded(value.text, value.charset)
    else:
        raw = _characters(value, mode).encode()
    if column.type is ColumnType.BLOB:
        return raw
    if len(raw) > column.length:
        raise ValueError("it is too long")
    return raw.ljust(column.length, b"\0") if column.type is ColumnType.STRING else raw


def _label(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    if isinstance(value, Decimal):
        number = int(value)
        if not 0 < number <= len(column.labels):
            raise ValueError("not the index of a label")
        return column.labels[number - 1]
    return _same_label(column, _text(value, column, mode))


def _same_label(column: ColumnDefinition, text: str) -> str:
    """Return the label as declared: collations ignore case and trailing spaces."""
    text = text.rstrip(" ")
    found = [label for label in column.labels if label.casefold() == text.casefold()]
    if not found:
        raise ValueError("not among the labels")
    if text not in found and len(found) > 1:
        raise ValueError("it matches several labels that differ only in case")
    return text if text in found else found[0]


def _labels(value: Constant, column: ColumnDefinition, mode: ConversionMode) -> str:
    if isinstance(value, Decimal):
        number = int(value)
        if not 0 <= number < 1 << len(column.labels):
            raise ValueError("not a combination of the labels")
        chosen = {label for i, label in enumerate(column.labels) if number >> i & 1}
    else:
        text = _text(value, column, mode)
        chosen = {_same_label(column, part) for part in text.split(",") if part}
    return ",".join(label for label in column.labels if label in chosen)


def _json(value: Constant, _column: ColumnDefinition, mode: ConversionMode) -> str:
    if not isinstance(value, (Json, Text)):
        raise ValueError("a JSON document of bytes, numbers or times")
    if not mode.mariadb:  # MariaDB's JSON is text
        json.loads(value.text, parse_int=_integer, parse_constant=_reject_constant)
    return value.text


def _integer(digits: str) -> int:
    if not _SMALLEST_INTEGER <= int(digits) <= _LARGEST_INTEGER:
        raise ValueError("an integer that becomes a double")
    return int(digits)


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} in a JSON document")


TEXTUAL: dict[ColumnType, Conversion] = {
    **dict.fromkeys((ColumnType.STRING, ColumnType.VARCHAR, ColumnType.BLOB), _string),
    ColumnType.ENUM: _label,
    ColumnType.SET: _labels,
    ColumnType.JSON: _json,
}
"""Conversions by column type."""
