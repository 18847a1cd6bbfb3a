"""The fuzz targets: each takes any bytes, and may raise only BinlogError."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import decoder
from decoder import BinlogError, Framer, Keys, TypeOptions
from decoder.columns.json_diffs import read_json_diffs
from decoder.columns.registry import row_type
from decoder.constants import HEADER_LENGTH, ColumnType, EventType as T
from decoder.events.cursor import Cursor
from decoder.events.gtid_set import parse_gtid_set
from decoder.events.header import EventHeader
from decoder.events.mariadb_compression import uncompress
from decoder.events.rows import RowsEvent
from decoder.events.table_map import TableMapEvent
from decoder.rows.image_layout import layout_of
from pipeline.source.capture.dump_stream import DumpStream
from pipeline.source.capture.errors import BrokenDumpError, DumpRefusedError
from tests.fuzz import corpus
from tests.fuzz.cell_types import read_cell, seeds_of_cells
from tests.support.decoder.binary_json import encode
from tests.support.decoder.cells import cells, column, values
from tests.support.decoder.dumped import packets, rotate, taken
from tests.support.decoder.encrypted_log import KEYRING, KEYS, LOG
from tests.support.decoder.event_bytes import (
    MARIADB_POST_HEADER_LENGTHS,
    described,
    event_bytes,
    log_bytes,
    mariadb_compressed,
    parsed,
)
from tests.support.decoder.log_kinds import COMPRESSED, compressed_rows
from tests.support.decoder.logs import gtid, payload, query, xid
from tests.support.decoder.mutations import is_refused, read_events, read_rows, read_segment

_MARIADB = described("10.11.6-MariaDB-log", MARIADB_POST_HEADER_LENGTHS)
_ROWS = (T.WRITE_ROWS, T.UPDATE_ROWS, T.DELETE_ROWS, T.PARTIAL_UPDATE_ROWS)
_ROW_KINDS = (*_ROWS, T.WRITE_ROWS_V1, T.UPDATE_ROWS_V1, T.DELETE_ROWS_V1)
_JSON = column(ColumnType.JSON, length_bytes=4)
_DOCUMENTS: tuple[Any, ...] = (
    {"a": [1, -2.5, "x", None, True], "b": {"c": 2**40}},
    [],
    "text",
    2**64 - 1,
    [[[]]],
)
_HEADER = EventHeader.parse(memoryview(event_bytes(T.PREVIOUS_GTIDS, b"")), 0, 4)


@dataclass(frozen=True, slots=True)
class Target:
    """`run` decodes the bytes; `seeds` is the initial corpus; `is_log`: inputs are whole log
    files.
    """

    run: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]
    is_log: bool = False


def _log(read: Callable[[bytes], int]) -> Target:
    return Target(lambda data: is_refused(read, data), corpus.logs, is_log=True)


def frame_in_pieces(data: bytes) -> None:
    """Run bronze's framer, fed in pieces as bronze does."""
    framer = Framer()
    for start in range(0, len(data), 1000):
        for window in framer.feed(data[start : start + 1000]):
            for position in window.boundaries.tolist():
                window.checkpoint_at(position)
    framer.finish()
    if framer.fault is not None:
        raise framer.fault


def read_compressed_rows(data: bytes) -> None:
    """Read a log of plain rows events, after compressing their rows as MariaDB does."""
    log = bytearray(data)
    for event in reversed(list(decoder.events(data))):
        end = event.position + event.size
        if isinstance(event, RowsEvent) and event.type in COMPRESSED and not event.inside_payload:
            plain = bytes(log[event.position : end])
            log[event.position : end] = compressed_rows(plain, event.rows_offset)
    read_rows(bytes(log))


def read_table_map(data: bytes) -> None:
    """Read a TABLE_MAP's body, and what is derived from its definition."""
    for description in (None, _MARIADB):
        event = parsed(T.TABLE_MAP, data, description)
        assert isinstance(event, TableMapEvent)
        definition = event.definition
        assert type(definition).from_json(definition.to_json()) == definition
        row_type(definition, TypeOptions())
        layout_of(definition, b"\xff" * (len(definition.logged) // 8 + 1))


def read_table_rows(data: bytes) -> None:
    """Read a u16 length, a TABLE_MAP's body of it, a u8 for the kind of rows event, and its
    body.
    """
    size = int.from_bytes(data[:2], "little")
    table_map, rows = data[2 : 2 + size], data[2 + size :]
    kind = _ROW_KINDS[rows[0] % len(_ROW_KINDS)] if rows else T.WRITE_ROWS
    events = event_bytes(T.TABLE_MAP, table_map) + event_bytes(kind, rows[1:])
    read_rows(log_bytes(gtid(1), query("BEGIN"), events, xid()))


def _seeds_of_rows() -> Iterable[bytes]:
    table_map = b""
    for event in corpus.events():
        body = event[HEADER_LENGTH:]
        if event[4] == T.TABLE_MAP:
            table_map = struct.pack("<H", len(body)) + body
        elif event[4] in _ROW_KINDS:
            yield table_map + bytes([_ROW_KINDS.index(T(event[4]))]) + body


def read_json(data: bytes) -> None:
    """Read one JSON document."""
    values(_JSON, [data])


def read_diffs(data: bytes) -> None:
    """Read the JSON diffs of one cell."""
    read_json_diffs(cells([data])).validate(full=True)


def _seeds_of_diffs() -> Iterable[bytes]:
    for number, document in enumerate(_DOCUMENTS):
        value = encode(document)
        yield bytes([number % 2, 3]) + b"$.a" + bytes([len(value)]) + value + b"\x02\x03$.b"


def read_payload(data: bytes) -> None:
    """Read a u8 (even: the rest is compressed), and the contents of a TRANSACTION_PAYLOAD."""
    content = data[1:]
    is_compressed = data[:1] < b"\x80"
    size = int.from_bytes(data[:1], "little") << 8 if is_compressed else None
    event = payload(content, compressed=content if is_compressed else None, size=size)
    log = log_bytes(gtid(1), event)
    is_refused(read_events, log)
    is_refused(read_segment, log)


def read_event(data: bytes) -> None:
    """Read a u8 for the type, and the event's body: as MySQL's and as MariaDB's."""
    for description in (None, _MARIADB):
        try:
            parsed(data[0] if data else 0, data[1:], description)
        except BinlogError:
            continue


def read_encryption(data: bytes) -> None:
    """Read an encryption header, or a keyring file."""
    if data[:1] == LOG[:1]:
        KEYS.decrypted(data.ljust(len(LOG), b"\0"))
    else:
        Keys.from_keyring(data)


def read_dump(data: bytes) -> None:
    """Read what a server sends to a capture, whose refusals have their own error class."""
    stream = DumpStream(capacity=1 << 14, limit=1 << 12)
    with suppress(BrokenDumpError, DumpRefusedError):
        taken(stream, data, 1000)


def _seeds_of_dumps() -> Iterable[bytes]:
    """Return a file's name, followed by the events of logs."""
    events = [b"\0" + event for event in corpus.events() if len(event) < 1 << 12]
    yield packets([b"\0" + rotate("binlog.000001"), *events[:20]])
    yield packets([b"\xff\xd4\x04#HY000purged"])


TARGETS: dict[str, Target] = {
    "events": _log(read_events),
    "rows": _log(read_rows),
    "segment": _log(read_segment),
    "framer": Target(frame_in_pieces, corpus.logs, is_log=True),
    "compressed_rows": Target(read_compressed_rows, corpus.logs, is_log=True),
    "event": Target(read_event, lambda: (e[4:5] + e[HEADER_LENGTH:] for e in corpus.events())),
    "table_map": Target(read_table_map, lambda: corpus.bodies(T.TABLE_MAP)),
    "table_rows": Target(read_table_rows, _seeds_of_rows),
    "cell": Target(read_cell, seeds_of_cells),
    "json": Target(read_json, lambda: map(encode, _DOCUMENTS)),
    "json_diffs": Target(read_diffs, _seeds_of_diffs),
    "payload": Target(
        read_payload, lambda: (head + p for p in corpus.payloads() for head in (b"\x01", b"\x80"))
    ),
    "dump": Target(read_dump, _seeds_of_dumps),
    "mariadb_piece": Target(uncompress, lambda: map(mariadb_compressed, (b"a", b"ab" * 300))),
    "encryption": Target(read_encryption, lambda: (LOG[:600], KEYRING)),
    "gtid_set": Target(
        lambda data: str(parse_gtid_set(Cursor(memoryview(data), _HEADER))),
        lambda: corpus.bodies(T.PREVIOUS_GTIDS),
    ),
}


def run(target: str, data: bytes) -> None:
    """Run one input; any exception raised here is a finding."""
    try:
        TARGETS[target].run(data)
    except BinlogError:
        return
