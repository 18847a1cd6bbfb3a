"""An object of a real S3 server that is replaced while it is read, as a capture does."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from pipeline.source import find_binlogs
from pipeline.source.logs import listing
from pipeline.source.logs.storage import (
    WINDOW,
    ResumedFile,
    opened,
    read_windows,
    read_with_retries,
)
from tests.support.lake.object_store import ObjectStore, object_store

SHOP = Path(__file__).parents[3] / "demo" / "binlogs" / "binlog.000001"
PLACE = "landing/shop/binlog.000001"
BEFORE = bytes(range(256)) * (3 * WINDOW // 256)
NOISE = os.urandom(3 * WINDOW)  # so that compressed, it exceeds the read-ahead


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with object_store() as started:
        for name, value in started.environment.items():
            monkeypatch.setenv(name, value)
        started.put(PLACE, BEFORE)
        yield started


@pytest.mark.parametrize("times", [0, 2])
def test_the_listed_bytes_are_read_from_the_replacement(store: ObjectStore, times: int) -> None:
    tried: list[int] = []

    def read() -> bytes:
        tried.append(len(tried))
        return read_while_replaced(store, replace=len(tried) <= times)

    assert read_with_retries(read) == BEFORE
    assert len(tried) == times + 1


def test_an_object_replaced_before_every_read_is_an_error(store: ObjectStore) -> None:
    with pytest.raises(OSError, match="no longer exists"):
        read_with_retries(lambda: read_while_replaced(store, replace=True))


def test_the_head_of_a_log_is_read_from_the_replacement(
    store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replaced between the listing and the download, twice."""
    log = SHOP.read_bytes()
    store.put(PLACE, log)
    puts = iter(range(2))

    @contextmanager
    def opened_late(path: str, **how: Any) -> Iterator[BinaryIO]:
        with opened(path, **how) as stream:
            if next(puts, None) is not None:
                store.put(PLACE, log + os.urandom(16))
            yield stream

    monkeypatch.setattr(listing, "opened", opened_late)
    found = find_binlogs("s3://landing/shop")
    assert found.faults == ()
    assert [one.stored.name for one in found.binlogs] == ["binlog.000001"]


@pytest.mark.parametrize("codec", [None, "gzip"])
def test_the_planned_bytes_are_copied_from_each_replacement(
    store: ObjectStore, codec: str | None
) -> None:
    store.put(PLACE, packed(NOISE, codec))
    copied = 0
    with ResumedFile(f"s3://{PLACE}", None, codec) as log:
        for position in range(0, len(NOISE), WINDOW):
            copied = zlib.crc32(log.read(position, WINDOW), copied)
            store.put(PLACE, packed(NOISE + os.urandom(16), codec))
    assert copied == zlib.crc32(NOISE)


def test_an_object_removed_while_copied_is_an_error(store: ObjectStore) -> None:
    with ResumedFile(f"s3://{PLACE}", None, None) as log:
        assert log.read(0, WINDOW) == BEFORE[:WINDOW]
        store.files.rm_file(PLACE)
        with pytest.raises(FileNotFoundError):
            log.read(2 * WINDOW, WINDOW)


def packed(content: bytes, codec: str | None) -> bytes:
    return content if codec is None else gzip.compress(content, compresslevel=0)


def read_while_replaced(store: ObjectStore, *, replace: bool) -> bytes:
    content = b""
    with opened(f"s3://{PLACE}") as stream:
        for window in read_windows(stream, len(BEFORE)):
            if replace and not content:
                store.put(PLACE, BEFORE + os.urandom(16))
            content += window
    return content
