"""An event that is too large to be held in memory: its header, its first bytes and checksums."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np

from decoder.constants import CHECKSUM_LENGTH
from decoder.events.header import EventHeader, event_type
from decoder.events.layout import POST_HEADERS, RENUMBERED, Layout
from decoder.framing.frames import Frames
from decoder.framing.layout_tracker import current_type
from decoder.kernels.memory import Bytes

BEGINNING = 1 << 17
"""Bytes that are held: more than the 65,790 that a QUERY's status variables and schema can take
before its text."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint: a position in the file and the CRC32 of all bytes before it.

    The CRC32 is computed with the in-use flag cleared.
    """

    position: int
    crc: int


class LargeEvent:
    """An event that is streamed: only its first bytes and checksums are held.

    `first_bytes` must contain at least its header; `layout` is that of the log at this position.
    """

    def __init__(
        self, first_bytes: bytes, start: Checkpoint, layout: Layout, *, checksum: bool
    ) -> None:
        header = EventHeader.parse(memoryview(first_bytes), 0, start.position, layout.version)
        if layout.cells[RENUMBERED]:
            header = replace(header, type=event_type(current_type(int(header.type), layout.cells)))
        self.header = header
        self._layout = layout
        self.start = start
        self._first_bytes = b""
        self._covered = header.size - CHECKSUM_LENGTH * checksum
        self._passed = 0
        self._crc = 0
        self._file_crc = start.crc
        self._stored = b""
        self._checksum = checksum
        self.feed(first_bytes)

    def feed(self, data: bytes | memoryview) -> bytes:
        """Add the next bytes of the log; return those after the end of the event."""
        view = memoryview(data)
        mine = view[: self.header.size - self._passed]
        covered = mine[: max(0, self._covered - self._passed)]
        self._first_bytes += covered[: max(0, BEGINNING - self._passed)]
        self._crc = zlib.crc32(covered, self._crc)
        self._stored += mine[len(covered) :]
        self._file_crc = zlib.crc32(mine, self._file_crc)
        self._passed += len(mine)
        return bytes(view[len(mine) :])

    @property
    def whole(self) -> bool:
        """True if all bytes of the event have been added."""
        return self._passed == self.header.size

    @property
    def valid(self) -> bool:
        """True if the checksum matches, or the event has none."""
        return not self._checksum or int.from_bytes(self._stored, "little") == self._crc

    @property
    def end(self) -> Checkpoint:
        """The checkpoint at the end of the event."""
        return Checkpoint(self.start.position + self.header.size, self._file_crc)

    @property
    def buffer(self) -> Bytes:
        """The first bytes of the event, enough to determine its role in its transaction."""
        return np.frombuffer(bytearray(self._first_bytes), np.uint8)

    @property
    def frames(self) -> Frames:
        """The event as `Frames`, with a body that ends where `buffer` does."""
        head = self.header
        post_header = int(self._layout.cells[POST_HEADERS + head.type])
        fields = (
            *(0, int(head.type), head.size, head.timestamp, head.server_id, head.log_pos),
            *(int(head.flags), len(self._first_bytes), 1, head.length, post_header),
        )
        table = np.array([fields], np.int64).T.copy()
        return Frames(table, head.size, self._checksum, self._layout)
