"""Pass 1: event headers to arrays, and the verification of checksums.

A v4 event is a 19-byte header (timestamp 4, type 1, server id 4, size 4, log_pos 4, flags 2), a
body, and with `binlog_checksum=CRC32` four bytes of CRC32 over everything before them. From MySQL
5.6.1 and MariaDB 5.3 on, a FORMAT_DESCRIPTION determines whether the events after it have a
checksum; it always has one itself, computed with its in-use flag cleared. It also contains the
post-header lengths of the events after it; older logs have fixed lengths (`decoder.events.layout`).

Source: MySQL `libs/mysql/binlog/event/binlog_event.h` and `control_events.cpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventFlag, EventType, event_name
from decoder.errors import BinlogError, ChecksumError, MalformedError, UnsupportedError
from decoder.events.header import EventHeader, event_type as type_of
from decoder.events.layout import POST_HEADERS, V4, VERSION, Layout
from decoder.framing.layout_tracker import checksum_of_format, current_type, is_known, update_layout
from decoder.kernels.crc32 import TABLES, crc32
from decoder.kernels.memory import (
    Array,
    Bytes,
    inline_kernel,
    kernel,
    load_u8,
    load_u16,
    load_u32,
    store_8,
)

HeaderField = npt.NDArray[np.int64]

_USUAL_EVENT = 100
"""A typical event in bytes; few logs have a smaller average."""
_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_IN_USE = 0x1
# Rows of `Frames.table`.
OFFSET, TYPE, SIZE, TIMESTAMP, SERVER_ID, LOG_POS, FLAGS, END, VALID, BODY, POST_HEADER = range(11)
_ROWS_OF_TABLE = 11
_LAST_MYSQL_TYPE = 42
_FIRST_MARIADB_TYPE, _LAST_MARIADB_TYPE = 160, 171
SHORT_TABLE_ID = 6
"""Post-header length of TABLE_MAP and rows events whose table ids have 4 bytes instead of 6."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Events in the order of the buffer: one int64 array per header field, indexed by event.

    `offset` is that of the header in the buffer, `body` that of the byte after the header, and
    `end` that of the end of the body (the checksum). `valid` is 0 for an event whose checksum does
    not match; its other fields are then unreliable. `next_offset` is the first byte not consumed:
    an incomplete event, an invalid header, or `limit`. `fault` is the error of the first invalid
    event or header. `stop`: why framing cannot continue at `next_offset`, if so. `checksum` and
    `layout` are those of the next event.
    """

    table: npt.NDArray[np.int64]
    next_offset: int
    checksum: bool
    layout: Layout
    fault: BinlogError | None = None
    stop: BinlogError | None = None

    @property
    def stopped(self) -> bool:
        """True if framing cannot continue at `next_offset`."""
        return self.stop is not None

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def _row(self, field: int) -> HeaderField:
        row: HeaderField = self.table[field]
        return row

    @property
    def offset(self) -> HeaderField:
        """Offset of the event's header in the buffer."""
        return self._row(OFFSET)

    @property
    def type(self) -> HeaderField:
        """`EventType` as currently numbered, or an unknown code."""
        return self._row(TYPE)

    @property
    def size(self) -> HeaderField:
        """Bytes of header, body and checksum."""
        return self._row(SIZE)

    @property
    def timestamp(self) -> HeaderField:
        """Seconds since 1970 when the statement began."""
        return self._row(TIMESTAMP)

    @property
    def server_id(self) -> HeaderField:
        """Id of the server that first logged the event."""
        return self._row(SERVER_ID)

    @property
    def log_pos(self) -> HeaderField:
        """End of the event in the log that it was first written to; wraps at 4 GiB."""
        return self._row(LOG_POS)

    @property
    def flags(self) -> HeaderField:
        """`EventFlag` bits."""
        return self._row(FLAGS)

    @property
    def end(self) -> HeaderField:
        """Offset of the end of the body."""
        return self._row(END)

    @property
    def valid(self) -> HeaderField:
        """1, or 0 if the checksum does not match."""
        return self._row(VALID)

    @property
    def body(self) -> HeaderField:
        """Offset of the end of the header."""
        return self._row(BODY)

    @property
    def post_header(self) -> HeaderField:
        """Bytes of the post-header at the start of the body, as defined by the log itself."""
        return self._row(POST_HEADER)


def frame(
    buffer: Bytes,
    start: int,
    limit: int,
    *,
    base: int,
    checksum: bool,
    layout: Layout = V4,
    verify: bool = True,
) -> Frames:
    """Frame the complete events in `buffer[start:limit]`; `start` is the first one's header.

    `base` is the file position of `buffer[0]`, for errors. `checksum` (whether events have one) and
    `layout` apply until a FORMAT_DESCRIPTION among the events changes them. `verify=False` skips
    the verification of checksums. `buffer` must be writable; it is unchanged afterwards.
    """
    after = Layout(layout.cells.copy())
    parts = []
    next_offset, state, stopped, full = start, int(checksum), False, True
    while full:
        room = (limit - next_offset) // _USUAL_EVENT + 1
        part = np.empty((_ROWS_OF_TABLE, room), np.int64)
        framed, next_offset, state, stopped = _fill(
            buffer,
            next_offset,
            limit,
            state,
            verify,
            TABLES,
            layout.header_length,
            after.cells,
            part,
        )
        parts.append(part[:, :framed])
        full = framed == room
    table = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    stop = _stop_error(buffer, int(next_offset), base, after) if stopped else None
    fault = _first_wrong_checksum(table, base) or stop
    return Frames(table, int(next_offset), bool(state), after, fault, stop)


def header_of(table: npt.NDArray[np.int64], event: int, position: int) -> EventHeader:
    """Return the header of an event of `Frames.table`; `position` is the event's in the file."""
    offset, code, size, timestamp, server_id, log_pos, flags, _, _, body, _ = table[
        :, event
    ].tolist()
    kind, length = type_of(code), body - offset
    flag = EventFlag(flags)
    return EventHeader(position, timestamp, kind, server_id, size, log_pos, flag, length)


def _first_wrong_checksum(table: npt.NDArray[np.int64], base: int) -> BinlogError | None:
    wrong = np.flatnonzero(table[VALID] == 0)
    if not len(wrong):
        return None
    first = int(wrong[0])
    return ChecksumError(
        "the checksum does not match",
        position=base + int(table[OFFSET, first]),
        event_type=event_name(int(table[TYPE, first])),
    )


def _stop_error(buffer: Bytes, next_offset: int, base: int, layout: Layout) -> BinlogError:
    position = base + next_offset
    if layout.encrypted:
        return UnsupportedError(
            "the events from here on are encrypted by MariaDB, which is not supported; set"
            " encrypt_binlog=OFF to have the server write its next files unencrypted",
            position=position,
        )
    name = event_name(int(buffer[next_offset + 4]))
    size = load_u32(buffer, next_offset + 9)
    reason = f"the header gives a size of {size} bytes, but they are not followed by an event"
    if layout.version < V4.version and size >= layout.header_length:
        reason = f"version {layout.version} of the format has no such event type"
    return MalformedError(reason, position=position, event_type=name)


@inline_kernel
def table_id_size(post_header_length: int) -> int:
    """Return the bytes of the table id in a TABLE_MAP or rows event, by its post-header length."""
    return 4 if post_header_length == SHORT_TABLE_ID else 6


@kernel
def _fill(
    buffer: Bytes,
    start: int,
    limit: int,
    checksum: int,
    verify: bool,
    tables: Array,
    header_length: int,
    layout: Array,
    table: Array,
) -> tuple[int, int, int, bool]:
    """Fill `table` with headers; return (events, next offset, checksum state, stopped)."""
    position = start
    count = 0
    while position + header_length <= limit and count < table.shape[1]:
        size = load_u32(buffer, position + 9)
        event_type = current_type(load_u8(buffer, position + 4), layout)
        event_checksum = checksum
        if size < header_length or not is_known(event_type, layout):
            return count, position, checksum, True
        if position + size > limit:
            break
        if event_type == _FORMAT_DESCRIPTION:
            event_checksum, checksum = checksum_of_format(buffer, position, size, checksum)
        if size < header_length + CHECKSUM_LENGTH * event_checksum:
            return count, position, checksum, True
        end = position + size - CHECKSUM_LENGTH * event_checksum
        valid = 1
        if verify and event_checksum:
            valid = _matches(buffer, position, end, event_type, tables)
            if not valid and not _plausible(buffer, position + size, limit):
                return count, position, checksum, True
        if valid:
            update_layout(buffer, position, end, event_type, event_checksum, layout)
        _set_header(buffer, position, header_length, layout, table, count)
        table[TYPE, count] = event_type
        table[SIZE, count] = size
        table[END, count] = end
        table[VALID, count] = valid
        table[POST_HEADER, count] = layout[POST_HEADERS + event_type]
        count += 1
        position += size
    return count, position, checksum, False


@inline_kernel
def _set_header(
    buffer: Bytes, position: int, header_length: int, layout: Array, table: Array, event: int
) -> None:
    """Copy the fields of a header; in version 3, convert `log_pos` to the event's end."""
    table[OFFSET, event] = position
    table[BODY, event] = position + header_length
    table[TIMESTAMP, event] = load_u32(buffer, position)
    table[SERVER_ID, event] = load_u32(buffer, position + 5)
    table[LOG_POS, event] = 0
    table[FLAGS, event] = 0
    if header_length == HEADER_LENGTH:
        log_pos = load_u32(buffer, position + 13)
        if layout[VERSION] == 3 and log_pos != 0:
            log_pos = (log_pos + load_u32(buffer, position + 9)) & 0xFFFFFFFF
        table[LOG_POS, event] = log_pos
        table[FLAGS, event] = load_u16(buffer, position + 17)


@kernel
def _matches(buffer: Bytes, position: int, end: int, event_type: int, tables: Array) -> int:
    """Return 1 if the event's CRC32 is the one stored at `end`."""
    stored = load_u32(buffer, end)
    flags = load_u8(buffer, position + 17)
    if event_type != _FORMAT_DESCRIPTION or flags & _IN_USE == 0:
        return int(crc32(buffer, position, end, tables) == stored)
    store_8(buffer, position + 17, flags ^ _IN_USE)
    computed = crc32(buffer, position, end, tables)
    store_8(buffer, position + 17, flags)
    return int(computed == stored)


@kernel
def _plausible(buffer: Bytes, position: int, limit: int) -> bool:
    """Return True if `position` may be an event header, as far as it is in the buffer."""
    if position + HEADER_LENGTH > limit:
        return True
    event_type = load_u8(buffer, position + 4)
    size = load_u32(buffer, position + 9)
    mysql = 0 < event_type <= _LAST_MYSQL_TYPE
    mariadb = _FIRST_MARIADB_TYPE <= event_type <= _LAST_MARIADB_TYPE
    return size >= HEADER_LENGTH and (mysql or mariadb)
