"""The thread that receives the dump while another one lands it, and the queue between the two.

The queue is bounded by bytes: `put` blocks until there is room.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

from pipeline.source.capture.dump_connection import DumpConnection
from pipeline.source.capture.dump_items import LogBytes, Received
from pipeline.source.capture.dump_stream import DumpStream

_SMALL = 64
"""Size in bytes that the queue assumes for an item without data."""


Item = TypeVar("Item")


class ClosedError(Exception):
    """The consumer has closed the queue."""


class ByteQueue(Generic[Item]):
    """A queue of items of `limit` bytes in total, or of a single larger one."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.most = 0
        """High-water mark in bytes."""
        self._items: deque[tuple[Item, int]] = deque()
        self._bytes = 0
        self._closed = False
        self._error: BaseException | None = None
        self._ended = False
        self._changed = threading.Condition()

    def put(self, item: Item, size: int) -> None:
        """Add an item of `size` bytes as soon as there is room. Raises ClosedError."""
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
        """True if the queue holds no item."""
        return not self._items

    def end(self, error: BaseException | None = None) -> None:
        """Declare that no more items follow; `get` raises `error` after the last one."""
        with self._changed:
            self._ended, self._error = True, error
            self._changed.notify_all()

    def close(self) -> None:
        """Stop consuming: discard the items, and release a blocked `put` with ClosedError."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._bytes = 0
            self._changed.notify_all()

    def get(self, seconds: float) -> Item | None:
        """Return the next item; None if none arrives within `seconds`.

        After the last item, raises the error given to `end`, or EOFError.
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


def read_into(dump: DumpConnection, queue: ByteQueue[Received]) -> None:
    """Put the dump's items into the queue until it fails or the queue is closed.

    The error that ended the dump ends the queue.
    """
    stream = DumpStream()
    with suppress(ClosedError):
        try:
            while True:
                for item in stream.received(dump.receive_into(stream.room())):
                    queue.put(item, len(item.data) if isinstance(item, LogBytes) else _SMALL)
        except ClosedError:
            raise
        except Exception as error:
            queue.end(error)
