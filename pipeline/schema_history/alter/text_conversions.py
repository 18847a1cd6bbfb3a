"""Conversions of text, bytes and labels, and of MariaDB's UUID, INET4, INET6 and VECTOR.

They depend on how long a value may be. The bytes of MariaDB's types are as logged. In strict mode a
value that is invalid in the new type makes the statement fail; which texts are valid is decided as
narrowly as in `addresses`, and others are unknown.
"""

from __future__ import annotations

import json
import unicodedata

from decoder.constants import ADDRESS_BYTES, ADDRESS_CHARACTERS, ColumnType as T, LogicalType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import UNKNOWN_COLLATION, alike, widest
from pipeline.schema_history.ddl.conversion_mode import (
    EXTENDED,
    LABEL,
    LOGICAL,
    PAD,
    RTRIM,
    SHORTEN,
    STORED,
    ConversionMode,
    UnknownValueError,
)
from pipeline.schema_history.ddl.lexer import SqlMode

_LARGEST_VALUE = (1 << 30) - 1
"""In bytes: no value exceeds a packet, and max_allowed_packet is at most 1 GiB."""


def characters(column: ColumnDefinition) -> int:
    """Return how many characters certainly fit: a declared length counts four bytes for each."""
    return _capacity(column) // widest(column.collation)


def _capacity(column: ColumnDefinition) -> int:
    """Return how many bytes fit."""
    return (1 << 8 * column.length_bytes) - 1 if _is_blob(column) else column.length


def _longest(column: ColumnDefinition) -> int:
    """Return the characters of the longest possible value."""
    return min(_capacity(column), _LARGEST_VALUE) if _is_blob(column) else characters(column)


def _is_blob(column: ColumnDefinition) -> bool:
    return "BLOB" in column.type.name


def text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert text of any length."""
    if old.type is T.STRING and mode.sql_mode & SqlMode.PAD_CHAR_TO_FULL_LENGTH:
        raise UnknownValueError("a CHAR read with its padding (PAD_CHAR_TO_FULL_LENGTH)")
    mode.require_text_kept()
    if _is_blob(old) and _is_blob(new) and _same_bytes(old, new, mode):
        return None
    return _fitting(_longest(old), new, mode, trimmed=old.type is T.STRING)


def _same_bytes(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> bool:
    """Return True if TEXT certainly keeps its charset, and its capacity does not shrink."""
    if old.collation is None or new.collation in (None, UNKNOWN_COLLATION):
        return False
    certain = mode.shown or old.collation != UNKNOWN_COLLATION
    return certain and alike(old.collation, new.collation) and new.length_bytes >= old.length_bytes


def _fitting(
    longest: int, new: ColumnDefinition, mode: ConversionMode, *, trimmed: bool
) -> str | None:
    """Convert text of at most `longest` characters; `trimmed`: it has no trailing spaces."""
    short = characters(new) < longest
    if short:
        mode.require_strict("its length becomes smaller")
    if new.type is T.STRING:
        return None if trimmed else RTRIM
    if not short or trimmed:
        return None
    if _is_blob(new):
        raise UnknownValueError("its length in bytes becomes smaller")
    return f"{SHORTEN}:{characters(new)}"


def binary(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert bytes of any length."""
    if _capacity(new) < _capacity(old):
        mode.require_strict("its length becomes smaller")
    if new.type is not T.STRING:
        return None
    fixed = old.type is T.STRING and old.length == new.length
    return None if fixed else f"{PAD}:{new.length}"


def _loose(label: str) -> str:
    """Return a normal form that labels share if some collation may treat them as equal."""
    parts = unicodedata.normalize("NFKD", label.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char)).rstrip()


def enum(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert ENUM labels, which keep their text."""
    gone = [label for label in old.labels if label not in new.labels]
    if gone:
        mode.require_strict(f"label {gone[0]!r} is removed")
    respelled = {_loose(label) for label in gone} & {_loose(label) for label in new.labels}
    if respelled:
        raise UnknownValueError("the spelling of a label changes")
    return None


def text_to_enum(_old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert text spelled exactly like a label: which label a collation would match is unknown."""
    mode.require_strict("text becomes a label")
    return f"{LABEL}:{json.dumps(new.labels, ensure_ascii=False)}"


def set_(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert SET labels, which keep their texts in declaration order."""
    enum(old, new, mode)
    kept = [label for label in new.labels if label in old.labels]
    if kept != [label for label in old.labels if label in new.labels]:
        raise UnknownValueError("the order of the labels of a SET changes")
    return None


def labels_to_text(
    old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode
) -> str | None:
    """Convert one label or several to text as the server prints them."""
    mode.require_text_kept()
    lengths = [len(label) for label in old.labels]
    longest = max(lengths) if old.type is T.ENUM else sum(lengths) + len(lengths)
    return _fitting(longest, new, mode, trimmed=True)


def _kind(column: ColumnDefinition) -> LogicalType:
    """Return the logical type; a VECTOR declared by DDL has none until a table map shows it."""
    return column.logical or LogicalType.VECTOR


def to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert an address to its text, in any charset."""
    if characters(new) < ADDRESS_CHARACTERS[_kind(old)]:
        mode.require_strict("its length becomes smaller")
    return None


def from_text(_old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert text to an address."""
    kind = _kind(new).value
    mode.require_strict(f"text becomes {kind}")
    return f"{LOGICAL}:{kind}"


def to_bytes(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert an address to its logged bytes, zero-padded to the length of a BINARY."""
    fixed = new.length if new.type is T.STRING else 0
    capacity = new.length or (1 << 8 * new.length_bytes) - 1
    if capacity < ADDRESS_BYTES[_kind(old)]:
        mode.require_strict("its length becomes smaller")
    return f"{STORED}:{fixed}"


def from_bytes(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert bytes to the type they encode; a BINARY may have been of such a type all along."""
    kind = _kind(new)
    mode.require_strict(f"bytes become {kind.value}")
    if old.type is T.STRING and old.length != ADDRESS_BYTES.get(kind, old.length):
        raise UnknownValueError("an INET4 may become an INET6, or the reverse")
    return f"{LOGICAL}:{kind.value}"


def vector(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert a vector: MySQL keeps its numbers, MariaDB pads it with zeros."""
    before, after = old.dimension or 0, new.dimension or 0
    if after < before:
        raise UnknownValueError("a VECTOR gets fewer dimensions")
    return f"{EXTENDED}:{after}" if mode.mariadb and after > before else None
