"""Logs of MySQL 3.23 (format version 1) and 4.x (version 3), which no available server writes."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from decoder.constants import MAGIC, EventType

CREATED = 1_000_000_000
SERVER_ID = 7


@dataclass(frozen=True)
class OldLog:
    """Builds events of one format version."""

    version: int
    server: str

    @property
    def header_length(self) -> int:
        """Return 13 or 19."""
        return 13 if self.version == 1 else 19

    def event(self, kind: EventType, body: bytes, *, position: int = 0) -> bytes:
        """Return an event; in version 3 its header has the `position` where it starts."""
        head = struct.pack("<IBII", CREATED, kind, SERVER_ID, self.header_length + len(body))
        return head + (b"" if self.version == 1 else struct.pack("<IH", position, 0)) + body

    def start(self, *, position: int = 4, version: int | None = None) -> bytes:
        """Return a START_V3."""
        body = struct.pack("<H50sI", version or self.version, self.server.encode(), CREATED)
        return self.event(EventType.START_V3, body, position=position)

    def rotate(self, name: str) -> tuple[EventType, bytes]:
        """Return a ROTATE for `log`; in version 1 it is the name alone."""
        position = b"" if self.version == 1 else struct.pack("<Q", 4)
        return EventType.ROTATE, position + name.encode()

    def log(self, *events: tuple[EventType, bytes], start: bool = True) -> bytes:
        """Return a file of events (type, body), each with its position in the file."""
        log = MAGIC + (self.start() if start else b"")
        for kind, body in events:
            log += self.event(kind, body, position=len(log))
        return log


V1 = OldLog(1, "3.23.58-log")
V3 = OldLog(3, "4.1.22-log")

LOAD_HEAD = struct.pack("<IIIBBI", 9, 2, 1, 4, 4, 2)
"""Thread 9, 2 seconds, IGNORE 1 LINES, lengths of table and schema, 2 columns."""
LOAD_NAMES = b"\x01\x04" + b"a\0" + b"name\0" + b"cups\0" + b"shop\0"
"""Lengths of the columns' names, the names, the table and the schema."""
NEW_OPTIONS = b"\x01," + b'\x01"' + b"\x02\r\n" + b"\x00" + b"\x01\\" + b"\x06"
OLD_OPTIONS = b',"\n.\\' + b"\x06" + b"\x08"
"""A byte for each separator, the option flags: an empty LINES STARTING BY."""
INTVAR = b"\x02" + struct.pack("<Q", 5)
RAND = struct.pack("<QQ", 1, 2)
USER_VAR = struct.pack("<I", 1) + b"v\0\x02" + struct.pack("<IIq", 63, 8, -5)
SLAVE = struct.pack("<QH", 4, 3306) + b"source.example\0source-bin.001"


def query(text: str, schema: str = "shop") -> tuple[EventType, bytes]:
    """Return a QUERY for `log`: thread, seconds, length of the schema, error code; schema, zero,
    text.
    """
    head = struct.pack("<IIBH", 9, 1, len(schema), 0)
    return EventType.QUERY, head + schema.encode() + b"\0" + text.encode()
