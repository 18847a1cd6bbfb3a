"""Bytes that arrive in parts, as a window over whole events: one reused buffer with slack."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.columns.cells import HEAD_SLACK, SLACK

WINDOW = 1 << 24
"""Bytes of a window; it grows only for an event that is larger."""
LARGEST_EVENT = (1 << 31) - (1 << 20)
"""Cell positions are int32."""


class Feed:
    """A buffer that slides over the parts; `start` and `end` bound the bytes not consumed yet.

    `position` is where `buffer[start]` is in the file.
    """

    def __init__(self, parts: Iterable[Any], position: int, window: int = WINDOW) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")
        self._window = window
        self.buffer: npt.NDArray[np.uint8] = np.empty(HEAD_SLACK + SLACK, np.uint8)
        self.start = self.end = HEAD_SLACK
        self.position = position
        self.exhausted = False

    @property
    def base(self) -> int:
        """The file position of `buffer[0]`."""
        return self.position - self.start

    @property
    def left(self) -> int:
        """How many bytes are not consumed."""
        return self.end - self.start

    def consume(self, to: int) -> None:
        """Everything before `buffer[to]` is done with."""
        self.position += to - self.start
        self.start = to

    def fill(self) -> None:
        """Reads on until the window is full or the parts end."""
        while self.left < self._window and not self.exhausted:
            if len(self._part):
                self._take(min(len(self._part), self._window - self.left))
            else:
                self._next_part()

    def extend(self) -> bool:
        """Makes the window twice as large, for an event that does not fit; False at the end."""
        before = self.left
        self._window = min(max(2 * self._window, before + 1), LARGEST_EVENT)
        self.fill()
        return self.left > before

    def _take(self, size: int) -> None:
        left = self.left
        if self.end + size + SLACK > len(self.buffer):
            needed = HEAD_SLACK + left + size + SLACK
            target = self.buffer
            if needed > len(target):
                most = HEAD_SLACK + self._window + SLACK
                target = np.empty(min(max(needed, 2 * len(target)), most), np.uint8)
            target[HEAD_SLACK : HEAD_SLACK + left] = self.buffer[self.start : self.end].copy()
            self.buffer = target
            self.start, self.end = HEAD_SLACK, HEAD_SLACK + left
        self.buffer[self.end : self.end + size] = np.frombuffer(self._part[:size], np.uint8)
        self.end += size
        self._part = self._part[size:]

    def _next_part(self) -> None:
        for part in self._parts:
            self._part = memoryview(part).cast("B")
            if len(self._part):
                return
        self.exhausted = True
