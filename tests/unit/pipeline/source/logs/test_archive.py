"""Compressed files, read like the logs inside."""

from __future__ import annotations

import gzip
import io
import random
from collections import deque
from typing import BinaryIO, cast

import pyarrow as pa
import pytest

from pipeline.source.logs.archive import ArchivedFile, ArchiveError, codec_of, log_name
from pipeline.source.logs.storage import read_windows
from tests.support.decoder.archives import SUFFIXES, pack

LOG = random.Random(6).randbytes(200_000) + bytes(100_000)
CODECS = sorted(SUFFIXES)


def archived(codec: str, content: bytes) -> BinaryIO:
    return cast(BinaryIO, ArchivedFile(cast(BinaryIO, io.BytesIO(content)), codec))


def whole(codec: str, content: bytes, window: int = 65_536) -> bytes:
    return b"".join(read_windows(archived(codec, content), None, window))


def readable(codec: str, content: bytes, window: int = 65_536) -> tuple[bytes, str]:
    """Return the bytes read before the error, and its reason."""
    found = bytearray()
    windows = read_windows(archived(codec, content), None, window)
    with pytest.raises(ArchiveError) as error:
        deque(map(found.extend, windows), maxlen=0)
    assert error.value.position == len(found)
    return bytes(found), error.value.reason


@pytest.mark.parametrize("codec", CODECS)
def test_the_log_inside_is_the_same_for_any_read_size(codec: str) -> None:
    packed = pack(codec, LOG)
    assert codec_of(packed[:4]) == codec
    for window in (1_000, 4096, 65_537, 1 << 20):
        assert whole(codec, packed, window) == LOG


@pytest.mark.parametrize("codec", CODECS)
def test_an_archive_of_several_parts_is_one_log(codec: str) -> None:
    """Such as of `cat a.gz b.gz`, pigz and pzstd."""
    parts = [LOG[:70_000], b"", LOG[70_000:]]
    assert whole(codec, b"".join(pack(codec, part) for part in parts)) == LOG


@pytest.mark.parametrize("zeros", [1, 9_000, 20_000])
def test_zeros_after_a_gzip_member_are_padding(zeros: int) -> None:
    packed = pack("gzip", LOG) + bytes(zeros)
    for window in (777, 65_536):
        assert whole("gzip", packed, window) == LOG
    assert whole("gzip", packed + pack("gzip", LOG[:10])) == LOG + LOG[:10]
    found, reason = readable("gzip", packed + b"x")
    assert LOG.startswith(found)
    assert len(found) == len(LOG)
    assert "incorrect header check" in reason or "truncated" in reason


def test_as_much_is_read_before_damage_in_gzip_for_any_read_size() -> None:
    packed = bytearray(pack("gzip", LOG))
    packed[100_000] ^= 1
    packed[100_001:100_300] = bytes(299)
    found = {readable("gzip", bytes(packed), window)[0] for window in (777, 4096, 65_536)}
    assert len(found) == 1


def test_a_skippable_frame_at_the_start_is_accepted_as_zstd() -> None:
    packed = b"\x50\x2a\x4d\x18\x04\0\0\0size" + pack("zstd", LOG)
    assert codec_of(packed[:4]) == "zstd"
    assert whole("zstd", packed) == LOG


@pytest.mark.parametrize("codec", CODECS)
def test_positions_are_in_the_log_inside(codec: str) -> None:
    file = archived(codec, pack(codec, LOG))
    for position in (0, 10, 199_999, 50_000, 299_999):
        assert file.seek(position) == position == file.tell()
        assert file.read(100) == LOG[position : position + 100]
    assert file.seek(400_000) == len(LOG)
    assert file.read(1) == b""
    assert file.seek(-10, io.SEEK_CUR) == len(LOG) - 10
    with pytest.raises(io.UnsupportedOperation):
        file.seek(0, io.SEEK_END)


@pytest.mark.parametrize("codec", CODECS)
def test_a_truncated_file_is_read_up_to_its_end(codec: str) -> None:
    packed = pack(codec, LOG[:200_000])
    for window in (777, 65_536):
        found, reason = readable(codec, packed[: len(packed) // 2], window)
        assert len(found) >= 90_000
        assert LOG.startswith(found)
        assert reason == f"the file ends within its {codec} data: it is truncated"
    found, _ = readable(codec, packed[:-1])
    assert LOG.startswith(found)


@pytest.mark.parametrize("codec", CODECS)
def test_as_much_is_read_before_damage_for_any_read_size(codec: str) -> None:
    """Planning reads windows; execution reads the same bytes again by segment."""
    packed = pack(codec, LOG[:200_000])
    truncated = packed[: len(packed) * 3 // 4]
    found, _ = readable(codec, truncated)
    file = archived(codec, truncated)
    for start in range(0, len(found), 7_001):
        file.seek(start)
        end = min(start + 7_001, len(found))
        assert file.read(end - start) == found[start:end]


def test_damaged_bytes_are_an_error() -> None:
    packed = bytearray(gzip.compress(LOG))
    packed[-8] ^= 1  # of the checksum
    found, reason = readable("gzip", bytes(packed))
    assert LOG.startswith(found)
    assert "its gzip data cannot be decompressed from here on" in reason
    assert "incorrect data check" in reason


def test_memory_and_reads_do_not_grow_with_the_expanded_size() -> None:
    part = pack("zstd", bytes(64 << 20))
    assert len(part) < 10_000
    stored = io.BytesIO(part * 16)
    before = pa.total_allocated_bytes()
    file = ArchivedFile(cast(BinaryIO, stored), "zstd")
    assert file.read(65_536) == bytes(65_536)
    assert stored.tell() <= 8192
    size = 0
    for window in read_windows(cast(BinaryIO, file), 256 << 20, 1 << 20):
        size += len(window)
        assert pa.total_allocated_bytes() - before < 8 << 20
    assert size == 256 << 20


def test_a_stores_error_is_not_reported_as_damage() -> None:
    class Lost(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 50_000:
                raise ConnectionError("connection reset")
            return super().read(size)

    file = ArchivedFile(cast(BinaryIO, Lost(pack("gzip", LOG))), "gzip")
    with pytest.raises(ConnectionError, match="connection reset"):
        file.read(200_000)


def test_unsupported_formats_are_refused() -> None:
    with pytest.raises(ArchiveError, match="legacy format"):
        codec_of(b"\x02\x21\x4c\x18")
    assert codec_of(b"\xfebin") is None
    assert codec_of(b"") is None


def test_an_unavailable_codec_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoCodec:
        @staticmethod
        def is_available(name: str) -> bool:
            return name != "zstd"

    monkeypatch.setattr("pyarrow.Codec", NoCodec)
    with pytest.raises(ArchiveError, match="zstd, which this build of pyarrow does not support"):
        codec_of(b"\x28\xb5\x2f\xfd")


@pytest.mark.parametrize(
    ("file", "log"),
    [
        ("binlog.000001.gz", "binlog.000001"),
        ("binlog.000001.ZST", "binlog.000001"),
        ("my.host-bin.1000000.lz4", "my.host-bin.1000000"),
        ("binlog.000001", "binlog.000001"),
        ("binlog.gz.000001", "binlog.gz.000001"),
        (".gz", ".gz"),
    ],
)
def test_the_log_name_has_no_compression_suffix(file: str, log: str) -> None:
    assert log_name(file) == log
