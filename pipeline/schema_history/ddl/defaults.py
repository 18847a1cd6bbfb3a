"""Evaluate a column's DEFAULT as the column's type: for existing rows, and for later inserts.

The ledger stores values as text (None: NULL), with one spelling per Arrow type, which
`python_value` parses: numbers and text as they are, `true`/`false`, ISO dates and times (instants
in UTC), bytes in hex. A value that does not fit its column is unknown: whether it is rejected,
truncated or replaced depends on the server, the session and the spelling of the DEFAULT.

A row image of `binlog_row_image=MINIMAL` has the columns that an INSERT names, and those whose
values the server computes per row: AUTO_INCREMENT, DEFAULT CURRENT_TIMESTAMP and other functions,
expressions, generated columns. It leaves out columns with a constant DEFAULT or none, which MySQL
sets to that constant, to NULL or, if NOT NULL, to their type's implicit default. MariaDB computes
VIRTUAL columns when they are read, and also leaves them out of MINIMAL updates. In 11.8, updates
and deletes have no generated columns, whatever binlog_row_image is.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from decoder.columns import address_text
from decoder.constants import ADDRESS_BYTES, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.schema_history.ddl.charsets import UNKNOWN_COLLATION, WIDE
from pipeline.schema_history.ddl.constants import (
    ByteString,
    Constant,
    Now,
    Text,
    constant,
    is_expression,
)
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.expression_reader import kept_expression
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.model import ColumnDefault
from pipeline.schema_history.ddl.numeric_defaults import NUMERIC, Conversion, keeps_digits
from pipeline.schema_history.ddl.temporal_defaults import TEMPORAL
from pipeline.schema_history.ddl.text_defaults import TEXTUAL

_CONVERSIONS: dict[ColumnType, Conversion] = {**NUMERIC, **TEXTUAL, **TEMPORAL}
_TEXTS = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.BLOB, ColumnType.SET)


def default_text(column: NewColumn, mode: ConversionMode) -> str | None:
    """Return, as text, the value that existing rows have in an added column.

    Raises `UnknownValueError` if it cannot be determined from the log.
    """
    if column.computed:
        raise UnknownValueError(column.computed)
    definition = column.definition
    _check_timestamp(column, mode)
    if mode.mariadb and mode.sql_mode & SqlMode.ORACLE and definition.type is ColumnType.DATE:
        raise UnknownValueError("a DATE, which is a DATETIME in MariaDB's sql_mode ORACLE")
    value = _value(column, mode)
    if value is None:
        return None
    convert = _address if definition.logical in ADDRESS_BYTES else _CONVERSIONS.get(definition.type)
    if convert is None:
        raise UnknownValueError(f"a value of type {definition.type.name}")
    try:
        return convert(value, definition, mode)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise UnknownValueError(f"{value!r} as {definition.type.name}: {error}") from error


def insert_default(column: NewColumn, mode: ConversionMode) -> ColumnDefault:
    """Return the DEFAULT of later inserts into a column, or the reason why it is unknown."""
    name, nullable = column.definition.name, column.definition.nullable
    try:
        if column.default and isinstance(constant(column.default, mode), Now):
            raise UnknownValueError("the time of the insert")
        text = default_text(column, mode)
        if text is not None and not keeps_digits(column.definition, text):
            raise UnknownValueError(
                "a FLOAT with more than six digits, which any later ALTER rounds"
            )
        return ColumnDefault(name, text, nullable=nullable)
    except UnknownValueError as error:
        unlogged = mode.mariadb and column.is_generated
        understood = unlogged and not mode.changes_expressions
        kept = kept_expression(column.expression) if understood else ""
        return ColumnDefault(
            name, reason=str(error), nullable=nullable, unlogged=unlogged, expression=kept
        )


def _value(column: NewColumn, mode: ConversionMode) -> Constant:
    if not column.default:
        return _implicit(column.definition)
    value, computed = constant(column.default, mode), is_expression(column.default)
    if mode.mariadb and (computed or column.definition.type is ColumnType.BLOB):
        _check_printed(value)
    if computed and not mode.strict_session:
        _check_kept(value, column.definition)
    if not (mode.mariadb or computed) and isinstance(value, Decimal):
        _check_label(f"{value:f}", column.definition)
    return value


def _check_kept(value: Constant, column: ColumnDefinition) -> None:
    """Raise for non-ASCII text: without strict mode, characters that the column lacks are lost."""
    unknown = column.collation in (None, UNKNOWN_COLLATION)
    if unknown and isinstance(value, Text) and not value.text.isascii():
        raise UnknownValueError("the text of an expression in an unknown charset")


def _check_label(number: str, column: ColumnDefinition) -> None:
    """Raise if a number is also a label: MySQL takes it as label or index, by the charset."""
    if number in column.labels:
        raise UnknownValueError(f"{number}, which is a label and may be the index of another")


def _check_printed(value: Constant) -> None:
    """Raise if MariaDB garbles the DEFAULT: it is stored with introduced bytes as `xE9`."""
    if isinstance(value, Text) and value.introduced:
        garbled = not value.text.isascii() or value.charset in WIDE
    else:
        garbled = isinstance(value, ByteString) and value.introduced and not value.raw.isascii()
    if garbled:
        raise UnknownValueError("a string with an introducer, in a TEXT or an expression")


def _check_timestamp(column: NewColumn, mode: ConversionMode) -> None:
    """Raise for a TIMESTAMP with an implicit DEFAULT (explicit_defaults_for_timestamp=OFF)."""
    explicit = column.default or column.explicit_null or mode.explicit_timestamps
    if column.definition.type is ColumnType.TIMESTAMP2 and not explicit:
        state = "not logged" if mode.explicit_timestamps is None else "OFF"
        raise UnknownValueError(
            f"a TIMESTAMP without NULL or DEFAULT, and explicit_defaults_for_timestamp is {state}"
        )


def _implicit(column: ColumnDefinition) -> Constant:
    """Return what MySQL stores in a NOT NULL column without DEFAULT."""
    if column.nullable:
        return None
    if column.type in NUMERIC:
        return Decimal(0)
    if column.logical is not None and column.logical in ADDRESS_BYTES:
        return ByteString(bytes(ADDRESS_BYTES[column.logical]))
    if column.type in _TEXTS:
        return Text("")
    if column.type is ColumnType.ENUM:
        return Text(column.labels[0])
    if column.type is ColumnType.JSON:
        return Text("null")
    if column.type is ColumnType.TIME2:
        return Text("00:00:00")
    if column.type in TEMPORAL:
        return Text("0000-00-00 00:00:00")
    raise UnknownValueError(f"no DEFAULT for a NOT NULL column of type {column.type.name}")


def _address(value: Constant, column: ColumnDefinition, _mode: ConversionMode) -> str:
    """Return the server's text of the bytes, or of the implicit default."""
    kind = column.logical
    if kind is None or not isinstance(value, ByteString) or len(value.raw) != ADDRESS_BYTES[kind]:
        raise ValueError("neither text of its type nor bytes of its length")
    return address_text(kind, value.raw)


def python_value(text: str | None, arrow_type: pa.DataType) -> Any:
    """Return a default's text as the Python value that Spark's `lit` takes for the type."""
    if text is None:
        return None
    for accepts, read in _PYTHON_VALUES:
        if accepts(arrow_type):
            return read(text)
    return text


_PYTHON_VALUES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[str], Any]], ...] = (
    (pa.types.is_boolean, lambda text: text == "true"),
    (pa.types.is_integer, int),
    (pa.types.is_floating, float),
    (pa.types.is_decimal, Decimal),
    (pa.types.is_binary, bytes.fromhex),
    (pa.types.is_date, date.fromisoformat),
    (
        lambda t: pa.types.is_timestamp(t) and t.tz is not None,
        lambda text: datetime.fromisoformat(text).astimezone(timezone.utc),
    ),
    (pa.types.is_timestamp, datetime.fromisoformat),
)
