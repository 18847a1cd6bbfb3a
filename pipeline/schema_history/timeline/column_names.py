"""Name the columns of a table map without full metadata, from a known definition.

Both are compared column by column: if they contradict each other, nothing is named. What the
table map has is taken from it (lengths, digits, and from MySQL 8 on signs and charsets); the
definition supplies the rest: names, labels, visibility, and so on.
"""

from __future__ import annotations

from dataclasses import replace

from decoder import TableDefinition
from decoder.constants import BINARY_COLLATION, NUMERIC_TYPES, ColumnType as T, LogicalType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import (
    UNKNOWN_COLLATION,
    alike,
    charset_in,
    collation_of,
    widest,
)

_CHARACTERS = (T.STRING, T.VARCHAR, T.BLOB)
_LABELLED = (T.ENUM, T.SET)
_SIGNED = NUMERIC_TYPES - {T.YEAR}
"""Types with a sign; YEAR is always unsigned to the server."""
_ALIKE = {
    T.NEWDATE: T.DATE,
    T.TIME2: T.TIME,
    T.DATETIME2: T.DATETIME,
    T.TIMESTAMP2: T.TIMESTAMP,
    T.VAR_STRING: T.VARCHAR,
    T.VARCHAR_COMPRESSED: T.VARCHAR,
    **dict.fromkeys((T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.BLOB_COMPRESSED), T.BLOB),
}
"""Types that are the same in DDL, mapped to one of them."""
_JSON_TEXT = ColumnDefinition("", T.BLOB, length_bytes=4, collation=collation_of("utf8mb4"))
"""MariaDB's JSON, which is LONGTEXT."""
_VARCHAR = ColumnDefinition("", T.VARCHAR)
_FLOAT_BYTES = 4
_BLOBS = {1: "TINY", 2: "", 3: "MEDIUM", 4: "LONG"}


class NotNamedError(ValueError):
    """A table map's columns cannot be named; the message is a clause without a final period."""


def with_names(
    shown: TableDefinition,
    known: TableDefinition,
    *,
    default_charset: str | None,
    complete: bool,
    hashes: int = 0,
) -> TableDefinition:
    """Return the columns of `shown`, named as in `known`; without a key.

    `default_charset` is that of text whose DDL names none. `complete`: all of `known` is from a
    table map. `hashes` is how many hidden hash columns of keys `shown` may have. Raises
    `NotNamedError`.
    """
    shown = _without_hashes(shown, len(known.columns), hashes)
    if len(shown.columns) != len(known.columns):
        names = ", ".join(column.name for column in known.columns)
        raise NotNamedError(
            f"it has {len(known.columns)} columns in its definition ({names}), but"
            f" {len(shown.columns)} in its table map"
        )
    columns = [
        _named(place, column, mine, shown.signedness_logged, default_charset)
        for place, (column, mine) in enumerate(zip(shown.columns, known.columns, strict=True), 1)
    ]
    return replace(
        shown,
        columns=tuple(columns),
        primary_key=(),
        primary_key_prefixes=(),
        complete_metadata=complete,
        named=True,
        signedness_logged=True,
    )


def with_logical_types(shown: TableDefinition, known: TableDefinition) -> TableDefinition:
    """Return a named table map's definition with MariaDB's own types from the known one."""
    by_name = {column.name.casefold(): column for column in known.columns}
    columns = (_with_logical(one, by_name.get(one.name.casefold())) for one in shown.columns)
    return replace(shown, columns=tuple(columns))


def _with_logical(shown: ColumnDefinition, known: ColumnDefinition | None) -> ColumnDefinition:
    stored = known and _as_stored(known, shown)
    if stored is None or stored.logical is None or not _agree(shown, stored):
        return shown
    return replace(shown, logical=stored.logical, dimension=stored.dimension)


def _as_stored(known: ColumnDefinition, shown: ColumnDefinition) -> ColumnDefinition:
    """Return a column of DDL as MariaDB logs it, if `shown` may be of one of MariaDB's types."""
    if known.type is T.JSON and _kind(shown) is T.BLOB:
        return replace(_JSON_TEXT, name=known.name, visible=known.visible)
    if known.type is T.VECTOR and shown.type is T.VARCHAR:
        return replace(
            known,
            type=T.VARCHAR,
            length=_FLOAT_BYTES * (known.dimension or 0),
            collation=BINARY_COLLATION,
            logical=LogicalType.VECTOR,
        )
    return known


def without_logical_types(known: TableDefinition) -> TableDefinition:
    """Return a definition as MariaDB's log alone shows it."""
    columns = (_as_stored(one, _VARCHAR) for one in known.columns)
    plain = (replace(one, logical=None, dimension=None) if one.logical else one for one in columns)
    return replace(known, columns=tuple(plain))


def _without_hashes(shown: TableDefinition, columns: int, hashes: int) -> TableDefinition:
    """Return the definition without MariaDB's hash columns of UNIQUE keys too long for an index.

    Each such key adds a hidden BIGINT after all columns (`sql/sql_table.cc`, `add_hash_field`).
    """
    more = shown.columns[columns:]
    if not 0 < len(more) <= hashes or any(one.type is not T.LONGLONG for one in more):
        return shown
    hidden = tuple(enumerate(more, columns))
    return replace(shown, columns=shown.columns[:columns], hidden=hidden)


def _named(
    place: int,
    shown: ColumnDefinition,
    known: ColumnDefinition,
    signed: bool,
    default_charset: str | None,
) -> ColumnDefinition:
    known = _as_stored(known, shown)
    if not signed:
        shown = replace(shown, unsigned=known.unsigned)
    if shown.collation is None:
        collation = _collation(place, known, default_charset)
        shown = replace(shown, collation=collation)
    if not _agree(shown, known):
        bare = replace(shown, name="")
        raise NotNamedError(
            f"column {place} is {_described(known)} in its definition, but {_described(bare)} in"
            " its table map"
        )
    return replace(
        shown,
        name=known.name,
        labels=known.labels,
        visible=known.visible,
        geometry_type=_first(shown.geometry_type, known.geometry_type),
        dimension=_first(shown.dimension, known.dimension),
        logical=known.logical,
    )


def _first(one: int | None, other: int | None) -> int | None:
    return other if one is None else one


def _collation(place: int, known: ColumnDefinition, default_charset: str | None) -> int | None:
    """Return the collation of a column whose table map has none."""
    if known.collation != UNKNOWN_COLLATION or _kind(known) not in _CHARACTERS:
        return known.collation
    if collation_of(default_charset) == UNKNOWN_COLLATION:
        raise NotNamedError(
            f"column {place} ({known.name}) is text, and neither the log nor its definition has"
            " its character set: set default_charset in the settings; a lake then needs binlake run"
            " --full-refresh"
        )
    return collation_of(default_charset)


def _kind(column: ColumnDefinition) -> T:
    return _ALIKE.get(column.type, column.type)


def _agree(shown: ColumnDefinition, known: ColumnDefinition) -> bool:
    """Return True if a table map's column can be the one of the definition."""
    kind = _kind(shown)
    if kind is not _kind(known):
        return False
    if kind in _SIGNED and shown.unsigned != known.unsigned:
        return False
    if kind in _CHARACTERS:
        return _same_charset(shown, known) and _same_length(shown, known)
    if not shown.fraction_logged:  # for dates and times only
        return True
    return all(
        getattr(shown, name) in (None, getattr(known, name)) for name in _PROPERTIES.get(kind, ())
    )


def _same_charset(shown: ColumnDefinition, known: ColumnDefinition) -> bool:
    one, other = shown.collation, known.collation
    if one is None or other is None or BINARY_COLLATION in (one, other):
        return one == other
    return other == UNKNOWN_COLLATION or alike(one, other)


def _same_length(shown: ColumnDefinition, known: ColumnDefinition) -> bool:
    """Compare lengths, of text in characters; the size of a TEXT(n) depends on its charset."""
    if _kind(shown) is T.BLOB:
        return known.collation != BINARY_COLLATION or shown.length_bytes == known.length_bytes
    if shown.type is T.VARCHAR_COMPRESSED:
        return True  # compression makes it longer
    return shown.length * widest(known.collation) == known.length * widest(shown.collation)


_PROPERTIES: dict[T, tuple[str, ...]] = {
    **dict.fromkeys((T.TIME, T.DATETIME, T.TIMESTAMP), ("fraction",)),
    T.GEOMETRY: ("geometry_type",),
    T.VECTOR: ("dimension",),
    **dict.fromkeys((T.BIT, T.ENUM, T.SET), ("length",)),
    T.NEWDECIMAL: ("precision", "scale"),
}
"""Properties that must be equal besides type and sign, if the table map has them."""


def _described(column: ColumnDefinition) -> str:
    """Describe a column in words, for messages."""
    kind = _kind(column)
    name = f"{column.name} " if column.name else ""
    sign = " UNSIGNED" if kind in _SIGNED and column.unsigned else ""
    charset = charset_in(column.collation) if kind in _CHARACTERS else ""
    shown = f" in {charset}" if charset not in ("", "binary") else ""
    return f"{name}{_type(kind, column)}{sign}{shown}"


def _type(kind: T, column: ColumnDefinition) -> str:
    if kind is T.NEWDECIMAL:
        return f"DECIMAL({column.precision},{column.scale})"
    if kind is T.BIT:
        return f"BIT({column.length})"
    if kind in (T.TIME, T.DATETIME, T.TIMESTAMP) and column.fraction:
        return f"{kind.name}({column.fraction})"
    if kind is T.BLOB:
        word = "BLOB" if column.collation == BINARY_COLLATION else "TEXT"
        return f"{_BLOBS.get(column.length_bytes, '')}{word}"
    if kind in (T.STRING, T.VARCHAR):
        return _string_type(kind, column)
    if kind in _LABELLED:
        return f"{kind.name} of {column.length} bytes"
    return _WORDS.get(kind, kind.name)


def _string_type(kind: T, column: ColumnDefinition) -> str:
    characters = column.length // widest(column.collation)
    if column.collation == BINARY_COLLATION:
        return f"{'BINARY' if kind is T.STRING else 'VARBINARY'}({column.length})"
    return f"{'CHAR' if kind is T.STRING else 'VARCHAR'}({characters})"


_WORDS = {
    T.TINY: "TINYINT",
    T.SHORT: "SMALLINT",
    T.INT24: "MEDIUMINT",
    T.LONG: "INT",
    T.LONGLONG: "BIGINT",
}
"""Types with another name in DDL than in the log."""
