"""START_V3: the first event of a log before MySQL 5.0, where later logs have FORMAT_DESCRIPTION.

Format: MySQL internals manual, `START_EVENT_V3`; MariaDB `sql/log_event.cc`, `Start_log_event_v3`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from decoder.constants import ChecksumAlgorithm, EventType
from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import (
    SERVER_VERSION_LENGTH,
    FormatDescriptionEvent,
    read_server_version,
)
from decoder.events.layout import START_LENGTH_V3, post_header_lengths

_VERSIONS = (1, 3)


@dataclass(frozen=True, slots=True)
class StartV3Event(Event):
    """The start of the server; its later files of version 3 may lack this event."""

    binlog_version: int
    """u16: 1 for MySQL 3.23, 3 for 4.0.2 to 4.1."""
    server_version: str
    """50 bytes, padded with zeros."""
    created: int
    """u32: seconds since 1970 when the server started."""

    @classmethod
    def parse(cls, body: Cursor) -> StartV3Event:
        """Read the event."""
        binlog_version, server_version = body.u16(), read_server_version(body)
        return cls(body.header, binlog_version, server_version, body.u32())

    def description(self) -> FormatDescriptionEvent:
        """Return the layout of the events after it.

        Raises UnsupportedError for an unknown version. Version 2 was only written by 4.0.0 and
        4.0.1, and no later server can read it.
        """
        if self.binlog_version not in _VERSIONS:
            raise self.header.unsupported(f"binlog version {self.binlog_version} is not supported")
        return FormatDescriptionEvent(
            self.header,
            self.binlog_version,
            self.server_version,
            self.created,
            self.header.length,
            post_header_lengths(self.binlog_version),
            ChecksumAlgorithm.UNDEFINED,
        )


def artificial_start() -> bytes:
    """Return a START_V3 for a version 3 log without one, as MySQL's own readers do."""
    body = struct.pack(f"<H{SERVER_VERSION_LENGTH}sI", 3, b"4.0", 0)
    return struct.pack("<IBIIIH", 0, EventType.START_V3, 0, START_LENGTH_V3, 0, 0) + body
