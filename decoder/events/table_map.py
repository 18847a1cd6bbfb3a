"""TABLE_MAP: the definition of the table that the rows events after it refer to.

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
            raise cursor.malformed(f"its column count {count} is not between 1 and {_MAX_COLUMNS}")
        types = [_column_type(code, header) for code in cursor.take(count)]
        metadata = cursor.part(cursor.length_encoded())
        mariadb = description.mariadb
        columns = [parse_column_metadata(kind, metadata, mariadb=mariadb) for kind in types]
        if metadata.remaining:
            raise header.malformed(
                f"its column metadata is {metadata.remaining} bytes longer than its columns need"
            )
        nullable = cursor.take((count + 7) // 8)
        for index, column in enumerate(columns):
            column["nullable"] = bool(nullable[index // 8] >> index % 8 & 1)
        optional = parse_optional_metadata(cursor)
        definition = define(schema, table, columns, optional, header, mariadb=mariadb)
        return cls(header, table_id, table_flags, definition)


def read_table_id(
    cursor: Cursor, header: EventHeader, description: FormatDescriptionEvent
) -> tuple[int, int]:
    """Read the table id and the u16 of flags at the start of TABLE_MAP and rows events."""
    length = description.post_header_length(header.type, _POST_HEADER_LENGTH)
    table_id = cursor.u32() if length == _SHORT_POST_HEADER_LENGTH else cursor.u48()
    return table_id, cursor.u16()


def _name(cursor: Cursor) -> str:
    length = cursor.length_encoded()
    if length > _MAX_NAME_BYTES:
        raise cursor.malformed(f"a name has {length} bytes; the limit is {_MAX_NAME_BYTES}")
    name = cursor.text(length)
    if cursor.u8():
        raise cursor.malformed("a name is not terminated by a zero byte")
    return name


def _column_type(code: int, header: EventHeader) -> ColumnType:
    if code not in _TYPES:
        raise header.malformed(f"the column type {code} is unknown")
    return ColumnType(code)
