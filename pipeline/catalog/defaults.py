"""What existing rows hold in a column that was added: its DEFAULT, as the column's own type.

Values travel in the ledger as text (`None`: NULL), in the one spelling of each Arrow type that
`python_value` reads back: numbers and text as they are, `true`/`false`, ISO dates and times
(instants in UTC), bytes in hex.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from decoder.columns.addresses import BYTES, address_text
from decoder.constants import BINARY_COLLATION, ColumnType
from decoder.definition import ColumnDefinition
from decoder.options import TypeOptions
from pipeline.catalog.actions import NewColumn
from pipeline.catalog.constants import Constant, Json, Now, UnknownDefaultError, constant
from pipeline.catalog.temporal import Instant, read_date, read_datetime, read_time, read_year

_NUMBERS = (
    *(ColumnType.TINY, ColumnType.SHORT, ColumnType.INT24, ColumnType.LONG, ColumnType.LONGLONG),
    *(ColumnType.NEWDECIMAL, ColumnType.FLOAT, ColumnType.DOUBLE, ColumnType.BIT, ColumnType.YEAR),
)
_ENCODINGS = {**dict.fromkeys(("utf8", "utf8mb3", "utf8mb4"), "utf-8"), "ascii": "ascii"}
"""Python's codecs for the charsets in which bytes are read as text."""
_TEXTS = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.BLOB, ColumnType.SET)


@dataclass(frozen=True, slots=True)
class DefaultContext:
    """What a DEFAULT's value depends on besides its text.

    `executed_at` is when the statement began; `time_zone` the session's, with the server's own
    (SYSTEM) already put in. `explicit_timestamps` is its explicit_defaults_for_timestamp; None:
    not logged.
    """

    executed_at: datetime | None = None
    time_zone: str = "UTC"
    options: TypeOptions = field(default_factory=TypeOptions)
    explicit_timestamps: bool | None = None

    def instant(self) -> Instant:
        """The statement's time, for NOW() and for times of day in the session's zone."""
        return Instant(self.executed_at, self.time_zone)


def default_text(column: NewColumn, context: DefaultContext) -> str | None:
    """The value of an added column in rows that were there before, as text.

    Raises `UnknownDefaultError` where the log cannot tell it.
    """
    if column.computed:
        raise UnknownDefaultError(column.computed)
    definition = column.definition
    _check_timestamp(column, context)
    value = constant(column.default) if column.default else _implicit(definition)
    if value is None:
        return None
    try:
        if isinstance(value, bytes) and _is_text(definition):
            value = _decoded(value, column.charset)
        convert = _address if definition.logical in BYTES else _CONVERSIONS[definition.type]
        return convert(value, definition, context)
    except KeyError as error:
        raise UnknownDefaultError(f"a value of type {definition.type.name}") from error
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise UnknownDefaultError(f"{value!r} as {definition.type.name}: {error}") from error


def _check_timestamp(column: NewColumn, context: DefaultContext) -> None:
    """Without explicit_defaults_for_timestamp, a TIMESTAMP gets a DEFAULT that it does not say."""
    said = column.default or column.says_null or context.explicit_timestamps
    if column.definition.type is ColumnType.TIMESTAMP2 and not said:
        state = "not logged" if context.explicit_timestamps is None else "OFF"
        raise UnknownDefaultError(
            f"a TIMESTAMP without NULL or DEFAULT, and explicit_defaults_for_timestamp is {state}"
        )


def _is_text(column: ColumnDefinition) -> bool:
    labelled = column.type in (ColumnType.ENUM, ColumnType.SET)
    return labelled or (column.type in _TEXTS and column.collation != BINARY_COLLATION)


def _decoded(value: bytes, charset: str | None) -> str:
    """Bytes in a column of text: they are in its charset, and wrong ones may be changed or cut."""
    if charset not in _ENCODINGS:
        raise ValueError(f"bytes as text in charset {charset or 'that is not named'}")
    return value.decode(_ENCODINGS[charset])


def _implicit(column: ColumnDefinition) -> Constant:
    """What MySQL puts into a column that is NOT NULL and has no DEFAULT."""
    if column.nullable:
        return None
    if column.type in _NUMBERS:
        return Decimal(0)
    if column.logical is not None and column.logical in BYTES:
        return bytes(BYTES[column.logical])
    if column.type in _TEXTS:
        return ""
    if column.type is ColumnType.ENUM:
        return column.labels[0]
    if column.type is ColumnType.JSON:
        return "null"
    if column.type is ColumnType.TIME2:
        return "00:00:00"
    if column.type in (ColumnType.DATE, ColumnType.DATETIME2, ColumnType.TIMESTAMP2):
        return "0000-00-00 00:00:00"
    raise UnknownDefaultError(f"no DEFAULT for a NOT NULL column of type {column.type.name}")


def _number(value: Constant) -> Decimal:
    if isinstance(value, bytes):
        return Decimal(int.from_bytes(value, "big"))
    if isinstance(value, (str, float)):
        return Decimal(str(value).strip())
    if isinstance(value, Decimal):
        return value
    raise ValueError("not a number")


def _integer(value: Constant, _column: ColumnDefinition, _context: DefaultContext) -> str:
    return str(int(_number(value).quantize(Decimal(1), ROUND_HALF_UP)))


def _decimal(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    # Decimal's own precision of 28 digits is less than a DECIMAL(65) needs.
    sign, digits, exponent = _number(value).as_tuple()
    unscaled = Decimal((0, digits, int(exponent) + column.scale)).to_integral_value(ROUND_HALF_UP)
    text = f"{int(unscaled):0{column.scale + 1}d}"
    whole, fraction = text[: len(text) - column.scale], text[len(text) - column.scale :]
    minus = "-" if sign and int(unscaled) else ""
    return f"{minus}{whole}.{fraction}" if column.scale else f"{minus}{whole}"


def _single(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    return repr(struct.unpack("<f", struct.pack("<f", _rounded(value, column)))[0])


def _double(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    return repr(_rounded(value, column))


def _rounded(value: Constant, column: ColumnDefinition) -> float:
    """The number at the scale of a FLOAT(M,D), as the server's `Field_real::truncate` does it."""
    number = float(_number(value))
    if not column.precision:
        return number
    unit = 10.0**column.scale
    whole = math.floor(number)
    rounded = whole + round((number - whole) * unit) / unit
    if abs(rounded) > 10.0 ** (column.precision - column.scale) - 1 / unit:
        raise ValueError("it is out of range")
    return rounded


def _bit(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str:
    text = value.encode() if isinstance(value, str) else value
    number = int(_integer(text, column, context))
    return ("true" if number else "false") if column.length == 1 else str(number)


def _text(value: Constant) -> str:
    if isinstance(value, bytes):
        return value.decode("ascii")
    if isinstance(value, float):
        raise ValueError("an approximate number as text")
    if value is None or isinstance(value, (Now, Json)):
        raise ValueError("a time or JSON in a column of text")
    return f"{value:f}" if isinstance(value, Decimal) else value


def _string(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    if column.collation == BINARY_COLLATION:
        raw = value if isinstance(value, bytes) else _text(value).encode()
        fixed = column.length if column.type is ColumnType.STRING else 0
        if fixed and len(raw) > fixed:
            raise ValueError("it is too long")
        return raw.ljust(fixed, b"\0").hex()
    text = _text(value)
    return text.rstrip(" ") if column.type is ColumnType.STRING else text


def _address(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    """As the server prints it: of bytes, or of what it puts where there is no DEFAULT."""
    kind = column.logical
    if kind is None or not isinstance(value, bytes) or len(value) != BYTES[kind]:
        raise ValueError("no text of its type, nor as many bytes as it has")
    return address_text(kind, value)


def _label(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    if isinstance(value, Decimal):
        return column.labels[int(value) - 1]
    return _same_label(column, _text(value).rstrip(" "))


def _same_label(column: ColumnDefinition, text: str) -> str:
    """The label as declared: collations ignore case."""
    found = [label for label in column.labels if label.casefold() == text.casefold()]
    if not found:
        raise ValueError("not among the labels")
    return text if text in found else found[0]


def _labels(value: Constant, column: ColumnDefinition, _context: DefaultContext) -> str:
    if isinstance(value, Decimal):
        chosen = {i for i in range(len(column.labels)) if int(value) >> i & 1}
    else:
        named = {_same_label(column, part) for part in _text(value).split(",") if part}
        chosen = {i for i, label in enumerate(column.labels) if label in named}
    return ",".join(label for i, label in enumerate(column.labels) if i in chosen)


def _json(value: Constant, _column: ColumnDefinition, _context: DefaultContext) -> str:
    return value.text if isinstance(value, Json) else _text(value)


def _date(value: Constant, _column: ColumnDefinition, context: DefaultContext) -> str | None:
    if isinstance(value, Now):
        return context.instant().local(value.utc).date().isoformat()
    return read_date(_text(value), keep_zero=context.options.zero_dates == "string")


def _datetime(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str | None:
    if isinstance(value, Now):
        return context.instant().local(value.utc).text(column.fraction)
    return read_datetime(
        _text(value), column.fraction, keep_zero=context.options.zero_dates == "string"
    )


def _timestamp(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str | None:
    keep_zero = context.options.zero_dates == "string"
    if isinstance(value, Now):
        text: str | None = context.instant().local(utc=True).text(column.fraction)
    else:
        text = read_datetime(_text(value), column.fraction, keep_zero=keep_zero)
        if text is not None and not text.startswith("0000"):
            text = context.instant().to_utc(text, column.fraction)
    return text if text is None or keep_zero else f"{text}+00:00"


def _time(value: Constant, column: ColumnDefinition, context: DefaultContext) -> str:
    if isinstance(value, Now):
        value = context.instant().local(value.utc).text(column.fraction)[11:]
    return read_time(_text(value), column.fraction, as_micros=context.options.time == "micros")


def _year(value: Constant, _column: ColumnDefinition, _context: DefaultContext) -> str:
    return read_year(_text(value), is_text=isinstance(value, str))


_Conversion = Callable[[Constant, ColumnDefinition, DefaultContext], str | None]
_CONVERSIONS: dict[ColumnType, _Conversion] = {
    **dict.fromkeys(_NUMBERS[:5], _integer),
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.FLOAT: _single,
    ColumnType.DOUBLE: _double,
    ColumnType.BIT: _bit,
    ColumnType.YEAR: _year,
    ColumnType.STRING: _string,
    ColumnType.VARCHAR: _string,
    ColumnType.BLOB: _string,
    ColumnType.ENUM: _label,
    ColumnType.SET: _labels,
    ColumnType.JSON: _json,
    ColumnType.DATE: _date,
    ColumnType.DATETIME2: _datetime,
    ColumnType.TIMESTAMP2: _timestamp,
    ColumnType.TIME2: _time,
}


def python_value(text: str | None, arrow_type: pa.DataType) -> Any:
    """The Python value of a default's text, of the kind that Spark's `lit` takes for the type."""
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
