"""An event in the output of `binlake inspect`: a row of a table, or a JSON object.

The header of an encrypted log is shown like an event, before the log's events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime, timezone
from enum import Enum, Flag
from typing import Any

from decoder.constants import MAGIC_ENCRYPTED
from decoder.encryption import HEADER_LENGTH, EncryptionHeader
from decoder.events import (
    AnonymousGtidEvent,
    CreateFileEvent,
    Event,
    FormatDescriptionEvent,
    GtidEvent,
    GtidTaggedEvent,
    LoadEvent,
    LoggedGtidSet,
    MariadbAnnotateRowsEvent,
    MariadbGtidEvent,
    MariadbGtidListEvent,
    PreviousGtidsEvent,
    QueryCompressedEvent,
    QueryEvent,
    RotateEvent,
    RowsEvent,
    RowsQueryEvent,
    StartV3Event,
    TableMapEvent,
    TransactionPayloadEvent,
    UnknownEvent,
)
from pipeline.observe.redaction import shown_statement

EVENT_COLUMNS = ("position", "type", "time", "server", "size", "what")
_HEADER = "ENCRYPTION_HEADER"
_STATEMENT = "query"
"""The field of events that hold a statement."""
_LONGEST = 200
"""Characters of a statement shown in a table; JSON has all."""


def encryption_header(data: Any) -> EncryptionHeader | None:
    """Return the encryption header of a file; None if it is not encrypted.

    Raises BinlogError if the header is malformed.
    """
    if data[: len(MAGIC_ENCRYPTED)] != MAGIC_ENCRYPTED:
        return None
    return EncryptionHeader.parse(data[:HEADER_LENGTH])


def header_object(header: EncryptionHeader, file: str) -> dict[str, Any]:
    """Return the header for JSON, bytes as hex. Positions are counted after it, so it has none."""
    return {
        "file": file,
        "position": None,
        "type": _HEADER,
        "size": HEADER_LENGTH,
        **_plain(header),
    }


def header_cells(header: EncryptionHeader) -> Sequence[str]:
    """Return the header as a row in the table of events."""
    details = ", ".join(f"{name} {value}" for name, value in _plain(header).items())
    return ("", _HEADER, "", "", str(HEADER_LENGTH), details)


def event_object(event: Event, file: str) -> dict[str, Any]:
    """Return all fields of the event for JSON: bytes as hex, flags by name."""
    header = event.header
    return {
        "file": file,
        "position": header.position,
        "payload_offset": header.payload_offset,
        "type": header.name,
        "timestamp": header.timestamp,
        "server_id": header.server_id,
        "size": header.size,
        "log_pos": header.log_pos,
        "flags": _plain(header.flags),
        **dict(_shown_fields(event)),
    }


def _shown_fields(event: Event) -> Iterator[tuple[str, Any]]:
    """Yield the event's own fields; statements without passwords."""
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == _STATEMENT:
            yield field.name, shown_statement(value)
        elif field.name != "header":
            yield field.name, _plain(value)


def _plain(value: Any) -> Any:
    """Return the value in JSON's own types."""
    if isinstance(value, LoggedGtidSet):
        return str(value)
    if isinstance(value, Flag):
        return _flag_names(value)
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _flag_names(value: Flag) -> list[str]:
    """Return the names of the set bits, and unnamed bits as one hex number."""
    named = [flag for flag in type(value) if flag in value]
    unnamed = int(value.value) & ~sum(int(flag.value) for flag in named)
    return [flag.name or "" for flag in named] + ([hex(unnamed)] if unnamed else [])


def event_cells(event: Event, tables: dict[int, str]) -> Sequence[str]:
    """Return the event as a row of the table.

    `tables`: table names by id, to which a TABLE_MAP is added.
    """
    if isinstance(event, TableMapEvent):
        tables[event.table_id] = str(event.definition)
    inside = event.header.payload_offset
    return (
        str(event.position) if inside is None else f"{event.position}+{inside}",
        event.name,
        datetime.fromtimestamp(event.timestamp, timezone.utc).strftime("%Y-%m-%d %H:%M:%S"),
        str(event.server_id),
        str(event.size),
        _DETAILS.get(type(event), _all_fields)(event, tables),
    )


def _format_description(event: FormatDescriptionEvent, tables: dict[int, str]) -> str:
    in_use = ", in use" if event.in_use else ""
    return f"{event.server_version}, checksums {event.checksum_algorithm.name}{in_use}"


def _gtid(event: GtidEvent, tables: dict[int, str]) -> str:
    if event.immediate_commit_timestamp is None:
        return event.gtid or ""
    committed = datetime.fromtimestamp(event.immediate_commit_timestamp / 1e6, timezone.utc)
    return f"{event.gtid or 'anonymous'} {committed:%H:%M:%S.%f}"


def _mariadb_gtid(event: MariadbGtidEvent, tables: dict[int, str]) -> str:
    return f"{event.gtid} {' '.join(_flag_names(event.flags2)).lower()}".strip()


def _load(event: LoadEvent, tables: dict[int, str]) -> str:
    return f"{event.schema}.{event.table} ({', '.join(event.columns)}) from {event.file_name}"


def _query(event: QueryEvent, tables: dict[int, str]) -> str:
    return _short(f"{event.schema}: {event.query}" if event.schema else event.query)


def _table_map(event: TableMapEvent, tables: dict[int, str]) -> str:
    columns = ", ".join(column.name for column in event.definition.columns)
    return f"{event.table_id} {event.definition} ({columns})"


def _rows(event: RowsEvent, tables: dict[int, str]) -> str:
    flags = " ".join(_flag_names(event.rows_flags)).lower()
    compressed = " compressed" if event.compressed else ""
    return f"{event.table_id} {tables.get(event.table_id, '')} {flags}{compressed}".strip()


def _payload(event: TransactionPayloadEvent, tables: dict[int, str]) -> str:
    inside = event.uncompressed_size
    return f"{event.compression.name}, {event.payload_size} bytes" + (
        "" if inside is None else f" of {inside}"
    )


def _unknown(event: UnknownEvent, tables: dict[int, str]) -> str:
    return f"{len(event.content)} bytes, not decoded"


def _all_fields(event: Event, tables: dict[int, str]) -> str:
    return _short(", ".join(f"{name} {value}" for name, value in _shown_fields(event)))


def _short(text: str) -> str:
    line = " ".join(shown_statement(text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


_DETAILS: dict[type[Event], Callable[[Any, dict[int, str]], str]] = {
    FormatDescriptionEvent: _format_description,
    GtidEvent: _gtid,
    AnonymousGtidEvent: _gtid,
    GtidTaggedEvent: _gtid,
    PreviousGtidsEvent: lambda event, tables: str(event.gtid_set),
    MariadbGtidEvent: _mariadb_gtid,
    MariadbGtidListEvent: lambda event, tables: ",".join(event.gtids),
    QueryEvent: _query,
    QueryCompressedEvent: _query,
    LoadEvent: _load,
    CreateFileEvent: _load,
    StartV3Event: lambda event, tables: f"{event.server_version}, version {event.binlog_version}",
    MariadbAnnotateRowsEvent: lambda event, tables: _short(event.query),
    RowsQueryEvent: lambda event, tables: _short(event.query),
    RotateEvent: lambda event, tables: event.next_file,
    TableMapEvent: _table_map,
    RowsEvent: _rows,
    TransactionPayloadEvent: _payload,
    UnknownEvent: _unknown,
}
"""Details by event type; other events list their fields by name."""
