"""FORMAT_DESCRIPTION: the layout of the events after it.

Format: MySQL `control_events.h`, `Format_description_event`. It is the only event whose `parse`
takes everything after the common header, including the checksum, because it determines whether
events have one. From MySQL 5.6.1 and MariaDB 5.3 on it always ends in a valid CRC32 itself,
whatever its checksum algorithm is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, ChecksumAlgorithm, EventFlag
from decoder.events.cursor import Cursor
from decoder.events.event import Event

SERVER_VERSION_LENGTH = 50
_ALGORITHM_LENGTH = 1
_CHECKSUM_SINCE = (5, 6, 1)
_MARIADB_CHECKSUM_SINCE = (5, 3, 0)
_MOST_TYPES_WITHOUT_CHECKSUM = 34
"""The most event types of a server without checksums; with more, the version must be wrong."""
_RENUMBERED_TREE = re.compile(r"5\.[12]\.\d-a_drop[56]p")
_RENUMBERED_FIRST = 16
_RENUMBERED = (19, 20, 21, 22, 16, 17, 18)
"""Current codes of types 16 to 22 in development trees of 2006, where TABLE_MAP preceded XID."""


@dataclass(frozen=True, slots=True)
class FormatDescriptionEvent(Event):
    """The layout that applies until the next FORMAT_DESCRIPTION (a relay log has several)."""

    binlog_version: int
    """u16: 4 from MySQL 5.0 on; 1 or 3 if it was made from an older log's START_V3."""
    server_version: str
    """50 bytes, padded with zeros."""
    created: int
    """u32: seconds since 1970 when the server started, if it started with this file, else 0."""
    header_length: int
    """u8: 19; 13 in version 1."""
    post_header_lengths: bytes
    """A u8 for each event type from 1 on, by current type code: bytes of its post-header."""
    checksum_algorithm: ChecksumAlgorithm
    """u8, followed by space for a checksum; UNDEFINED if the server version is too old for it."""

    @property
    def in_use(self) -> bool:
        """True if the file was not closed: the server is still writing it, or crashed."""
        return EventFlag.BINLOG_IN_USE in self.header.flags

    @property
    def mariadb(self) -> bool:
        """True if MariaDB wrote it."""
        return "mariadb" in self.server_version.lower()

    @property
    def version(self) -> tuple[int, int, int]:
        """The server's version as (major, minor, patch)."""
        return _version(self.server_version)

    @property
    def checksum_length(self) -> int:
        """Bytes of the checksum at the end of every other event: 0 or 4."""
        return CHECKSUM_LENGTH if self.checksum_algorithm == ChecksumAlgorithm.CRC32 else 0

    @property
    def has_own_checksum(self) -> bool:
        """True if this event itself ends in a CRC32."""
        return self.checksum_algorithm != ChecksumAlgorithm.UNDEFINED

    def post_header_length(self, event_type: int, default: int) -> int:
        """Return the bytes of a type's post-header, or `default` if it is newer than the server."""
        known = 0 < event_type <= len(self.post_header_lengths)
        return self.post_header_lengths[event_type - 1] if known else default

    @classmethod
    def parse(cls, body: Cursor) -> FormatDescriptionEvent:
        """Read the event; `body` is everything after the common header, including the checksum."""
        binlog_version = body.u16()
        if binlog_version != 4:
            raise body.header.unsupported(f"binlog version {binlog_version} is not supported")
        server_version = read_server_version(body)
        created = body.u32()
        header_length = body.u8()
        if header_length != HEADER_LENGTH:
            raise body.malformed(f"events have headers of {header_length} bytes, not 19")
        footer = _ALGORITHM_LENGTH + CHECKSUM_LENGTH if _has_checksum(server_version) else 0
        if body.remaining <= footer:
            raise body.malformed("its post-header lengths are missing")
        lengths = body.take(body.remaining - footer)
        if not footer and len(lengths) > _MOST_TYPES_WITHOUT_CHECKSUM:
            raise body.malformed(
                f"it lists {len(lengths)} event types, more than version {server_version} has"
            )
        if _RENUMBERED_TREE.match(server_version):
            lengths = _renumber(lengths)
        algorithm = _algorithm(body) if footer else ChecksumAlgorithm.UNDEFINED
        return cls(
            body.header,
            binlog_version,
            server_version,
            created,
            header_length,
            lengths,
            algorithm,
        )


def read_server_version(body: Cursor) -> str:
    """Read the server's version, at the same place in FORMAT_DESCRIPTION and START_V3."""
    padded = body.take(SERVER_VERSION_LENGTH)
    return padded.partition(b"\0")[0].decode("ascii", "replace")


def _renumber(logged: bytes) -> bytes:
    lengths = bytearray(logged)
    for today, length in zip(_RENUMBERED, logged[_RENUMBERED_FIRST - 1 :], strict=False):
        lengths[today - 1 : today] = [length]
    return bytes(lengths)


def _version(server_version: str) -> tuple[int, int, int]:
    numbers = [int(number) for number in re.findall(r"[0-9]+", server_version)[:3]]
    major, minor, patch = [*numbers, 0, 0, 0][:3]
    return major, minor, patch


def _has_checksum(server_version: str) -> bool:
    mariadb = "mariadb" in server_version.lower()
    return _version(server_version) >= (_MARIADB_CHECKSUM_SINCE if mariadb else _CHECKSUM_SINCE)


def _algorithm(body: Cursor) -> ChecksumAlgorithm:
    code = body.u8()
    if code not in (ChecksumAlgorithm.OFF, ChecksumAlgorithm.CRC32):
        raise body.malformed(f"checksum algorithm {code} is unknown")
    return ChecksumAlgorithm(code)
