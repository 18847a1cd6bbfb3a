"""Pass 1: the headers of events into arrays, and their checksums verified.

A v4 event is a 19-byte header (timestamp 4, type 1, server id 4, size 4, log_pos 4, flags 2), a
body, and with `binlog_checksum=CRC32` four bytes of CRC32 over all before them. A
FORMAT_DESCRIPTION says, from MySQL 5.6.1 and MariaDB 5.3 on, whether the events after it have a
checksum; it always has one itself, computed with its in-use flag cleared.

Source: MySQL `libs/mysql/binlog/event/binlog_event.h` and `control_events.cpp`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType, event_name
from decoder.crc32 import TABLES, crc32
from decoder.errors import BinlogError, ChecksumError, MalformedError
from decoder.memory import Array, Bytes, kernel, load_u8, load_u16, load_u32, store_8

Column = npt.NDArray[np.int64]

_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_IN_USE = 0x1
# Rows of `Frames.table`.
OFFSET, TYPE, SIZE, TIMESTAMP, SERVER_ID, LOG_POS, FLAGS, END, VALID = range(9)
# Where a FORMAT_DESCRIPTION holds the server's version, and the least bytes of one with a checksum.
_VERSION = HEADER_LENGTH + 2
_FORMAT_LENGTH = HEADER_LENGTH + 57
_LAST_MYSQL_TYPE = 42
_FIRST_MARIADB_TYPE, _LAST_MARIADB_TYPE = 160, 171


@dataclass(frozen=True, slots=True)
class Frames:
    """Events in the order of the buffer: one int64 array per header field, index = event.

    `offset` of the header in the buffer; `end` is where the body ends (the checksum's offset);
    `valid` is 0 for an event whose checksum does not match, whose fields are then guesses.
    `next_offset` is the first byte not consumed: an incomplete event, a header that cannot be
    one, or `limit`. `fault` is the first event at fault, or that header. With `stopped`, framing
    cannot go on behind `next_offset`. `checksum` tells whether the next event has one.
    """

    table: npt.NDArray[np.int64]
    next_offset: int
    checksum: bool
    stopped: bool
    fault: BinlogError | None

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
        """`EventType`, or a code that we do not know."""
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


def frame(
    buffer: Bytes, start: int, limit: int, *, base: int, checksum: bool, verify: bool = True
) -> Frames:
    """The whole events in `buffer[start:limit]`; `start` is the first one's header.

    `base` is the file position of `buffer[0]`, for errors. `checksum`: events have one, until a
    FORMAT_DESCRIPTION among them says otherwise. `verify=False` trusts checksums. `buffer` must
    be writable (it comes back unchanged).
    """
    count = _count_events(buffer, start, limit)
    table = np.empty((9, count), np.int64)
    framed, next_offset, last_checksum, stopped = _fill(
        buffer, start, limit, int(checksum), verify, TABLES, table
    )
    table = table[:, :framed]
    fault = _first_fault(buffer, table, int(next_offset), bool(stopped), base)
    return Frames(table, int(next_offset), bool(last_checksum), bool(stopped), fault)


def _first_fault(
    buffer: Bytes, table: npt.NDArray[np.int64], next_offset: int, stopped: bool, base: int
) -> BinlogError | None:
    wrong = np.flatnonzero(table[VALID] == 0)
    if len(wrong):
        first = int(wrong[0])
        return ChecksumError(
            "the checksum does not match",
            position=base + int(table[OFFSET, first]),
            event_type=event_name(int(table[TYPE, first])),
        )
    if not stopped:
        return None
    event_type = event_name(int(buffer[next_offset + 4]))
    size = load_u32(buffer, next_offset + 9)
    return MalformedError(
        f"the header says {size} bytes, and what follows them is no event",
        position=base + next_offset,
        event_type=event_type,
    )


@kernel
def _count_events(buffer: Bytes, start: int, limit: int) -> int:
    """How many whole events there are at most."""
    count = 0
    position = start
    while position + HEADER_LENGTH <= limit:
        size = load_u32(buffer, position + 9)
        if size < HEADER_LENGTH or position + size > limit:
            break
        position += size
        count += 1
    return count


@kernel
def _fill(
    buffer: Bytes, start: int, limit: int, checksum: int, verify: bool, tables: Array, table: Array
) -> tuple[int, int, int, bool]:
    """Headers into `table`; (events, next offset, checksum state, stopped)."""
    position = start
    count = 0
    while position + HEADER_LENGTH <= limit:
        size = load_u32(buffer, position + 9)
        event_type = load_u8(buffer, position + 4)
        event_checksum = checksum
        if size < HEADER_LENGTH:
            return count, position, checksum, True
        if position + size > limit:
            break
        if event_type == _FORMAT_DESCRIPTION:
            event_checksum, checksum = _checksum_of_format(buffer, position, size, checksum)
        if size < HEADER_LENGTH + CHECKSUM_LENGTH * event_checksum:
            return count, position, checksum, True
        end = position + size - CHECKSUM_LENGTH * event_checksum
        valid = 1
        if verify and event_checksum:
            valid = _matches(buffer, position, end, event_type, tables)
            if not valid and not _plausible(buffer, position + size, limit):
                return count, position, checksum, True
        table[OFFSET, count] = position
        table[TYPE, count] = event_type
        table[SIZE, count] = size
        table[TIMESTAMP, count] = load_u32(buffer, position)
        table[SERVER_ID, count] = load_u32(buffer, position + 5)
        table[LOG_POS, count] = load_u32(buffer, position + 13)
        table[FLAGS, count] = load_u16(buffer, position + 17)
        table[END, count] = end
        table[VALID, count] = valid
        count += 1
        position += size
    return count, position, checksum, False


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


@kernel
def _checksum_of_format(buffer: Bytes, position: int, size: int, checksum: int) -> tuple[int, int]:
    """Whether this FORMAT_DESCRIPTION has a checksum, and whether the events after it have.

    An event that cannot be one (another's type byte was damaged) changes nothing.
    """
    if size < _FORMAT_LENGTH or not _describes_format(buffer, position):
        return checksum, checksum
    if size < _FORMAT_LENGTH + 1 + CHECKSUM_LENGTH:
        return 0, 0
    if not _writes_checksums(buffer, position + _VERSION):
        return 0, 0
    algorithm = load_u8(buffer, position + size - CHECKSUM_LENGTH - 1)
    return 1, int(algorithm == 1)


@kernel
def _describes_format(buffer: Bytes, position: int) -> bool:
    """Whether it says that this is version 4 of the format, with headers of 19 bytes."""
    version = load_u16(buffer, position + HEADER_LENGTH)
    header_length = load_u8(buffer, position + _FORMAT_LENGTH - 1)
    return version == 4 and header_length == HEADER_LENGTH


@kernel
def _writes_checksums(buffer: Bytes, position: int) -> bool:
    """Whether the server version (50 bytes, zero-padded) is MySQL ≥ 5.6.1 or MariaDB ≥ 5.3."""
    number = 0
    version = 0
    parts = 0
    for k in range(50):
        byte = load_u8(buffer, position + k)
        if 48 <= byte <= 57:
            number = min(number * 10 + byte - 48, 255)
            continue
        if parts < 3:
            version = version << 8 | number
            parts += 1
            number = 0
        if byte == 0:
            break
        # "MariaDB" somewhere behind the number: the only versions with a capital D after "aria"
        if byte == 77 and k < 43 and load_u32(buffer, position + k + 1) == 0x61697261:
            return version >= 0x050300
    return version >= 0x050601
