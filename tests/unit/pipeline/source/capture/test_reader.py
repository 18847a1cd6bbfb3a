from __future__ import annotations

import threading
import time

import pytest

from pipeline.source.capture.reader import ByteQueue, ClosedError


def test_items_are_returned_in_order_followed_by_the_error() -> None:
    queue: ByteQueue[str] = ByteQueue(10)
    queue.put("a", 4)
    queue.put("b", 4)
    queue.end(ValueError("gone"))
    assert [queue.get(1), queue.get(1)] == ["a", "b"]
    with pytest.raises(ValueError, match="gone"):
        queue.get(1)


def test_an_end_without_an_error_raises_eof() -> None:
    queue: ByteQueue[str] = ByteQueue(10)
    queue.end()
    with pytest.raises(EOFError):
        queue.get(1)


def test_get_returns_none_after_the_timeout() -> None:
    began = time.monotonic()
    assert ByteQueue[str](10).get(0.05) is None
    assert time.monotonic() - began >= 0.05


def test_put_waits_for_room_and_a_large_item_fills_the_queue() -> None:
    queue: ByteQueue[int] = ByteQueue(10)
    sizes = [3, 6, 5, 25, 1, 9]

    def put() -> None:
        for number, size in enumerate(sizes):
            queue.put(number, size)
        queue.end()

    thread = threading.Thread(target=put)
    thread.start()
    time.sleep(0.05)
    assert queue.most == 9  # the third would not fit
    assert [queue.get(5) for _ in sizes] == list(range(len(sizes)))
    thread.join(5)
    assert queue.most == 25


def test_closing_the_queue_releases_a_blocked_put() -> None:
    queue: ByteQueue[str] = ByteQueue(10)
    queue.put("a", 10)
    threading.Timer(0.05, queue.close).start()
    with pytest.raises(ClosedError):
        queue.put("b", 10)
    assert queue.empty
