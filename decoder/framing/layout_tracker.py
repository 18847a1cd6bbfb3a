"""What an event says of the layout of those after it, read where it stands by pass 1.

A FORMAT_DESCRIPTION is: version of the format 2, the server's version 50, creation time 4, length
of headers 1, a byte for each type of event, and from MySQL 5.6.1 and MariaDB 5.3 on the checksum's
algorithm 1 and a checksum 4. It replaces what one before it said, also of types that it does not
list (MySQL `control_events.cpp`, `Format_description_event::Format_description_event`). The events
behind MariaDB's START_ENCRYPTION are encrypted.
"""

from __future__ import annotations

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, EventType
from decoder.events.layout import ENCRYPTED, LAST_TYPE_BEFORE_V4, POST_HEADERS, RENUMBERED, VERSION
from decoder.kernels.memory import (
    Array,
    Bytes,
    inline_kernel,
    kernel,
    load_u8,
    load_u16,
    load_u24,
    load_u32,
)

_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_START_ENCRYPTION = int(EventType.MARIADB_START_ENCRYPTION)
# Where a FORMAT_DESCRIPTION holds the server's version, and the bytes before those of the types.
_VERSION = HEADER_LENGTH + 2
_FORMAT_LENGTH = HEADER_LENGTH + 57
_RENUMBERED_FIRST, _RENUMBERED_XID, _RENUMBERED_LAST = 16, 20, 22


@inline_kernel
def is_known(event_type: int, layout: Array) -> bool:
    """Whether there can be an event of that type: before version 4 only those it has."""
    if layout[ENCRYPTED] != 0:
        return False
    if layout[VERSION] == 4:
        return True
    last = LAST_TYPE_BEFORE_V4 + (layout[VERSION] == 3)  # a relay log's FORMAT_DESCRIPTION
    return bool(0 < event_type <= last)


@inline_kernel
def todays_type(event_type: int, layout: Array) -> int:
    """The type as it is numbered since: trees of 2006 had TABLE_MAP and the rows before XID."""
    if layout[RENUMBERED] == 0 or not _RENUMBERED_FIRST <= event_type <= _RENUMBERED_LAST:
        return event_type
    return event_type + 3 if event_type < _RENUMBERED_XID else event_type - 4


@kernel
def learn(
    buffer: Bytes, position: int, end: int, event_type: int, checksum: int, layout: Array
) -> None:
    """What the event says of the layout of those after it."""
    if event_type == _START_ENCRYPTION:
        layout[ENCRYPTED] = 1
    if event_type != _FORMAT_DESCRIPTION or end < position + _FORMAT_LENGTH:
        return
    first = position + _FORMAT_LENGTH
    types = min(end - checksum - first, 255)  # the byte before a checksum is its algorithm
    if types < 1 or not _describes_format(buffer, position):
        return
    layout[VERSION] = 4
    layout[RENUMBERED] = _is_renumbered(buffer, position + _VERSION)
    layout[POST_HEADERS:] = 0
    for k in range(types):
        today = todays_type(k + 1, layout)
        layout[POST_HEADERS + today] = load_u8(buffer, first + k)


@kernel
def _is_renumbered(buffer: Bytes, version: int) -> bool:
    """Whether the server's version is `5.[12].[0-9]-a_drop[56]p…`."""
    return (
        load_u16(buffer, version) == 0x2E35
        and 49 <= load_u8(buffer, version + 2) <= 50
        and load_u8(buffer, version + 3) == 46
        and 48 <= load_u8(buffer, version + 4) <= 57
        and load_u32(buffer, version + 5) == 0x645F612D  # "-a_d"
        and load_u24(buffer, version + 9) == 0x706F72  # "rop"
        and 53 <= load_u8(buffer, version + 12) <= 54
        and load_u8(buffer, version + 13) == 112
    )


@kernel
def checksum_of_format(buffer: Bytes, position: int, size: int, checksum: int) -> tuple[int, int]:
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
