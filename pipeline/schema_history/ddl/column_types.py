"""Parse a column's type into the `ColumnDefinition` that its table map will have.

Source of the spellings: the `type` rule of MySQL's `sql/sql_yacc.yy`. DDL alone does not determine
the collation, and thus the bytes per character; a table map settles both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from decoder.constants import ADDRESS_BYTES, BINARY_COLLATION, ColumnType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import UNKNOWN_COLLATION, charset_of, collation_of, widest
from pipeline.schema_history.ddl.cursor import ReadError, TokenCursor, split
from pipeline.schema_history.ddl.lexer import Kind, SqlMode, Token

_GEOMETRY = {
    "GEOMETRY": 0,
    "POINT": 1,
    "LINESTRING": 2,
    "POLYGON": 3,
    "MULTIPOINT": 4,
    "MULTILINESTRING": 5,
    "MULTIPOLYGON": 6,
    "GEOMETRYCOLLECTION": 7,
    "GEOMCOLLECTION": 7,
}
_FIXED = {
    **dict.fromkeys(("TINYINT", "INT1", "BOOL", "BOOLEAN"), ColumnDefinition("", ColumnType.TINY)),
    **dict.fromkeys(("SMALLINT", "INT2"), ColumnDefinition("", ColumnType.SHORT)),
    **dict.fromkeys(("MEDIUMINT", "MIDDLEINT", "INT3"), ColumnDefinition("", ColumnType.INT24)),
    **dict.fromkeys(("INT", "INTEGER", "INT4"), ColumnDefinition("", ColumnType.LONG)),
    **dict.fromkeys(("BIGINT", "INT8"), ColumnDefinition("", ColumnType.LONGLONG)),
    "SERIAL": ColumnDefinition("", ColumnType.LONGLONG, unsigned=True, nullable=False),
    "YEAR": ColumnDefinition("", ColumnType.YEAR),
    "DATE": ColumnDefinition("", ColumnType.DATE),
    "JSON": ColumnDefinition("", ColumnType.JSON, length_bytes=4),
    **{
        kind: ColumnDefinition("", ColumnType.GEOMETRY, geometry_type=number, length_bytes=4)
        for kind, number in _GEOMETRY.items()
    },
    **{
        kind.value: ColumnDefinition(
            "",
            ColumnType.STRING,
            length=length,
            length_bytes=1,
            collation=BINARY_COLLATION,
            logical=kind,
        )
        for kind, length in ADDRESS_BYTES.items()
    },
}
"""Types without parameters, or with a display width."""
_TEMPORAL = {
    "TIME": ColumnType.TIME2,
    "DATETIME": ColumnType.DATETIME2,
    "TIMESTAMP": ColumnType.TIMESTAMP2,
}
_BLOBS = {"TINY": 1, "": 2, "MEDIUM": 3, "LONG": 4}
"""Bytes of the length prefix by the word before BLOB or TEXT."""
_DEFAULT_DECIMAL = (10, 0)
_DEFAULT_DIMENSION = 2048


def read_type(
    cursor: TokenCursor, name: str, sql_mode: int, charset: str | None = None
) -> ColumnDefinition:
    """Read a type and the attributes that belong to it.

    `charset` is the table's, if DDL names one. Raises `ReadError` if the type is unknown.
    """
    word = cursor.next()
    if word.kind is not Kind.WORD:
        raise ReadError(f"expected a type, found {word.text!r}")
    kind = word.text.upper()
    if kind in _FIXED:
        cursor.skip_group()
        column = _FIXED[kind]
    elif kind in _READERS:
        column = _READERS[kind](cursor, kind, sql_mode)
    else:
        raise ReadError(f"column {name} has the unknown type {kind}")
    charset = "utf8mb3" if kind in _NATIONAL else charset
    return _attributes(cursor, replace(column, name=name), charset)


def _length(cursor: TokenCursor, default: int) -> int:
    """Read an optional single number in parentheses."""
    if not cursor.peek().is_sign("("):
        return default
    return TokenCursor(cursor.group()).integer()


def _numbers(cursor: TokenCursor) -> list[int]:
    """Read optional numbers in parentheses."""
    if not cursor.peek().is_sign("("):
        return []
    return [TokenCursor(part).integer() for part in split(cursor.group())]


def _temporal(cursor: TokenCursor, word: str, _sql_mode: int) -> ColumnDefinition:
    return ColumnDefinition("", _TEMPORAL[word], fraction=_length(cursor, 0))


def _decimal(cursor: TokenCursor, _word: str, _sql_mode: int) -> ColumnDefinition:
    precision, scale = (*(_numbers(cursor) or _DEFAULT_DECIMAL), 0)[:2]
    return ColumnDefinition("", ColumnType.NEWDECIMAL, precision=precision or 10, scale=scale)


def _float(cursor: TokenCursor, word: str, sql_mode: int) -> ColumnDefinition:
    if cursor.accept("PRECISION"):
        word = "DOUBLE"
    numbers = _numbers(cursor)
    single = word in ("FLOAT", "FLOAT4") or (
        word == "REAL" and bool(sql_mode & SqlMode.REAL_AS_FLOAT)
    )
    if len(numbers) == 1 and numbers[0] > 24:  # FLOAT(p) names a precision in bits
        single = False
    kind = ColumnType.FLOAT if single else ColumnType.DOUBLE
    if len(numbers) < 2:
        return ColumnDefinition("", kind)
    return ColumnDefinition("", kind, precision=numbers[0], scale=numbers[1])


def _char(cursor: TokenCursor, word: str, _sql_mode: int) -> ColumnDefinition:
    varying = word in ("VARCHAR", "NVARCHAR", "VARCHARACTER")
    if word == "NATIONAL":
        varying = (cursor.accept_any("CHAR", "CHARACTER", "VARCHAR") or "") == "VARCHAR"
    varying = cursor.accept("VARYING") or cursor.accept("VARCHAR") or varying
    length = _length(cursor, 1) * widest(UNKNOWN_COLLATION)
    return _string(length, UNKNOWN_COLLATION, varying=varying)


def _binary(cursor: TokenCursor, word: str, _sql_mode: int) -> ColumnDefinition:
    varying = cursor.accept("VARYING") or word == "VARBINARY"
    return _string(_length(cursor, 1), BINARY_COLLATION, varying=varying)


def _string(length: int, collation: int, *, varying: bool) -> ColumnDefinition:
    kind = ColumnType.VARCHAR if varying else ColumnType.STRING
    prefix = _prefix(length)
    return ColumnDefinition("", kind, length=length, length_bytes=prefix, collation=collation)


def _prefix(length: int) -> int:
    return 1 if length < 256 else 2


def _blob(cursor: TokenCursor, word: str, _sql_mode: int) -> ColumnDefinition:
    binary = word.endswith("BLOB")
    prefix = _BLOBS[word.removesuffix("BLOB").removesuffix("TEXT")]
    if word in ("BLOB", "TEXT") and cursor.peek().is_sign("("):
        size = _length(cursor, 0) * (1 if binary else widest(UNKNOWN_COLLATION))
        prefix = next(n for n in (1, 2, 3, 4) if size < 1 << 8 * n or n == 4)
    return _blob_of(prefix, binary=binary)


def _long(cursor: TokenCursor, _word: str, _sql_mode: int) -> ColumnDefinition:
    """Read LONG [VARCHAR], LONG CHAR VARYING or LONG VARBINARY: MEDIUMTEXT and MEDIUMBLOB."""
    if cursor.accept("VARBINARY"):
        return _blob_of(3, binary=True)
    if not cursor.accept("VARCHAR") and cursor.accept_any("CHAR", "CHARACTER"):
        cursor.accept("VARYING")
    return _blob_of(3, binary=False)


def _blob_of(prefix: int, *, binary: bool) -> ColumnDefinition:
    collation = BINARY_COLLATION if binary else None
    return ColumnDefinition("", ColumnType.BLOB, length_bytes=prefix, collation=collation)


def _labels(cursor: TokenCursor, word: str, _sql_mode: int) -> ColumnDefinition:
    labels = tuple(_label(part) for part in split(cursor.group()))
    if word == "ENUM":
        length = 1 if len(labels) < 256 else 2
        return ColumnDefinition("", ColumnType.ENUM, labels=labels, length=length)
    packed = (len(labels) + 7) // 8
    length = 8 if packed > 4 else packed
    return ColumnDefinition("", ColumnType.SET, labels=labels, length=length)


def _label(part: list[Token]) -> str:
    """Return a label: a string, whose trailing spaces the server drops, or bytes."""
    token = part[-1] if part else None
    if token is None or token.kind not in (Kind.STRING, Kind.BYTES):
        raise ReadError("expected the labels of an ENUM or SET")
    if token.kind is Kind.BYTES:
        return bytes.fromhex(token.text).decode("utf-8", "replace")
    return token.text.rstrip(" ")


def _bit(cursor: TokenCursor, _word: str, _sql_mode: int) -> ColumnDefinition:
    return ColumnDefinition("", ColumnType.BIT, length=_length(cursor, 1))


def _vector(cursor: TokenCursor, _word: str, _sql_mode: int) -> ColumnDefinition:
    dimension = _length(cursor, _DEFAULT_DIMENSION)
    return ColumnDefinition("", ColumnType.VECTOR, dimension=dimension, length_bytes=4)


_READERS: dict[str, Callable[[TokenCursor, str, int], ColumnDefinition]] = {
    **dict.fromkeys(_TEMPORAL, _temporal),
    **dict.fromkeys(("DECIMAL", "DEC", "NUMERIC", "FIXED"), _decimal),
    **dict.fromkeys(("FLOAT", "FLOAT4", "DOUBLE", "FLOAT8", "REAL"), _float),
    **dict.fromkeys(
        ("CHAR", "CHARACTER", "VARCHAR", "VARCHARACTER", "NCHAR", "NVARCHAR", "NATIONAL"), _char
    ),
    **dict.fromkeys(("BINARY", "VARBINARY"), _binary),
    **{f"{size}{kind}": _blob for size in _BLOBS for kind in ("BLOB", "TEXT")},
    "LONG": _long,
    "ENUM": _labels,
    "SET": _labels,
    "BIT": _bit,
    "VECTOR": _vector,
}

_NATIONAL = ("NCHAR", "NVARCHAR", "NATIONAL")
_SHORTHANDS = {"ASCII": "latin1", "UNICODE": "ucs2"}
_TEXT = (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.BLOB, ColumnType.ENUM, ColumnType.SET)


def _attributes(
    cursor: TokenCursor, column: ColumnDefinition, charset: str | None
) -> ColumnDefinition:
    """Apply UNSIGNED, ZEROFILL and the charset, which belong to the type."""
    while True:
        if cursor.accept_any("UNSIGNED", "ZEROFILL"):
            column = replace(column, unsigned=True)
        elif (named := accept_charset(cursor)) is not None:
            charset = named or charset
        elif cursor.accept("COMPRESSED"):  # MariaDB's
            if cursor.accept_sign("="):
                cursor.next()
        elif cursor.accept("BYTE"):
            charset = "binary"
        elif shorthand := cursor.accept_any(*_SHORTHANDS):
            charset = _SHORTHANDS[shorthand]
        elif not cursor.accept_any("SIGNED", "BINARY"):
            return with_charset(column, charset)


def accept_charset(cursor: TokenCursor) -> str | None:
    """Skip a CHARACTER SET or COLLATE clause and return its charset; None if there is none.

    The charset is empty if the collation's name does not tell it.
    """
    if cursor.accept("CHARSET") or cursor.accept("CHARACTER", "SET"):
        cursor.accept_sign("=")
        return cursor.string_or_name().lower()
    if cursor.accept("COLLATE"):
        cursor.accept_sign("=")
        return charset_of(cursor.string_or_name()) or ""
    return None


def with_charset(column: ColumnDefinition, charset: str | None) -> ColumnDefinition:
    """Return a text column in a charset (None: only the server knows it; `binary`: as bytes)."""
    if column.type not in _TEXT or column.collation == BINARY_COLLATION:
        return column
    collation = collation_of(charset)
    if column.type in (ColumnType.ENUM, ColumnType.SET):
        return replace(
            column, collation=UNKNOWN_COLLATION if collation == BINARY_COLLATION else collation
        )
    if column.type is ColumnType.BLOB:
        return replace(column, collation=collation)
    length = column.length // widest(column.collation) * widest(collation)
    return replace(column, collation=collation, length=length, length_bytes=_prefix(length))
