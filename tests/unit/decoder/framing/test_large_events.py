"""Streamed large events: the same segments as if they were held, whatever the pieces."""

from __future__ import annotations

import struct

import pytest

from decoder import Segmenter
from decoder.constants import EventType
from decoder.events.layout import V4
from decoder.framing.large_event import BEGINNING, Checkpoint, LargeEvent
from decoder.segments import log_windows
from decoder.segments.segment_bounds import SegmentBounds
from tests.support.decoder.event_bytes import event_bytes, format_description, log_bytes
from tests.support.decoder.logs import INT, LONGTEXT, Table, gtid, query, xid

WIDE = Table(4, "wide", (INT, LONGTEXT))
LARGE = 5000
TEXT = "x" * 2 * LARGE
HEADER_AND_FLAGS = 27
NUMBERS_OF_2006 = {19: 16, 20: 17, 21: 18, 22: 19, 16: 20, 17: 21, 18: 22}
PIECES = [1, 19, HEADER_AND_FLAGS - 1, HEADER_AND_FLAGS, 1000, 1 << 20]


def segments(log: bytes, pieces: list[bytes]) -> list[SegmentBounds]:
    segmenter = Segmenter(target=1, limit=1 << 20)
    for piece in pieces:
        segmenter.feed(piece)
    segmenter.finish()
    assert segmenter.fault is None
    assert segmenter.boundary.position == len(log)
    return segmenter.segments


def in_pieces(log: bytes, size: int) -> list[bytes]:
    return [log[start : start + size] for start in range(0, len(log), size)]


def as_of_2006(*events: bytes) -> bytes:
    renumbered = [NUMBERS_OF_2006.get(event[4], event[4]) for event in events]
    numbers = zip(events, renumbered, strict=True)
    return b"".join(event[:4] + bytes([number]) + event[5:] for event, number in numbers)


ROWS = WIDE.rows((1, TEXT), kind=EventType.WRITE_ROWS_V1)
PRE_GA_ROWS = event_bytes(EventType.PRE_GA_WRITE_ROWS, ROWS[19:])
OLD = format_description("5.1.50", None)
OF_2006 = format_description("5.2.2-a_drop6p13-log", None, bytes([56, 13]) + bytes(25))
LONG_STATUS = struct.pack("<IIBHH", 9, 0, 4, 0, 6000) + bytes(6000) + b"shop\0"
LOGS = {
    "rows end their statement": log_bytes(WIDE.map(), ROWS, WIDE.map(), ROWS, description=OLD),
    "in trees of 2006": log_bytes(
        as_of_2006(WIDE.map(), PRE_GA_ROWS, WIDE.map(), PRE_GA_ROWS, query("BEGIN"), xid()),
        description=OF_2006,
    ),
    "a statement's text": log_bytes(
        gtid(1),
        query("BEGIN"),
        event_bytes(EventType.QUERY, LONG_STATUS + b"COMMIT"),
        gtid(2),
        query("CREATE TABLE t (a INT)"),
    ),
}


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("name", LOGS)
def test_segments_are_those_of_held_events(
    monkeypatch: pytest.MonkeyPatch, name: str, size: int
) -> None:
    log = LOGS[name]
    held = segments(log, [log])
    monkeypatch.setattr(log_windows, "LARGE_EVENT", LARGE)
    assert segments(log, in_pieces(log, size)) == held
    assert len(held) > 1


@pytest.mark.parametrize("alone", [19, HEADER_AND_FLAGS - 1, HEADER_AND_FLAGS])
def test_the_start_of_an_event_may_be_a_piece_of_its_own(
    monkeypatch: pytest.MonkeyPatch, alone: int
) -> None:
    log = LOGS["rows end their statement"]
    held = segments(log, [log])
    monkeypatch.setattr(log_windows, "LARGE_EVENT", LARGE)
    start = log.index(ROWS)
    assert segments(log, [log[: start + alone], log[start + alone :]]) == held


def test_only_the_beginning_of_an_event_is_held() -> None:
    event = event_bytes(EventType.ROWS_QUERY, bytes(3 * BEGINNING), checksum=True)
    large = LargeEvent(event[:100], Checkpoint(4, 0), V4, checksum=True)
    assert large.feed(event[100:] + b"next") == b"next"
    assert (large.whole, large.valid) == (True, True)
    assert bytes(large.buffer) == event[:BEGINNING]


def test_the_checksum_is_not_part_of_the_beginning() -> None:
    event = event_bytes(EventType.ROWS_QUERY, b"text", checksum=True)
    large = LargeEvent(event, Checkpoint(4, 0), V4, checksum=True)
    assert bytes(large.buffer) == event[:-4]
    assert large.frames.end.tolist() == [len(event) - 4]
