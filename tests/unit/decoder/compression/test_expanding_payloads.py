"""Decompression of a TRANSACTION_PAYLOAD: all of it, but never more than the announced size."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import zstandard

import decoder
from decoder import SegmentDecoder, TypeOptions
from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.compression import payload as windows
from decoder.compression.payload import INNER_WINDOW, InnerBuffer, inner_windows
from decoder.constants import EventType
from decoder.errors import MalformedError
from decoder.events.transaction_payload import LARGEST_INSIDE, TransactionPayloadEvent
from decoder.framing.frames import Frames
from decoder.model.results import Changes
from decoder.model.segment import Segment
from tests.support.decoder.event_bytes import event_bytes, log_bytes, parsed
from tests.support.decoder.logs import (
    CUP,
    LONGTEXT,
    POT,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    payload,
    query,
    transaction,
    xid,
)

MIB = 1 << 20
WIDE = Table(9, "wide", (LONGTEXT,))
COMPRESSOR = zstandard.ZstdCompressor()


def expanding(inner: bytes, *, size: int | None = None) -> bytes:
    return payload(inner, compressed=COMPRESSOR.compress(inner), size=size)


def passed(inner: bytes, size: int | None, buffer: InnerBuffer) -> Iterator[Frames]:
    """Return the windows of a payload that announces `size`."""
    body = expanding(inner, size=size)[19:]
    event = parsed(EventType.TRANSACTION_PAYLOAD, body)
    assert isinstance(event, TransactionPayloadEvent)
    return inner_windows(event, [memoryview(body)[event.payload_offset - 19 :]], buffer)


def size_of(buffer: InnerBuffer) -> int:
    return len(buffer.data) - HEAD_SLACK - SLACK


def size_of_window(frames: Frames) -> int:
    return frames.next_offset - HEAD_SLACK


def peak_of(run: Callable[[], Any]) -> int:
    """Return the peak of the memory that `run` allocates."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_payload_of_ten_thousand_times_its_bytes_is_decoded() -> None:
    texts = ["a" * (20 * MIB), "b" * (9 * MIB), "c"]
    inner = query("BEGIN") + WIDE.map() + b"".join(WIDE.rows((text,)) for text in texts) + xid()
    stored = expanding(inner)
    assert len(inner) > 10_000 * len(stored)
    results = decoded(log_bytes(gtid(1), stored, transaction(2, insert(POT, (1,)))))
    assert not faults(results)
    found = [row["after"] for r in results if isinstance(r, Changes) for row in r.batch.to_pylist()]
    assert [row["c1"] for row in found] == [*texts, 1]


@pytest.mark.parametrize("announced", [0, 1, 100, 3 * MIB, 5 * MIB, 20 * MIB])
def test_decompression_stops_at_the_announced_size(announced: int) -> None:
    inner = event_bytes(EventType.ROWS_QUERY, bytes(1000)) * (40 * MIB // 1019)
    buffer = InnerBuffer()
    found: list[int] = []
    with pytest.raises(MalformedError, match="more than"):
        found.extend(size_of_window(frames) for frames in passed(inner, announced, buffer))
    assert sum(found) <= announced
    assert size_of(buffer) <= INNER_WINDOW


def test_a_payload_that_announces_no_content_but_has_some_is_a_fault() -> None:
    log = log_bytes(gtid(1), expanding(query("BEGIN") + insert(CUP, (1, "a")) + xid(), size=0))
    (fault,) = faults(decoded(log))
    assert fault["event_type"] == "TRANSACTION_PAYLOAD"


@pytest.mark.parametrize("announced", [1 << 30, 1 << 50])
def test_no_memory_is_allocated_for_sizes_without_bytes(announced: int) -> None:
    begun = query("BEGIN")
    unfinished = event_bytes(EventType.ROWS_QUERY, bytes(2 * MIB))
    claiming = unfinished[:9] + (1 << 29).to_bytes(4, "little") + unfinished[13:]
    for inner in (begun, begun + claiming, claiming):
        buffer = InnerBuffer()
        with pytest.raises(MalformedError, match=r"its content has|not a complete event"):
            list(passed(inner, announced, buffer))
        assert size_of(buffer) <= 3 * INNER_WINDOW


@pytest.mark.parametrize("size", [LARGEST_INSIDE + 1, 0xFFFFFFFF])
def test_an_event_larger_than_mysql_reads_is_malformed(size: int) -> None:
    event = event_bytes(EventType.ROWS_QUERY, bytes(5 * MIB))
    inner = query("BEGIN") + event[:9] + size.to_bytes(4, "little") + event[13:]
    log = log_bytes(gtid(1), expanding(inner, size=1 << 40), transaction(2, insert(POT, (1,))))
    results = decoded(log)
    (fault,) = faults(results)
    assert fault["kind"] == "undecodable"
    assert f"an inner event has {size} bytes; the limit is {LARGEST_INSIDE}" in str(fault["reason"])
    assert changed(results) == [("pot", "insert", None, (1,))]


def test_windows_are_small_again_after_a_large_event() -> None:
    small = event_bytes(EventType.ROWS_QUERY, bytes(1000)) * (20 * MIB // 1019)
    large = event_bytes(EventType.ROWS_QUERY, bytes(17 * MIB))
    inner = small + large + small
    found = [size_of_window(frames) for frames in passed(inner, len(inner), InnerBuffer())]
    assert sum(found) == len(inner)
    assert [size for size in found if size > INNER_WINDOW] == [len(large)]


def test_the_buffer_of_a_large_event_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    buffers = []

    class Watched(InnerBuffer):
        def __init__(self) -> None:
            super().__init__()
            buffers.append(self)

    monkeypatch.setattr("decoder.compression.payload_decoder.InnerBuffer", Watched)
    inner = query("BEGIN") + insert(WIDE, ("a" * 17 * MIB,)) + xid()
    unit = SegmentDecoder(Segment("binlog.000001", 1), TypeOptions())
    assert len(changed(list(unit.decode([log_bytes(gtid(1), expanding(inner))])))) == 1
    (buffer,) = buffers
    assert size_of(buffer) < INNER_WINDOW < windows._MOST_KEPT < 17 * MIB


def test_memory_for_a_large_event_is_a_small_multiple_of_its_size() -> None:
    """Twice its size while growing, and framing's table of nine tenths of it, hardly used."""
    inner = event_bytes(EventType.ROWS_QUERY, bytes(60 * MIB))
    stored = passed(inner, len(inner), InnerBuffer())
    assert peak_of(lambda: [len(frames) for frames in stored]) < 2.9 * len(inner)


def test_iterating_events_holds_one_copy_of_one_large_event() -> None:
    inner = event_bytes(EventType.WRITE_ROWS, CUP.rows((1, "a"))[19:] + bytes(60 * MIB))
    log = log_bytes(gtid(1), expanding(inner * 2))
    assert peak_of(lambda: [event.name for event in decoder.events(log)]) < 1.2 * len(inner)
