"""Bytes that lie in several pieces, as one stream that is read forward."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any


def cut(pieces: Sequence[memoryview], start: int, stop: int) -> Iterator[memoryview]:
    """The bytes from `start` to before `stop`, counted over all pieces; nothing is copied."""
    at = 0
    for piece in pieces:
        part = piece[max(start - at, 0) : max(stop - at, 0)]
        at += len(piece)
        if len(part):
            yield part


class PieceReader(io.RawIOBase):
    """The pieces as a file that can only be read forward."""

    def __init__(self, pieces: Sequence[memoryview]) -> None:
        super().__init__()
        self._pieces = iter(pieces)
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, target: Any, /) -> int:
        """Copies the next bytes into `target`, at least one; how many they are, 0 at the end."""
        if not len(self._piece):
            self._piece = next((piece for piece in self._pieces if len(piece)), memoryview(b""))
        size = min(len(target), len(self._piece))
        target[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size
