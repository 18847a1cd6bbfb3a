"""Bytes that arrive in parts, as a window over whole events: one reused buffer with slack."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.constants import HEADER_LENGTH

WINDOW = 1 << 22
"""Bytes of a window, near to what a core's cache holds; it grows only for a larger event."""
_TYPE_OFFSET = 4
_SIZE_OFFSET = 9
LARGEST_EVENT = (1 << 31) - (1 << 20)
"""Cell positions are int32."""


class Feed:
    """A buffer that slides over the parts; `start` and `end` bound the bytes not consumed yet.

    `position` is where `buffer[start]` is in the file.
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
        """How many bytes are not consumed."""
        return self.end - self.start

    def consume(self, to: int) -> None:
        """Everything before `buffer[to]` is done with."""
        self.position += to - self.start
        self.start = to
        self._window = self._usual

    def forget(self, before: int) -> None:
        """Bytes before that file position will not be asked for again by `again`."""
        while self._taken and self._taken[0][0] + len(self._taken[0][1]) <= before:
            self._taken.popleft()

    def again(self, start: int, end: int) -> Iterator[memoryview]:
        """Bytes between two file positions once more, as far as they were not forgotten."""
        for position, piece in self._taken:
            yield piece[max(start - position, 0) : max(end - position, 0)]

    def fill(self) -> None:
        """Reads on until the window is full or the parts end."""
        while self.left < self._window and not self.exhausted:
            if len(self._part):
                self._take(min(len(self._part), self._window - self.left))
            else:
                self._next_part()

    def pass_through(self, size: int) -> list[memoryview]:
        """Consumes that many bytes, or what is left, without a copy of those that are not read yet.

        The first piece is what the window has of them.
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
        """Makes the window larger, for an event that does not fit; False at the end.

        It grows in steps, since the size that the event's header tells may be wrong, and to no more
        than that, since the bytes are copied.
        """
        before = self.left
        largest = min(max(self._event_size(), before + 1), LARGEST_EVENT)
        self._window = min(max(4 * self._window, before + 1), largest)
        self.fill()
        return self.left > before

    @property
    def next_type(self) -> int:
        """The type of the event that comes next, 0 where its header is not all there."""
        return int(self.buffer[self.start + _TYPE_OFFSET]) if self.left >= HEADER_LENGTH else 0

    def _event_size(self) -> int:
        """What the header of the event that comes next says, 0 where it is not all there."""
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
            else:
                kept = kept.copy()  # it may overlap the place where it goes
            self.buffer[HEAD_SLACK : HEAD_SLACK + left] = kept
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
