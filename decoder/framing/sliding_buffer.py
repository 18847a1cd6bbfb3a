"""A sliding window over bytes that arrive in parts: one reused buffer with slack."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.constants import HEADER_LENGTH

WINDOW = 1 << 22
"""Bytes of a window, close to the size of a core's cache; it only grows for a larger event."""
_TYPE_OFFSET = 4
_SIZE_OFFSET = 9
LARGEST_EVENT = (1 << 31) - (1 << 20)
"""The largest event in bytes, as cell positions are int32."""


class SlidingBuffer:
    """A buffer that slides over the parts; `buffer[start:end]` is not consumed yet.

    `position` is the file position of `buffer[start]`.
    """

    def __init__(self, parts: Iterable[Any], position: int, window: int = WINDOW) -> None:
        self._parts = iter(parts)
        self._part = memoryview(b"")
        self._usual = self._window = window
        self.buffer: npt.NDArray[np.uint8] = np.empty(HEAD_SLACK + SLACK, np.uint8)
        self.start = self.end = HEAD_SLACK
        self.position = position
        self.exhausted = False
        self._taken: deque[tuple[int, memoryview]] = deque()
        self._taken_end = position

    @property
    def base(self) -> int:
        """The file position of `buffer[0]`."""
        return self.position - self.start

    @property
    def left(self) -> int:
        """Number of bytes that are not consumed yet."""
        return self.end - self.start

    def consume(self, to: int) -> None:
        """Consume all bytes before `buffer[to]`."""
        self.position += to - self.start
        self.start = to
        self._window = self._usual

    def forget(self, before: int) -> None:
        """Release the bytes before a file position, which `reread` then no longer returns."""
        while self._taken and self._taken[0][0] + len(self._taken[0][1]) <= before:
            self._taken.popleft()

    def reread(self, start: int, end: int) -> Iterator[memoryview]:
        """Yield the bytes between two file positions again, except for forgotten ones."""
        for position, piece in self._taken:
            yield piece[max(start - position, 0) : max(end - position, 0)]

    def fill(self) -> None:
        """Read until the window is full or the parts end."""
        while self.left < self._window and not self.exhausted:
            if len(self._part):
                self._take(min(len(self._part), self._window - self.left))
            else:
                self._next_part()

    def pass_through(self, size: int) -> list[memoryview]:
        """Consume and return `size` bytes, or all that are left.

        The first piece is a copy of the bytes in the window; those not read yet are not copied.
        """
        begun = self.buffer[self.start : min(self.end, self.start + size)].tobytes()
        pieces = [memoryview(begun)]
        self.consume(self.start + len(begun))
        missing = size - len(begun)
        while missing and not self.exhausted:
            piece = self._part[:missing]
            self._part = self._part[missing:]
            missing -= len(piece)
            pieces.append(piece)
            self._taken.append((self._taken_end, piece))
            self._taken_end += len(piece)
            self.position += len(piece)
            if not len(self._part):
                self._next_part()
        return pieces

    def extend(self) -> bool:
        """Enlarge the window for an event that does not fit; return False at the end of the parts.

        It grows in steps, because the size in the event's header may be wrong, and not beyond that
        size, because the bytes are copied.
        """
        before = self.left
        largest = min(max(self._event_size(), before + 1), LARGEST_EVENT)
        self._window = min(max(4 * self._window, before + 1), largest)
        self.fill()
        return self.left > before

    @property
    def next_type(self) -> int:
        """Type code of the next event; 0 if its header is incomplete."""
        return int(self.buffer[self.start + _TYPE_OFFSET]) if self.left >= HEADER_LENGTH else 0

    def _event_size(self) -> int:
        """Return the size of the next event by its header; 0 if the header is incomplete."""
        size = self.buffer[self.start + _SIZE_OFFSET : self.start + HEADER_LENGTH][:4]
        return int.from_bytes(size.tobytes(), "little") if self.left >= HEADER_LENGTH else 0

    def _take(self, size: int) -> None:
        left = self.left
        if self.end + size + SLACK > len(self.buffer):
            needed = HEAD_SLACK + left + size + SLACK
            most = HEAD_SLACK + self._window + SLACK
            kept = self.buffer[self.start : self.end]
            if needed > len(self.buffer) or len(self.buffer) > 2 * most:
                self.buffer = np.empty(most, np.uint8)
            self.buffer[HEAD_SLACK : HEAD_SLACK + left] = kept  # NumPy allows them to overlap
            self.start, self.end = HEAD_SLACK, HEAD_SLACK + left
        self._taken.append((self._taken_end, self._part[:size]))
        self._taken_end += size
        self.buffer[self.end : self.end + size] = np.frombuffer(self._part[:size], np.uint8)
        self.end += size
        self._part = self._part[size:]

    def _next_part(self) -> None:
        for part in self._parts:
            self._part = memoryview(part).cast("B")
            if len(self._part):
                return
        self.exhausted = True
