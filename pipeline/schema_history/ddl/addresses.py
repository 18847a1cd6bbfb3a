"""Parse MariaDB's UUID, INET4 and INET6 in DDL and dumps into the bytes that it logs.

Source: MariaDB's `plugin/type_uuid` and `plugin/type_inet`. The decoder does the reverse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from decoder.constants import ADDRESS_BYTES, BINARY_COLLATION, ColumnType, LogicalType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.lexer import Kind, Token

_LIKE_ADDRESS = re.compile("[0-9a-f]*[:.-][0-9a-f:.-]*", re.IGNORECASE)
_UUID = re.compile("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE)


def may_be_address(column: ColumnDefinition) -> bool:
    """Return True if a table map's BINARY column without known DDL may have such a type."""
    binary = column.type is ColumnType.STRING and column.collation == BINARY_COLLATION
    return binary and column.logical is None and column.length in ADDRESS_BYTES.values()


def default_in_bytes(kind: LogicalType, default: Sequence[Token]) -> tuple[Token, ...]:
    """Return a DEFAULT of such a column with its text as bytes, or as unknown."""
    if _is_introduced(default):
        return (_unknown(kind),)
    return tuple(_in_bytes(kind, token) for token in default)


def changed_default(column: ColumnDefinition, default: Sequence[Token]) -> tuple[Token, ...]:
    """Return a DEFAULT set by ALTER COLUMN, which does not show the column's type."""
    if column.logical is not None and column.logical in ADDRESS_BYTES:
        return default_in_bytes(column.logical, default)
    if not may_be_address(column):
        return tuple(default)
    kinds = [kind for kind, length in ADDRESS_BYTES.items() if length == column.length]
    found = tuple(_guarded(column, kinds, token) for token in default)
    changed = _is_introduced(default) and found != tuple(default)
    return (_unknown(kinds[0]),) if changed else found


def address_in_bytes(text: str, kind: LogicalType | None = None) -> bytes | None:
    """Return the logged bytes of a value's text, or None if invalid.

    Without a `kind`, the text is as a server prints it: INET6 always has a colon, UUID has neither
    colon nor dot, INET4 has dots only.
    """
    if kind is None:
        inet = LogicalType.INET6 if ":" in text else LogicalType.INET4
        kind = inet if ":" in text or "." in text else LogicalType.UUID
    return _READERS[kind](text)


def _unknown(kind: LogicalType) -> Token:
    """Return a token that evaluates to no constant."""
    return Token(Kind.WORD, kind.value)


def _is_introduced(default: Sequence[Token]) -> bool:
    return any(token.kind is Kind.WORD and token.text.startswith("_") for token in default)


def _guarded(column: ColumnDefinition, kinds: Sequence[LogicalType], token: Token) -> Token:
    """Return text too long for the BINARY as an address; text that may be either is unknown."""
    if token.kind is not Kind.STRING:
        return token
    if len(token.text) <= column.length:
        return _unknown(kinds[0]) if _LIKE_ADDRESS.fullmatch(token.text) else token
    read = (_in_bytes(kind, token) for kind in kinds)
    known = (found for found in read if found.kind is Kind.BYTES)
    return next(known, _unknown(kinds[0]))


def _in_bytes(kind: LogicalType, token: Token) -> Token:
    if token.kind is not Kind.STRING:
        return token
    raw = _READERS[kind](token.text)
    return _unknown(kind) if raw is None else Token(Kind.BYTES, raw.hex())


def _uuid(text: str) -> bytes | None:
    return bytes.fromhex(text.replace("-", "")) if _UUID.fullmatch(text) else None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _inet4(text: str) -> bytes | None:
    address = _address(text)
    return address.packed if isinstance(address, IPv4Address) else None


def _inet6(text: str) -> bytes | None:
    address = _address(text)
    if isinstance(address, IPv4Address):  # MariaDB 11.3 and later
        return IPv6Address(f"::ffff:{address}").packed
    return address.packed if address else None


_READERS = {LogicalType.INET4: _inet4, LogicalType.INET6: _inet6, LogicalType.UUID: _uuid}
