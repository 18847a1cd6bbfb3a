"""Rows printed by `mysqlbinlog -vv --base64-output=decode-rows`, compared with decoded rows.

The program is MySQL's own or MariaDB's; both print a row as lines of `###`, a value as
`@number=value /* its type … */` (MySQL sql/log_event.cc, `log_event_print_value`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

from decoder.columns.charsets import decode
from decoder.model.definition import ColumnDefinition
from tests.support.zoo.server_values import Document

OPTIONS = ("-vv", "--base64-output=decode-rows", "--force-if-open")
_OPERATION = re.compile(rb"### (INSERT INTO|UPDATE|DELETE FROM) `(.*)`\.`(.*)`")
_VALUE = re.compile(rb"###   @(\d+)=(.*) /\* (\w+).* meta=.*\*/")
_OPERATIONS = {b"INSERT INTO": "insert", b"UPDATE": "update", b"DELETE FROM": "delete"}


@dataclass(frozen=True)
class PrintedValue:
    """A value's text and the first word of its type."""

    text: bytes
    kind: str

    @property
    def is_diff(self) -> bool:
        """True if it is a JSON diff rather than the column's value."""
        return self.kind == "JSON" and self.text.startswith(b"JSON_")


Image = dict[int, PrintedValue]
"""Values by column number, from 1."""


@dataclass
class PrintedRow:
    """One row of an event."""

    table: str
    operation: str
    images: dict[str, Image] = field(default_factory=dict)
    """Before (WHERE) and after (SET)."""


def printed_rows(output: bytes) -> Iterator[PrintedRow]:
    """Return the rows in the program's output, in order."""
    row: PrintedRow | None = None
    image: Image = {}
    for line in output.splitlines():
        if found := _OPERATION.match(line):
            if row is not None:
                yield row
            words, schema, table = found.groups()
            row = PrintedRow(f"{schema.decode()}.{table.decode()}", _OPERATIONS[words])
        elif row is not None and line in (b"### WHERE", b"### SET"):
            image = row.images.setdefault("before" if line == b"### WHERE" else "after", {})
        elif found := _VALUE.match(line):
            number, text, kind = found.groups()
            image[int(number)] = PrintedValue(text, kind.decode())
        elif line.startswith(b"###"):
            raise AssertionError(f"unexpected line: {line!r}")
    if row is not None:
        yield row


def value_of(printed: PrintedValue, column: ColumnDefinition) -> Any:
    """Return the value that the text represents, in the form of `comparable`."""
    return None if printed.text == b"NULL" else _READERS[printed.kind](printed.text, column)


def comparable(value: Any, printed: PrintedValue) -> Any:
    """Return a decoded value in the form of `value_of`, rounded like the printed one."""
    convert = _CONVERSIONS.get(printed.kind)
    return value if value is None or convert is None else convert(value)


def _integer(text: bytes, column: ColumnDefinition) -> int:
    signed, _, unsigned = text.decode().partition(" ")
    return int(unsigned.strip("()")) if unsigned and column.unsigned else int(signed)


def _content(text: bytes) -> bytes:
    """Return the text between quotes, unescaped."""
    assert text[:1] == text[-1:] == b"'", text
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text[1:-1])


def _string(text: bytes, column: ColumnDefinition) -> str | bytes:
    content = _content(text)
    binary = column.collation == 63 or (column.collation is None and column.type.name == "BLOB")
    return content if binary else decode(content, column.collation)


def _temporal(text: bytes, column: ColumnDefinition) -> str:
    return text.decode().strip("'")


def _json(text: bytes, column: ColumnDefinition) -> Document:
    content = text[1:-1].replace(b"\\'", b"'")
    return Document(content.replace(b"\\\\", b"\\").decode())


def _bits(text: bytes, column: ColumnDefinition) -> int:
    return int(text[2:-1], 2)


class Approximate:
    """A FLOAT or DOUBLE printed with few digits; equal to any number that rounds to it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.digits = len(Decimal(text).as_tuple().digits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and float(f"{other:.{self.digits}g}") == float(self.text)

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text


def _number(text: bytes, column: ColumnDefinition) -> Approximate:
    return Approximate(text.decode().strip())


_READERS: dict[str, Callable[[bytes, ColumnDefinition], Any]] = {
    **dict.fromkeys(("INT", "LONGINT", "TINYINT", "SHORTINT", "MEDIUMINT", "YEAR"), _integer),
    **dict.fromkeys(("VARSTRING", "STRING", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB"), _string),
    **dict.fromkeys(("DATETIME", "TIMESTAMP", "TIME", "DATE"), _temporal),
    **dict.fromkeys(("DOUBLE", "FLOAT"), _number),
    "DECIMAL": lambda text, _: Decimal(text.decode()),
    "BIT": _bits,
    "JSON": _json,
}


def _seconds(moment: datetime) -> str:
    seconds = int(moment.replace(microsecond=0, tzinfo=timezone.utc).timestamp())
    return f"{seconds}.{moment.microsecond:06}" if moment.microsecond else str(seconds)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "TIMESTAMP": _seconds,
    "DATETIME": lambda moment: moment.isoformat(" "),
    "DATE": lambda day: f"{day:%Y:%m:%d}" if isinstance(day, date) else day,
    "BIT": int,
    "JSON": Document,
}


def differences(
    columns: Iterable[ColumnDefinition], image: dict[str, Any], printed: Image
) -> Iterator[tuple[str, Any, Any]]:
    """Return (column, decoded, printed) of the values that differ."""
    for number, column in enumerate(columns, 1):
        if number in printed:
            ours = comparable(image[column.name], printed[number])
            theirs = value_of(printed[number], column)
            if ours != theirs:
                yield column.name, ours, theirs
