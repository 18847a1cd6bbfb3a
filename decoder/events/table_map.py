"""TABLE_MAP: the definition of the table that the rows events after it refer to.

Format: MySQL `rows_event.cpp`, `Table_map_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import ColumnType
from decoder.events.column_metadata import parse_column_metadata
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.optional_metadata import parse_optional_metadata
from decoder.events.table_definition import define
from decoder.model.definition import TableDefinition

_POST_HEADER_LENGTH = 8
_SHORT_POST_HEADER_LENGTH = 6
_MAX_NAME_BYTES = 192
"""64 characters of utf8mb3."""
_MAX_COLUMNS = 4096
_TYPES = frozenset(int(code) for code in ColumnType)


@dataclass(frozen=True, slots=True)
class TableMapEvent(Event):
    """A table's definition and the id by which rows events refer to it."""

    table_id: int
    """u48 (u32 before 5.1.4)."""
    table_flags: int
    """u16: bit 0, BIT columns have exact lengths; 1, a foreign key references or is referenced by
    another table; 2, the primary key was generated."""
    definition: TableDefinition
    """Length-encoded length, schema, zero byte; length-encoded length, table, zero byte;
    length-encoded number of columns, a u8 type for each; length-encoded size of the type metadata
    of all columns, the metadata; a NULLable bit per column, lowest first; the optional metadata."""

    @classmethod
    def parse(cls, body: Cursor) -> TableMapEvent:
        """Read the event."""
        table_id, table_flags = read_table_id(body)
        schema = _name(body)
        table = _name(body)
        count = body.length_encoded()
        if not 0 < count <= _MAX_COLUMNS:
            raise body.malformed(f"its column count {count} is not between 1 and {_MAX_COLUMNS}")
        types = [_column_type(code, body) for code in body.take(count)]
        metadata = body.part(body.length_encoded())
        mariadb = body.mariadb
        columns = [parse_column_metadata(kind, metadata, mariadb=mariadb) for kind in types]
        if metadata.remaining:
            raise body.malformed(
                f"its column metadata is {metadata.remaining} bytes longer than its columns need"
            )
        nullable = body.take((count + 7) // 8)
        for index, column in enumerate(columns):
            column["nullable"] = bool(nullable[index // 8] >> index % 8 & 1)
        optional = parse_optional_metadata(body)
        definition = define(schema, table, columns, optional, body.header, mariadb=mariadb)
        return cls(body.header, table_id, table_flags, definition)


def read_table_id(body: Cursor) -> tuple[int, int]:
    """Read the table id and the u16 of flags at the start of TABLE_MAP and rows events."""
    length = body.post_header_length(body.header.type, _POST_HEADER_LENGTH)
    table_id = body.u32() if length == _SHORT_POST_HEADER_LENGTH else body.u48()
    return table_id, body.u16()


def _name(cursor: Cursor) -> str:
    length = cursor.length_encoded()
    if length > _MAX_NAME_BYTES:
        raise cursor.malformed(f"a name has {length} bytes; the limit is {_MAX_NAME_BYTES}")
    return cursor.name(length)


def _column_type(code: int, body: Cursor) -> ColumnType:
    if code not in _TYPES:
        raise body.malformed(f"the column type {code} is unknown")
    return ColumnType(code)
