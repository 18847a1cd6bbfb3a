"""Splitting logs: the same segments whatever the pieces, which decode like the whole log."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

import decoder
from decoder import BinlogError, Framer, Segmenter
from decoder.constants import EventType
from decoder.errors import ChecksumError, EncryptedError, NotABinlogError
from decoder.segments import log_windows
from decoder.segments.log_header import read_description, read_head
from decoder.segments.log_windows import Checkpoint
from decoder.segments.segment_bounds import SegmentBounds
from decoder.segments.statistics import EventStatistics
from tests.support.decoder.event_bytes import (
    DATA,
    event_bytes,
    format_description,
    log_bytes,
    recorded,
    without_checksums,
)

MIB = 1 << 20
LOGS = sorted(file.stem for file in DATA.glob("*.binlog"))
SHOP = (DATA.parent.parent / "demo" / "binlogs" / "binlog.000003").read_bytes()[:20_000]
HEAD_LENGTH = 198
"""Bytes of the magic number, FORMAT_DESCRIPTION and PREVIOUS_GTIDS of `SHOP`."""
GTID = event_bytes(EventType.GTID, bytes([1]) + bytes(16) + struct.pack("<q", 7))
BEGIN = event_bytes(EventType.QUERY, struct.pack("<IIBHH", 1, 0, 0, 0, 0) + b"\0BEGIN")
XID = event_bytes(EventType.XID, struct.pack("<Q", 1))
STOP = event_bytes(EventType.STOP, b"")


def table_map(table_id: int) -> bytes:
    return event_bytes(EventType.TABLE_MAP, struct.pack("<Q", table_id)[:6] + b"\1\0map")


def rows(table_id: int, size: int, *, last: bool) -> bytes:
    body = struct.pack("<Q", table_id)[:6] + struct.pack("<H", int(last)) + bytes(size)
    return event_bytes(EventType.WRITE_ROWS, body)


def segmented(
    log: bytes,
    *,
    step: int = 8 * MIB,
    target: int = 16 * MIB,
    limit: int = 64 * MIB,
    stored: Checkpoint | None = None,
) -> Segmenter:
    segmenter = Segmenter(target=target, limit=limit, stored=stored)
    for start in range(0, len(log), step):
        segmenter.feed(log[start : start + step])
    segmenter.finish()
    return segmenter


def same(found: list[SegmentBounds], expected: list[SegmentBounds]) -> bool:
    """Return True if equal, without pytest's comparison of long values, which can take minutes."""
    return found == expected


def content(log: bytes, segment: SegmentBounds) -> bytes:
    return log[segment.start.position : segment.end.position]


def changes(log: bytes) -> Iterator[tuple[str, str, dict[str, object]]]:
    for change in decoder.read(log):
        for row in change.batch.to_pylist():
            yield change.schema, change.table, row


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize(("target", "limit"), [(1, 1), (300, 900), (4096, 8192), (MIB, MIB)])
def test_segments_do_not_depend_on_the_pieces(name: str, target: int, limit: int) -> None:
    log = recorded(name)
    whole = segmented(log, target=target, limit=limit)
    for step in (97, 4096):
        pieces = segmented(log, step=step, target=target, limit=limit)
        assert same(pieces.segments, whole.segments)
        assert str(pieces.fault) == str(whole.fault)
        assert str(pieces.framer.incomplete) == str(whole.framer.incomplete)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("target", [1, 2000, 100_000])
def test_segments_are_consecutive_with_the_crc_of_all_earlier_bytes(name: str, target: int) -> None:
    log = recorded(name)
    segments = segmented(log, target=target, limit=3 * target).segments
    assert segments[0].start == Checkpoint(0, 0)
    assert all(one.end == other.start for one, other in pairwise(segments))
    cleared = log[:21] + bytes([log[21] & 0xFE]) + log[22:]
    for segment in segments:
        assert segment.end.crc == zlib.crc32(cleared[: segment.end.position])
    assert all(
        segment.end.position - segment.start.position >= target
        for segment in segments[:-1]
        if not inside(segments, segment)
    )


def inside(segments: list[SegmentBounds], segment: SegmentBounds) -> bool:
    """Return True if the segment is next to a split transaction, which ends segments early."""
    index = segments.index(segment)
    return any(c.transaction_pos is not None for c in segments[max(0, index - 1) : index + 3])


def test_a_transaction_above_the_limit_is_split_between_events_with_preambles() -> None:
    transaction = [
        GTID,
        BEGIN,
        table_map(1),
        rows(1, 400, last=True),
        table_map(2),
        table_map(3),
        *(rows(2, 400, last=False) for _ in range(3)),
        rows(3, 400, last=True),
        XID,
    ]
    small = [GTID, BEGIN, table_map(9), rows(9, 10, last=True), XID]
    log = log_bytes(*small, *transaction, *small, STOP)
    description = log[4 : 4 + len(format_description())]
    segments = segmented(log, target=900, limit=1500).segments
    start = len(description) + 4 + len(b"".join(small))

    pieces = [segment for segment in segments if segment.transaction_pos is not None]
    assert [segment.transaction_pos for segment in pieces] == [start] * len(pieces)
    assert content(log, segments[0]) == log[:start]
    assert content(log, segments[1]) == b"".join(transaction[:7])
    assert segments[1].preamble == description
    opened = description + GTID + BEGIN
    assert segments[2].preamble == opened + table_map(2) + table_map(3)
    assert content(log, segments[2]) == b"".join(transaction[7:10])
    assert (content(log, segments[3]), segments[3].preamble) == (XID, opened)
    assert content(log, segments[4]) == b"".join(small) + STOP
    assert (segments[4].preamble, segments[4].transaction_pos) == (description, None)


def test_a_transaction_below_the_limit_is_not_split() -> None:
    big = [GTID, BEGIN, table_map(1), rows(1, 5000, last=False), rows(1, 5000, last=True), XID]
    small = [GTID, BEGIN, table_map(9), rows(9, 10, last=True), XID]
    log = log_bytes(*small, *big, *small)
    segments = segmented(log, target=100, limit=12_000).segments
    assert all(segment.transaction_pos is None for segment in segments)
    assert [content(log, segment)[-len(XID) :] for segment in segments[1:]] == [XID] * 3
    joined = segmented(log, target=9000, limit=10_200).segments
    assert content(log, joined[1]) == b"".join(big)


@pytest.mark.parametrize("step", [1 << 23, 1000, 77])
def test_an_event_too_large_to_hold_is_verified_while_streaming(
    monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    monkeypatch.setattr(log_windows, "LARGE_EVENT", 5000)
    large = event_bytes(EventType.TRANSACTION_PAYLOAD, bytes(20_000), checksum=True)
    gtid = event_bytes(EventType.GTID, bytes([1]) + bytes(16) + struct.pack("<q", 7), checksum=True)
    description = format_description(algorithm=1)
    log = log_bytes(gtid, large, gtid, large, description=description)
    sound = segmented(log, step=step, target=100, limit=1000)
    assert sound.fault is None
    assert [content(log, segment) for segment in sound.segments][1:] == [gtid + large] * 2
    assert sound.segments[-1].end.crc == zlib.crc32(log)

    damaged = bytearray(log)
    damaged[len(log) - 9000] ^= 1
    refused = segmented(bytes(damaged), step=step, target=100, limit=1000)
    assert isinstance(refused.fault, ChecksumError)
    assert refused.fault.position == len(log) - len(large)
    assert refused.boundary.position == len(log) - len(large) - len(gtid)

    cut_off = segmented(log[:-1], step=step, target=100, limit=1000)
    assert cut_off.fault is None
    assert "TRANSACTION_PAYLOAD" in str(cut_off.framer.incomplete)


@pytest.mark.parametrize("name", LOGS)
def test_a_segment_decodes_to_its_part_of_the_whole(name: str) -> None:
    log = recorded(name)
    try:
        expected = list(changes(log))
    except BinlogError:
        return  # unsupported content is reported by silver
    for target, limit in ((1, 1), (700, 1400), (5000, 20_000)):
        got = []
        for segment in segmented(log, target=target, limit=limit).segments:
            for schema, table, row in changes(segment.preamble + content(log, segment)):
                got.append((schema, table, row))
        assert len(got) == len(expected)
        images = [(s, t, r["__op"], r["before"], r["after"]) for s, t, r in got]
        assert sorted(images, key=repr) == sorted(
            ((s, t, r["__op"], r["before"], r["after"]) for s, t, r in expected), key=repr
        )


@given(st.data())
@settings(max_examples=150)
def test_a_flipped_bit_affects_no_earlier_transaction(data: st.DataObject) -> None:
    log = SHOP
    position = data.draw(st.integers(HEAD_LENGTH, len(log) - 1))
    damaged = bytearray(log)
    damaged[position] ^= 1 << data.draw(st.integers(0, 7))
    sound = segmented(log, target=1, limit=1 * MIB)
    found = segmented(bytes(damaged), target=1, limit=1 * MIB)
    before = [segment for segment in sound.segments if segment.end.position <= position]
    assert same(found.segments[: len(before)], before)
    assert found.fault is not None or found.framer.incomplete is not None
    assert found.boundary.position <= position


@pytest.mark.parametrize("position", range(HEAD_LENGTH))
def test_a_flipped_bit_in_the_head_is_detected_by_reading_the_head(position: int) -> None:
    sound = read_head(SHOP)
    for bit in range(8):
        damaged = bytearray(SHOP)
        damaged[position] ^= 1 << bit
        if (position, bit) == (21, 0):
            assert read_head(bytes(damaged)).incarnation == sound.incarnation  # the in-use flag
        else:
            with pytest.raises(BinlogError):
                read_head(bytes(damaged))


@given(st.integers(0, 20_000))
@settings(max_examples=60)
def test_a_truncated_file_yields_its_complete_transactions(size: int) -> None:
    log = SHOP
    sound = segmented(log, target=1, limit=MIB)
    found = segmented(log[:size], target=1, limit=MIB)
    whole = [segment for segment in sound.segments if segment.end.position <= size]
    assert same(found.segments, whole)
    at_boundary = bool(whole) and whole[-1].end.position == min(size, len(log))
    assert (found.framer.incomplete is None and found.fault is None) == at_boundary


def test_splitting_resumes_after_the_stored_segments() -> None:
    log = SHOP
    all_at_once = segmented(log, target=1000, limit=4000)
    for segment in all_at_once.segments[1:-1]:
        rest = segmented(log, target=1000, limit=4000, stored=segment.start, step=5000)
        assert rest.fault is None
        assert same(rest.segments, all_at_once.segments[all_at_once.segments.index(segment) :])
    done = segmented(log, target=1000, limit=4000, stored=all_at_once.boundary)
    assert (done.segments, done.fault) == ([], None)


def test_a_file_whose_ingested_bytes_changed_is_refused() -> None:
    log = without_checksums(SHOP)
    stored = segmented(log, target=1000, limit=4000).segments[2].end
    changed = bytearray(log)
    changed[stored.position - 1] ^= 1
    found = segmented(bytes(changed), target=1000, limit=4000, stored=stored)
    assert found.changed
    assert found.segments == []
    assert "differ from those already ingested" in str(found.fault)


def test_the_in_use_flag_does_not_affect_segments() -> None:
    log = SHOP
    used = log[:21] + bytes([log[21] | 1]) + log[22:]
    one, other = (segmented(data, target=900, limit=2000) for data in (log, used))
    assert same(one.segments, other.segments)
    assert (one.framer.in_use, other.framer.in_use) == (False, True)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", NotABinlogError),
        (b"PK\3\4" + bytes(99), NotABinlogError),
        (b"\xfdbin", EncryptedError),
    ],
)
def test_a_file_that_is_not_a_plain_binary_log_is_refused(
    data: bytes, error: type[BinlogError]
) -> None:
    found = segmented(data)
    assert isinstance(found.fault, error)
    assert found.segments == []


@pytest.mark.parametrize("name", LOGS)
def test_the_statistics_of_segments_add_up_to_the_events_of_the_file(name: str) -> None:
    log = recorded(name)
    segmenter = segmented(log, target=1000, limit=3000)
    upto = segmenter.boundary.position
    expected: dict[str, int] = {}
    for event in decoder.events(log[:upto]):
        if not event.inside_payload:
            expected[event.name] = expected.get(event.name, 0) + 1
    found: dict[str, int] = {}
    gtids = set()
    for segment in segmenter.segments:
        part = Framer(verify=False)
        if segment.start.position:
            part.resume(segment.start, segment.preamble, segment.transaction_pos)
        tally = EventStatistics()
        tally.add(part.feed(content(log, segment)), read_description(segment.preamble or log))
        for kind, count in tally.events.items():
            found[kind] = found.get(kind, 0) + count
        for source in tally.gtids.sources:
            gtids |= {(source.uuid, n) for a, b in source.intervals for n in range(a, b + 1)}
    assert found == expected
    tagged_or_not = expected.get("GTID", 0) + expected.get("GTID_TAGGED", 0)
    assert len(gtids) == tagged_or_not
