"""Tracking of the layout during pass 1, as FORMAT_DESCRIPTION and START_ENCRYPTION change it.

A FORMAT_DESCRIPTION is: version of the format 2, server version 50, creation time 4, header length
1, a byte for each event type, and from MySQL 5.6.1 and MariaDB 5.3 on checksum algorithm 1 and
checksum 4. It replaces the previous one completely, including types that it does not list (MySQL
`control_events.cpp`, `Format_description_event::Format_description_event`). The events after
MariaDB's START_ENCRYPTION are encrypted.
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
# Offset of the server version in a FORMAT_DESCRIPTION, and of the bytes for event types.
_VERSION = HEADER_LENGTH + 2
_FORMAT_LENGTH = HEADER_LENGTH + 57
_RENUMBERED_FIRST, _RENUMBERED_XID, _RENUMBERED_LAST = 16, 20, 22


@inline_kernel
def is_known(event_type: int, layout: Array) -> bool:
    """Return True if an event of this type can occur: before version 4, only the known types."""
    if layout[ENCRYPTED] != 0:
        return False
    if layout[VERSION] == 4:
        return True
    last = LAST_TYPE_BEFORE_V4 + (layout[VERSION] == 3)  # a relay log's FORMAT_DESCRIPTION
    return bool(0 < event_type <= last)


@inline_kernel
def current_type(event_type: int, layout: Array) -> int:
    """Return the current type code: in trees of 2006, TABLE_MAP and rows events preceded XID."""
    if layout[RENUMBERED] == 0 or not _RENUMBERED_FIRST <= event_type <= _RENUMBERED_LAST:
        return event_type
    return event_type + 3 if event_type < _RENUMBERED_XID else event_type - 4


@kernel
def update_layout(
    buffer: Bytes, position: int, end: int, event_type: int, checksum: int, layout: Array
) -> None:
    """Apply what the event changes in the layout of the events after it."""
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
        today = current_type(k + 1, layout)
        layout[POST_HEADERS + today] = load_u8(buffer, first + k)


@kernel
def _is_renumbered(buffer: Bytes, version: int) -> bool:
    """Return True if the server's version is `5.[12].[0-9]-a_drop[56]p…`."""
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
    """Return 1 or 0 each: this FORMAT_DESCRIPTION has a checksum; the events after it have one.

    An event that cannot be a FORMAT_DESCRIPTION (its type byte is damaged) changes nothing.
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
    """Return True if it describes version 4 of the format, with headers of 19 bytes."""
    version = load_u16(buffer, position + HEADER_LENGTH)
    header_length = load_u8(buffer, position + _FORMAT_LENGTH - 1)
    return version == 4 and header_length == HEADER_LENGTH


@kernel
def _writes_checksums(buffer: Bytes, position: int) -> bool:
    """Return True if the server version is at least MySQL 5.6.1 or MariaDB 5.3.

    It is 50 bytes, zero-padded.
    """
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
        # "MariaDB" somewhere after the number: no other version contains "Maria"
        if byte == 77 and k < 43 and load_u32(buffer, position + k + 1) == 0x61697261:
            return version >= 0x050300
    return version >= 0x050601
