"""Conversions from and to MariaDB's UUID, INET4, INET6 and VECTOR.

Their bytes are as logged. In strict mode a value that is invalid in the new type makes the
statement fail; which texts are valid is decided as narrowly as in `addresses`, and others are
unknown.
"""

from __future__ import annotations

from decoder.columns.addresses import BYTES, CHARACTERS
from decoder.constants import ColumnType as T, LogicalType
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.alter import text_conversions
from pipeline.catalog.ddl.conversion_mode import (
    EXTENDED,
    LOGICAL,
    MAPPED,
    STORED,
    ConversionMode,
    UnknownConversionError,
)


def _kind(column: ColumnDefinition) -> LogicalType:
    """Return the logical type; a VECTOR declared by DDL has none until a table map shows it."""
    return column.logical or LogicalType.VECTOR


def to_text(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert an address to its text, in any charset."""
    if text_conversions.characters(new) < CHARACTERS[_kind(old)]:
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
    if capacity < BYTES[_kind(old)]:
        mode.require_strict("its length becomes smaller")
    return f"{STORED}:{fixed}"


def from_bytes(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert bytes to the type they encode; a BINARY may have been of such a type all along."""
    kind = _kind(new)
    mode.require_strict(f"bytes become {kind.value}")
    if old.type is T.STRING and old.length != BYTES.get(kind, old.length):
        raise UnknownConversionError("an INET4 may become an INET6, or the reverse")
    return f"{LOGICAL}:{kind.value}"


def mapped(_old: ColumnDefinition, _new: ColumnDefinition, _mode: ConversionMode) -> str | None:
    """Convert an INET4 to an INET6."""
    return MAPPED


def vector(old: ColumnDefinition, new: ColumnDefinition, mode: ConversionMode) -> str | None:
    """Convert a vector: MySQL keeps its numbers, MariaDB pads it with zeros."""
    before, after = old.dimension or 0, new.dimension or 0
    if after < before:
        raise UnknownConversionError("a VECTOR gets fewer dimensions")
    return f"{EXTENDED}:{after}" if mode.mariadb and after > before else None
