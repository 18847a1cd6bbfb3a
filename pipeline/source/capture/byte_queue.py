"""A queue between two threads that is bounded by bytes: who puts waits until there is room."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class ClosedError(Exception):
    """Nobody takes from the queue any more."""


class ByteQueue(Generic[Item]):
    """Holds items of `limit` bytes at most, or a single larger one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.most = 0
        """The most bytes that it has held."""
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._closed = False
        self._error: BaseException | None = None
        self._ended = False
        self._changed = threading.Condition()

    def put(self, item: Item, size: int) -> None:
        """Add an item of that many bytes, once there is room. Raises ClosedError."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or not self._items or self._bytes + size <= self.limit
            )
            if self._closed:
                raise ClosedError
            self._items.append((item, size))
            self._bytes += size
            self.most = max(self.most, self._bytes)
            self._changed.notify_all()

    @property
    def empty(self) -> bool:
        """Whether nothing waits to be taken."""
        return not self._items

    def end(self, error: BaseException | None = None) -> None:
        """Nothing more is put; `error` is raised to who takes, behind the last item."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more is taken: what is in it is let go, and whoever waits to put goes on."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._bytes = 0
            self._changed.notify_all()

    def get(self, seconds: float) -> Item | None:
        """The next item; None where there is none for so long.

        Raises the error of `end`, or EOFError, once all items before it are taken.
        """
        until = time.monotonic() + seconds
        with self._changed:
            while not self._items:
                if self._ended:
                    raise self._error or EOFError
                left = until - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    return None
            item, size = self._items.popleft()
            self._bytes -= size
            self._changed.notify_all()
            return item
