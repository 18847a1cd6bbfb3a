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
    """What comes out before the error, and what that says."""
    found = bytearray()
    windows = read_windows(archived(codec, content), None, window)
    with pytest.raises(ArchiveError) as error:
        deque(map(found.extend, windows), maxlen=0)
    assert error.value.position == len(found)
    return bytes(found), error.value.reason


@pytest.mark.parametrize("codec", CODECS)
def test_the_log_inside_is_read_whatever_is_read_at_a_time(codec: str) -> None:
    packed = pack(codec, LOG)
    assert codec_of(packed[:4]) == codec
    for window in (1_000, 4096, 65_537, 1 << 20):
        assert whole(codec, packed, window) == LOG


@pytest.mark.parametrize("codec", CODECS)
def test_an_archive_of_several_parts_is_one_log(codec: str) -> None:
    """`cat a.gz b.gz`, pigz, pzstd."""
    parts = [LOG[:70_000], b"", LOG[70_000:]]
    assert whole(codec, b"".join(pack(codec, part) for part in parts)) == LOG


@pytest.mark.parametrize("zeros", [1, 9_000, 20_000])
def test_zeros_behind_what_gzip_packed_are_padding(zeros: int) -> None:
    packed = pack("gzip", LOG) + bytes(zeros)
    for window in (777, 65_536):
        assert whole("gzip", packed, window) == LOG
    assert whole("gzip", packed + pack("gzip", LOG[:10])) == LOG + LOG[:10]
    found, reason = readable("gzip", packed + b"x")
    assert LOG.startswith(found)
    assert len(found) == len(LOG)
    assert "incorrect header check" in reason or "truncated" in reason


def test_what_can_be_read_before_damage_of_gzips_is_the_same_piece_by_piece() -> None:
    packed = bytearray(pack("gzip", LOG))
    packed[100_000] ^= 1
    packed[100_001:100_300] = bytes(299)
    found = {readable("gzip", bytes(packed), window)[0] for window in (777, 4096, 65_536)}
    assert len(found) == 1


def test_what_pzstd_writes_begins_with_a_frame_to_be_skipped() -> None:
    packed = b"\x50\x2a\x4d\x18\x04\0\0\0size" + pack("zstd", LOG)
    assert codec_of(packed[:4]) == "zstd"
    assert whole("zstd", packed) == LOG


@pytest.mark.parametrize("codec", CODECS)
def test_a_position_is_one_in_the_log(codec: str) -> None:
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
def test_what_is_before_the_end_of_a_cut_file_is_read(codec: str) -> None:
    packed = pack(codec, LOG[:200_000])
    for window in (777, 65_536):
        found, reason = readable(codec, packed[: len(packed) // 2], window)
        assert len(found) >= 90_000
        assert LOG.startswith(found)
        assert reason == f"the file ends within its {codec} data: it is truncated"
    found, _ = readable(codec, packed[:-1])
    assert LOG.startswith(found)


@pytest.mark.parametrize("codec", CODECS)
def test_what_can_be_read_before_damage_is_the_same_however_it_is_read(codec: str) -> None:
    """A plan is made in windows, and read again segment by segment."""
    packed = pack(codec, LOG[:200_000])
    cut = packed[: len(packed) * 3 // 4]
    found, _ = readable(codec, cut)
    file = archived(codec, cut)
    for start in range(0, len(found), 7_001):
        file.seek(start)
        end = min(start + 7_001, len(found))
        assert file.read(end - start) == found[start:end]


def test_bytes_that_are_not_as_they_were_packed_are_an_error() -> None:
    packed = bytearray(gzip.compress(LOG))
    packed[-8] ^= 1  # of the checksum
    found, reason = readable("gzip", bytes(packed))
    assert LOG.startswith(found)
    assert "its gzip data cannot be decompressed from here on" in reason
    assert "incorrect data check" in reason


def test_neither_memory_nor_what_is_read_grows_with_what_a_file_expands_to() -> None:
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


def test_an_error_of_the_store_is_not_taken_for_damage() -> None:
    class Lost(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() > 50_000:
                raise ConnectionError("connection reset")
            return super().read(size)

    file = ArchivedFile(cast(BinaryIO, Lost(pack("gzip", LOG))), "gzip")
    with pytest.raises(ConnectionError, match="connection reset"):
        file.read(200_000)


def test_formats_that_are_not_read_say_so() -> None:
    with pytest.raises(ArchiveError, match="legacy format"):
        codec_of(b"\x02\x21\x4c\x18")
    assert codec_of(b"\xfebin") is None
    assert codec_of(b"") is None


def test_a_codec_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_a_log_has_the_name_of_its_file_without_the_suffix(file: str, log: str) -> None:
    assert log_name(file) == log
