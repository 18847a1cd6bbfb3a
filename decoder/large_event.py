"""An event that is passed through without being held: its header, its start and its checksums."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from decoder.constants import CHECKSUM_LENGTH
from decoder.framing import Frames
from decoder.header import EventHeader
from decoder.layout import POST_HEADERS, Layout
from decoder.memory import Bytes


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in the file, and the CRC32 of all bytes before it (in-use flag cleared)."""

    position: int
    crc: int


class LargeEvent:
    """An event that is passed through: its start and its checksums are all that is held."""

    def __init__(self, begun: bytes, start: Mark, layout: Layout, *, checksum: bool) -> None:
        self.header = EventHeader.parse(memoryview(begun), 0, start.position, layout.version)
        self._layout = layout
        self.start = start
        self._begun = begun
        self._covered = self.header.size - CHECKSUM_LENGTH * checksum
        self._passed = 0
        self._crc = 0
        self._file_crc = start.crc
        self._stored = b""
        self._checksum = checksum
        self.feed(begun)

    def feed(self, data: bytes | memoryview) -> bytes:
        """Take the event's next bytes; gives back those that are behind it."""
        view = memoryview(data)
        mine = view[: self.header.size - self._passed]
        covered = mine[: max(0, self._covered - self._passed)]
        self._crc = zlib.crc32(covered, self._crc)
        self._stored += mine[len(covered) :]
        self._file_crc = zlib.crc32(mine, self._file_crc)
        self._passed += len(mine)
        return bytes(view[len(mine) :])

    @property
    def whole(self) -> bool:
        """Whether all of it has passed."""
        return self._passed == self.header.size

    @property
    def valid(self) -> bool:
        """Whether its checksum matches."""
        return not self._checksum or int.from_bytes(self._stored, "little") == self._crc

    @property
    def end(self) -> Mark:
        """The mark behind it."""
        return Mark(self.start.position + self.header.size, self._file_crc)

    @property
    def buffer(self) -> Bytes:
        """Its first bytes, which tell what it does in its transaction."""
        return np.frombuffer(bytearray(self._begun), np.uint8)

    @property
    def frames(self) -> Frames:
        """The event as if framed, with a body that ends where `buffer` does."""
        head = self.header
        post_header = int(self._layout.cells[POST_HEADERS + head.type])
        fields = (
            *(0, int(head.type), head.size, head.timestamp, head.server_id, head.log_pos),
            *(int(head.flags), len(self._begun), 1, head.length, post_header),
        )
        table = np.array([fields], np.int64).T.copy()
        return Frames(table, head.size, self._checksum, self._layout)
