"""TABLE_MAP: the table that the rows events after it belong to, as it was when they were logged.

Format: MySQL `rows_event.cpp`, `Table_map_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import ColumnType
from decoder.events.column_metadata import parse_column_metadata
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
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
    """Gives a table's definition a number, under which rows events refer to it."""

    table_id: int
    """u48 (u32 before 5.1.4)."""
    table_flags: int
    """u16: bit 0, BIT columns have exact lengths; 1, a foreign key refers to or from another table;
    2, the primary key was generated."""
    definition: TableDefinition
    """Length-encoded length, schema, zero byte; length-encoded length, table, zero byte;
    length-encoded number of columns, a u8 type for each; length-encoded size of all columns' type
    metadata, the metadata; a NULLable bit for each, lowest first; then the optional metadata."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> TableMapEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        table_id, table_flags = read_table_id(cursor, header, description)
        schema = _name(cursor)
        table = _name(cursor)
        count = cursor.length_encoded()
        if not 0 < count <= _MAX_COLUMNS:
            raise cursor.malformed(f"a table of {count} columns: there are 1 to {_MAX_COLUMNS}")
        types = [_column_type(code, header) for code in cursor.take(count)]
        metadata = cursor.part(cursor.length_encoded())
        mariadb = description.mariadb
        columns = [parse_column_metadata(kind, metadata, mariadb=mariadb) for kind in types]
        if metadata.remaining:
            raise header.malformed(f"{metadata.remaining} bytes of column metadata are left over")
        nullable = cursor.take((count + 7) // 8)
        for index, column in enumerate(columns):
            column["nullable"] = bool(nullable[index // 8] >> index % 8 & 1)
        optional = parse_optional_metadata(cursor)
        definition = define(schema, table, columns, optional, header, mariadb=mariadb)
        return cls(header, table_id, table_flags, definition)


def read_table_id(
    cursor: Cursor, header: EventHeader, description: FormatDescriptionEvent
) -> tuple[int, int]:
    """The table's id and the u16 of flags with which TABLE_MAP and rows events begin."""
    length = description.post_header_length(header.type, _POST_HEADER_LENGTH)
    table_id = cursor.u32() if length == _SHORT_POST_HEADER_LENGTH else cursor.u48()
    return table_id, cursor.u16()


def _name(cursor: Cursor) -> str:
    length = cursor.length_encoded()
    if length > _MAX_NAME_BYTES:
        raise cursor.malformed(f"a name of {length} bytes is longer than {_MAX_NAME_BYTES}")
    name = cursor.text(length)
    if cursor.u8():
        raise cursor.malformed("a name is not followed by a zero byte")
    return name


def _column_type(code: int, header: EventHeader) -> ColumnType:
    if code not in _TYPES:
        raise header.malformed(f"a column has the type {code}, which no server we know of writes")
    return ColumnType(code)
