"""Pass 1: the headers of events into arrays, and their checksums verified.

A v4 event is a 19-byte header (timestamp 4, type 1, server id 4, size 4, log_pos 4, flags 2), a
body, and with `binlog_checksum=CRC32` four bytes of CRC32 over all before them. A
FORMAT_DESCRIPTION says, from MySQL 5.6.1 and MariaDB 5.3 on, whether the events after it have a
checksum; it always has one itself, computed with its in-use flag cleared. It also says how long the
fixed parts of the events after it are; older logs have lengths of their own
(`decoder.events.layout`).

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
from decoder.framing.layout_tracker import checksum_of_format, is_known, learn, todays_type
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

Column = npt.NDArray[np.int64]

_USUAL_EVENT = 100
"""Bytes of an event, of which a log's average is not often less."""
_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_IN_USE = 0x1
# Rows of `Frames.table`.
OFFSET, TYPE, SIZE, TIMESTAMP, SERVER_ID, LOG_POS, FLAGS, END, VALID, BODY, POST_HEADER = range(11)
_ROWS_OF_TABLE = 11
_LAST_MYSQL_TYPE = 42
_FIRST_MARIADB_TYPE, _LAST_MARIADB_TYPE = 160, 171
SHORT_TABLE_ID = 6
"""Bytes of the fixed part of TABLE_MAP and rows events whose table ids have 4 bytes, not 6."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Events in the order of the buffer: one int64 array per header field, index = event.

    `offset` of the header in the buffer, `body` of what follows it; `end` is where the body ends
    (the checksum's offset); `valid` is 0 for an event whose checksum does not match, whose fields
    are then guesses. `next_offset` is the first byte not consumed: an incomplete event, a header
    that cannot be one, or `limit`. `fault` is the first event at fault, or that header. `stop`:
    why framing cannot go on behind `next_offset`. `checksum` tells whether the next event has one,
    `layout` how it is laid out.
    """

    table: npt.NDArray[np.int64]
    next_offset: int
    checksum: bool
    layout: Layout
    fault: BinlogError | None = None
    stop: BinlogError | None = None

    @property
    def stopped(self) -> bool:
        """Whether framing cannot go on behind `next_offset`."""
        return self.stop is not None

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def _row(self, field: int) -> Column:
        row: Column = self.table[field]
        return row

    @property
    def offset(self) -> Column:
        """Offset of the event's header in the buffer."""
        return self._row(OFFSET)

    @property
    def type(self) -> Column:
        """`EventType` in today's numbers, or a code that we do not know."""
        return self._row(TYPE)

    @property
    def size(self) -> Column:
        """Bytes of header, body and checksum."""
        return self._row(SIZE)

    @property
    def timestamp(self) -> Column:
        """Seconds since 1970 when the statement began."""
        return self._row(TIMESTAMP)

    @property
    def server_id(self) -> Column:
        """The server that wrote the event first."""
        return self._row(SERVER_ID)

    @property
    def log_pos(self) -> Column:
        """Position after the event, as the server that wrote it first saw it; wraps at 4 GiB."""
        return self._row(LOG_POS)

    @property
    def flags(self) -> Column:
        """`EventFlag` bits."""
        return self._row(FLAGS)

    @property
    def end(self) -> Column:
        """Offset behind the body."""
        return self._row(END)

    @property
    def valid(self) -> Column:
        """1, or 0 where the checksum does not match."""
        return self._row(VALID)

    @property
    def body(self) -> Column:
        """Offset behind the header."""
        return self._row(BODY)

    @property
    def post_header(self) -> Column:
        """Bytes of the fixed part with which the body starts, as the log itself says."""
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
    """The whole events in `buffer[start:limit]`; `start` is the first one's header.

    `base` is the file position of `buffer[0]`, for errors. `checksum` and `layout`: events have
    one and are laid out so, until a FORMAT_DESCRIPTION among them says otherwise. `verify=False`
    trusts checksums. `buffer` must be writable (it comes back unchanged).
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
    """The header of an event of `Frames.table`, which is at that position of the file."""
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
            "MariaDB encrypted the events from here on, which is not decrypted: with"
            " encrypt_binlog=OFF the server's next file is in the clear",
            position=position,
        )
    name = event_name(int(buffer[next_offset + 4]))
    size = load_u32(buffer, next_offset + 9)
    reason = f"the header says {size} bytes, and what follows them is no event"
    if layout.version < V4.version and size >= layout.header_length:
        reason = f"version {layout.version} of the format has no such event"
    return MalformedError(reason, position=position, event_type=name)


@inline_kernel
def table_id_size(post_header_length: int) -> int:
    """Bytes of the table id in a TABLE_MAP or rows event whose fixed part has that length."""
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
    """Headers into `table` until it is full; (events, next offset, checksum state, stopped)."""
    position = start
    count = 0
    while position + header_length <= limit and count < table.shape[1]:
        size = load_u32(buffer, position + 9)
        event_type = todays_type(load_u8(buffer, position + 4), layout)
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
            learn(buffer, position, end, event_type, event_checksum, layout)
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
    """The fields that are as the header has them; `log_pos` becomes the event's end everywhere."""
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
    """Whether the event's CRC32 is the one stored at `end`."""
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
    """Whether the header at `position` can be one, as far as it is in the buffer."""
    if position + HEADER_LENGTH > limit:
        return True
    event_type = load_u8(buffer, position + 4)
    size = load_u32(buffer, position + 9)
    mysql = 0 < event_type <= _LAST_MYSQL_TYPE
    mariadb = _FIRST_MARIADB_TYPE <= event_type <= _LAST_MARIADB_TYPE
    return size >= HEADER_LENGTH and (mysql or mariadb)
