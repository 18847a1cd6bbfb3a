"""Forward reading over bytes that are stored in several chunks."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any


def slice_chunks(pieces: Sequence[memoryview], start: int, stop: int) -> Iterator[memoryview]:
    """Yield the bytes in [`start`, `stop`), counted over all pieces, without copying."""
    at = 0
    for piece in pieces:
        part = piece[max(start - at, 0) : max(stop - at, 0)]
        at += len(piece)
        if len(part):
            yield part


class ChunkedReader(io.RawIOBase):
    """A forward-only file over several pieces of bytes."""

    def __init__(self, pieces: Sequence[memoryview]) -> None:
        super().__init__()
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, target: Any, /) -> int:
        """Copy the next bytes into `target`; return their number, at least 1, or 0 at the end."""
        if not len(self._piece):
            self._piece = next((piece for piece in self._pieces if len(piece)), memoryview(b""))
        size = min(len(target), len(self._piece))
        target[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size
