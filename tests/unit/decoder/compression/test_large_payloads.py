"""A TRANSACTION_PAYLOAD larger than a window: streamed from its pieces, decoded whole or not."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
import zstandard

from decoder import SegmentDecoder, TypeOptions
from decoder.framing.chunked_reader import ChunkedReader, slice_chunks
from decoder.framing.sliding_buffer import WINDOW
from decoder.model.results import Changes
from decoder.model.segment import Segment
from tests.support.decoder.logs import (
    INT,
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
    transactions,
    with_checksums,
    xid,
)

WIDE = Table(9, "wide", (INT, LONGTEXT))
ROWS = 40
PIECES = [1 << 16, 1_000_003, 1 << 26]
CHANCE = random.Random(5)
TEXTS = [CHANCE.randbytes(250_000).hex() for _ in range(ROWS)]
INNER = b"".join(
    [
        query("BEGIN"),
        WIDE.map(),
        *(WIDE.rows((n, text), end=n == ROWS - 1) for n, text in enumerate(TEXTS)),
        xid(7),
    ]
)


def log(stored: bytes) -> bytes:
    """Return a log with the payload between two small transactions, all with checksums."""
    others = [transaction(n, insert(POT, (n,))) for n in (1, 3)]
    return with_checksums(others[0], gtid(2), stored, others[1])


def in_pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


COMPRESSED = log(payload(INNER, compressed=zstandard.compress(INNER, 1)))
PLAIN = log(payload(INNER))


def test_the_payloads_are_larger_than_a_window() -> None:
    assert len(COMPRESSED) > 2 * WINDOW


@pytest.mark.parametrize("size", PIECES)
@pytest.mark.parametrize("data", [COMPRESSED, PLAIN], ids=["zstd", "not compressed"])
def test_rows_do_not_depend_on_the_pieces(data: bytes, size: int) -> None:
    results = list(
        SegmentDecoder(Segment("binlog.000001", 1), TypeOptions()).decode(in_pieces(data, size))
    )
    assert not faults(results)
    found = {row[-1] for row in changed(results) if row[0] == "wide"}
    assert found == set(enumerate(TEXTS))
    assert [row[-1] for row in changed(results) if row[0] == "pot"] == [(1,), (3,)]
    assert [row["xid"] for row in transactions(results)] == [1, 7, 3]
    whole = sum(1 for r in results if isinstance(r, Changes) and r.table == "wide")
    assert whole > 2, "it comes in windows"


def flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :]


def test_a_damaged_payload_yields_nothing_and_others_are_decoded() -> None:
    results = decoded(flipped(COMPRESSED, len(COMPRESSED) // 2))
    (fault,) = faults(results)
    assert (fault["event_type"], fault["reason"]) == (
        "TRANSACTION_PAYLOAD",
        "the checksum does not match",
    )
    assert [row[0] for row in changed(results)] == ["pot", "pot"]


@pytest.mark.parametrize("at", [0.3, 0.9])
def test_a_payload_that_cannot_be_decompressed_yields_nothing(at: float) -> None:
    content = zstandard.ZstdCompressor(level=1, write_checksum=True).compress(INNER)
    broken = flipped(content, int(at * len(content)))
    results = decoded(log(payload(INNER, compressed=broken)))
    (fault,) = faults(results)
    assert fault["event_type"] == "TRANSACTION_PAYLOAD"
    assert [row[0] for row in changed(results)] == ["pot", "pot"]


def test_a_payload_with_a_wrong_size_yields_nothing() -> None:
    results = decoded(log(payload(INNER, size=len(INNER) + 1)))
    (fault,) = faults(results)
    assert f"not the announced {len(INNER) + 1}" in str(fault["reason"])


def test_the_end_of_the_log_inside_a_payload_is_a_fault() -> None:
    results = decoded(COMPRESSED[: 2 * WINDOW])
    (fault,) = faults(results)
    present = 2 * WINDOW - int(str(fault["__pos"]))
    assert f"of which only {present} are present" in str(fault["reason"])
    assert [row[0] for row in changed(results)] == ["pot"]


PARTS = [memoryview(b"abc"), memoryview(b""), memoryview(b"defgh")]


@pytest.mark.parametrize("start", range(9))
@pytest.mark.parametrize("stop", range(9))
def test_a_slice_of_chunks_is_that_of_their_bytes(start: int, stop: int) -> None:
    assert b"".join(slice_chunks(PARTS, start, stop)) == b"abcdefgh"[start:stop]


@pytest.mark.parametrize("size", range(1, 10))
def test_pieces_are_read_as_one_file(size: int) -> None:
    reader = ChunkedReader(PARTS)
    found = b""
    while part := reader.read(size):
        assert len(part) <= size
        found += part
    assert found == b"abcdefgh"
