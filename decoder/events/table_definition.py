"""Assembly of a table definition from the lists of a TABLE_MAP's optional metadata.

Each list covers the columns of certain types only: MySQL `sql/log_event.cc`, `is_numeric_type` and
similar functions; MariaDB `sql/log_event_server.cc`, `is_numeric_field` and similar functions, by
`Field::binlog_type_info`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from decoder.columns.charsets import decode
from decoder.constants import NUMERIC_TYPES, ColumnType
from decoder.events.header import EventHeader
from decoder.events.optional_metadata import DefaultCharset, OptionalMetadata
from decoder.model.definition import ColumnDefinition, TableDefinition

CHARACTER = frozenset(
    {
        ColumnType.STRING,
        ColumnType.VAR_STRING,
        ColumnType.VARCHAR,
        ColumnType.TINY_BLOB,
        ColumnType.BLOB,
        ColumnType.MEDIUM_BLOB,
        ColumnType.LONG_BLOB,
        # A subclass of BLOB in the server, so it has an entry in the lists of collations.
        ColumnType.VECTOR,
    }
)
"""Types with a collation in the charset fields; for binary types it is the binary collation."""

MARIADB_CHARACTER = CHARACTER | {
    ColumnType.BLOB_COMPRESSED,
    ColumnType.VARCHAR_COMPRESSED,
    # Like all BLOBs, it is listed, with the binary charset.
    ColumnType.GEOMETRY,
}
"""The same for MariaDB."""

ENUM_OR_SET = frozenset({ColumnType.ENUM, ColumnType.SET})

_FUNCTIONAL_INDEX = "!hidden!"
"""Prefix of the hidden column of a functional index in MySQL (sql/sql_table.cc)."""
_MARIADB_HASH = re.compile(r"DB_ROW_HASH_\d+")
"""The hidden BIGINT of a UNIQUE key on a BLOB in MariaDB (sql/sql_table.cc, make_long_hash)."""

_Column = dict[str, Any]


def define(
    schema: str,
    table: str,
    columns: list[_Column],
    optional: OptionalMetadata,
    header: EventHeader,
    *,
    mariadb: bool,
) -> TableDefinition:
    """Return the table's definition; `columns` are the ColumnDefinition fields known so far.

    Columns are named `c1`, `c2`, … if the log has no names. Raises MalformedError if the length of
    a list differs from the number of its columns, or a key refers to a column that does not exist.
    """
    assign = _Assignment(columns, header)
    assign.bits("unsigned", NUMERIC_TYPES, optional.signedness)
    assign.bits("visible", None, optional.visibility)
    assign.values("geometry_type", {ColumnType.GEOMETRY}, optional.geometry_type)
    assign.values("dimension", {ColumnType.VECTOR}, optional.dimensions)
    character = MARIADB_CHARACTER if mariadb else CHARACTER
    assign.collations(character, optional.default_charset, optional.column_charset)
    assign.collations(
        ENUM_OR_SET, optional.enum_and_set_default_charset, optional.enum_and_set_column_charset
    )
    assign.labels({ColumnType.ENUM}, optional.enum_labels)
    assign.labels({ColumnType.SET}, optional.set_labels)
    assign.values("name", None, optional.column_name or _unnamed(len(columns)))
    if len({column["name"] for column in columns}) < len(columns):
        raise header.malformed("two columns have the same name")
    hidden = [index for index, column in enumerate(columns) if _is_hidden(column, mariadb)]
    visible = [index for index in range(len(columns)) if index not in hidden]
    key = optional.primary_key or ()
    if any(index >= len(columns) for index, _ in key):
        raise header.malformed(
            f"the primary key refers to a column beyond the {len(columns)} of the table"
        )
    if any(index in hidden for index, _ in key):
        raise header.malformed("the primary key refers to a hidden column")
    defined = [ColumnDefinition(**column) for column in columns]
    return TableDefinition(
        schema=schema,
        table=table,
        columns=tuple(defined[index] for index in visible),
        hidden=tuple((index, defined[index]) for index in hidden),
        primary_key=tuple(visible.index(index) for index, _ in key),
        primary_key_prefixes=tuple(prefix for _, prefix in key),
        complete_metadata=optional.column_name is not None,
        named=optional.column_name is not None,
        signedness_logged=optional.signedness is not None or optional.column_name is not None,
    )


def _is_hidden(column: _Column, mariadb: bool) -> bool:
    if column["type"] == ColumnType.TYPED_ARRAY or column["name"].startswith(_FUNCTIONAL_INDEX):
        return True
    hash_like = column["type"] == ColumnType.LONGLONG and _MARIADB_HASH.fullmatch(column["name"])
    return mariadb and bool(hash_like)


def _unnamed(count: int) -> tuple[str, ...]:
    return tuple(f"c{number}" for number in range(1, count + 1))


class _Assignment:
    """An assignment of the values of lists, in order, to the columns of certain types."""

    def __init__(self, columns: list[_Column], header: EventHeader) -> None:
        self._columns = columns
        self._header = header

    def values(
        self,
        field: str,
        types: frozenset[ColumnType] | set[ColumnType] | None,
        values: Sequence[Any] | None,
        convert: Callable[[Any, _Column], Any] = lambda value, column: value,
    ) -> None:
        """Assign a value to each column of these types (None: all); do nothing without a list."""
        if values is None:
            return
        columns = self._of(types)
        if len(columns) != len(values):
            raise self._header.malformed(
                f"its optional metadata has {len(values)} values of {field} for "
                f"{len(columns)} columns"
            )
        for column, value in zip(columns, values, strict=True):
            column[field] = convert(value, column)

    def bits(
        self, field: str, types: frozenset[ColumnType] | None, bits: Sequence[bool] | None
    ) -> None:
        """Assign the bits of a list that is padded to whole bytes."""
        count = len(self._of(types))
        if bits is None:
            return
        padded = (count + 7) // 8 * 8
        self.values(field, types, bits[:count] if len(bits) == padded else bits)

    def collations(
        self,
        types: frozenset[ColumnType],
        default: DefaultCharset | None,
        each: Sequence[int] | None,
    ) -> None:
        """Assign collation ids, logged in either of two forms."""
        if default is not None:
            count = len(self._of(types))
            if any(index >= count for index, _ in default.exceptions):
                raise self._header.malformed(
                    "its optional metadata has a collation beyond the"
                    f" {count} columns that have collations"
                )
            each = [default.of(index) for index in range(count)]
        self.values("collation", types, each)

    def labels(self, types: set[ColumnType], labels: Sequence[tuple[bytes, ...]] | None) -> None:
        """Assign labels of ENUM or SET columns, decoded from the column's charset."""
        self.values("labels", types, labels, _decode_labels)

    def _of(self, types: frozenset[ColumnType] | set[ColumnType] | None) -> list[_Column]:
        return [column for column in self._columns if types is None or column["type"] in types]


def _decode_labels(labels: tuple[bytes, ...], column: _Column) -> tuple[str, ...]:
    return tuple(decode(label, column.get("collation")) for label in labels)
