"""MariaDB's compressed pieces, as `binlog_buf_compress` writes them, and invalid ones."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest
from hypothesis import given, strategies as st

from decoder import BinlogError
from decoder.errors import MalformedError, UnsupportedError
from decoder.events.mariadb_compression import uncompress
from tests.support.decoder.event_bytes import mariadb_compressed

PIECE = mariadb_compressed(b"INSERT INTO t VALUES (1)")


def test_the_layout_is_mariadbs() -> None:
    """The length is big-endian, unlike everything else in a log."""
    assert mariadb_compressed(bytes(10))[:2] == b"\x81\x0a"
    assert mariadb_compressed(bytes(0x0102))[:3] == b"\x82\x01\x02"
    assert uncompress(b"\x82\x01\x02" + zlib.compress(bytes(0x0102))) == bytes(0x0102)
    assert uncompress(b"\x84\x00\x00\x00\x03" + zlib.compress(b"abc")) == b"abc"


@given(content=st.binary(min_size=1, max_size=100_000))
def test_compressed_content_is_restored(content: bytes) -> None:
    assert uncompress(memoryview(mariadb_compressed(content))) == content


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "invalid byte"),
        (b"\x01\x03" + zlib.compress(b"abc"), "invalid byte 0x01"),
        (b"\x89\x03" + zlib.compress(b"abc"), "invalid byte 0x89"),
        (b"\x80" + zlib.compress(b"abc"), "has 0 bytes"),
        (b"\x85\0\0\0\0\x03" + zlib.compress(b"abc"), "has 5 bytes"),
        (b"\x81\x00" + zlib.compress(b""), "length is 0"),
        (b"\x81\x02" + zlib.compress(b"abc"), "more than the announced 2"),
        (b"\x81\x04" + zlib.compress(b"abc"), "to 3 bytes, not 4"),
        (b"\x81\x03" + zlib.compress(b"abc") + b"!!", "followed by 2 bytes"),
        (b"\x81\x03no zlib", "cannot be decompressed"),
    ],
)
def test_invalid_pieces_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedError, match=reason):
        uncompress(data)


def test_unknown_algorithms_are_unsupported() -> None:
    with pytest.raises(UnsupportedError, match="algorithm 1"):
        uncompress(b"\x91\x03" + zlib.compress(b"abc"))


def test_a_truncated_piece_is_refused() -> None:
    for end in range(len(PIECE)):
        with pytest.raises(MalformedError):
            uncompress(PIECE[:end])


@given(data=st.binary(max_size=60))
def test_any_bytes_are_decompressed_or_refused(data: bytes) -> None:
    try:
        found = uncompress(b"\x81" + data)
    except BinlogError:
        return
    assert len(found) == data[0]


def test_no_memory_is_allocated_for_the_announced_length() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(MalformedError, match="length 4294967295 exceeds"):
            uncompress(b"\x84\xff\xff\xff\xff" + zlib.compress(b"abc"))
        with pytest.raises(MalformedError, match="to 3 bytes"):
            uncompress(b"\x84\x3f\xff\xff\xff" + zlib.compress(b"abc"))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_highly_compressible_content_is_restored() -> None:
    content = bytes(20_000_000)
    assert uncompress(mariadb_compressed(content)) == content


def test_decompression_stops_at_the_announced_length() -> None:
    bomb = b"\x81\x40" + zlib.compress(bytes(1 << 26), 9)
    tracemalloc.start()
    try:
        with pytest.raises(MalformedError, match="more than the announced 64"):
            uncompress(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
