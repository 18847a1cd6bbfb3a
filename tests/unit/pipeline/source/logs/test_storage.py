"""Files of a folder or a glob, listed through links or not at all; encrypted files."""

from __future__ import annotations

import io
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given, strategies as st

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.errors import UnreachableError
from pipeline.source.logs.storage import (
    DecryptedFile,
    list_files,
    read_windows,
    read_with_retries,
    url_of,
    written_at,
)
from tests.support.decoder.encrypted_log import LOG, PASSWORD, PLAIN

HOUR = timedelta(hours=1)


def put(*files: Path) -> None:
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"log")


def listed(location: Path) -> list[str]:
    return [file.path for file in list_files(str(location))]


def test_links_to_folders_are_followed_without_cycles(tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    put(logs / "binlog.000001", elsewhere / "deep" / "binlog.000002")
    (logs / "day").symlink_to(elsewhere)
    (elsewhere / "deep" / "back").symlink_to(logs)
    (elsewhere / "deep" / "self").symlink_to(elsewhere / "deep")
    (logs / "nowhere").symlink_to(tmp_path / "gone")
    (logs / "binlog.000003").symlink_to(logs / "binlog.000001")
    found = [
        str(logs / name) for name in ("binlog.000001", "binlog.000003", "day/deep/binlog.000002")
    ]
    assert listed(logs) == found
    assert set(found) <= set(listed(logs / "*"))  # and what a link back leads to, once
    assert listed(logs / "*" / "deep" / "binlog.*") == found[2:]
    (tmp_path / "all").symlink_to(logs)
    assert len(listed(tmp_path / "all")) == 3


@pytest.mark.parametrize(
    "info",
    [
        {"mtime": 1_700_000_000.5},
        {"LastModified": datetime(2023, 11, 14, 22, 13, 20, 500_000, timezone.utc), "ETag": "a"},
        {
            "last_modified": datetime(
                2023, 11, 14, 23, 13, 20, 500_000, timezone(timedelta(hours=1))
            )
        },
        {"updated": "2023-11-14T22:13:20.500000Z"},
        {"mtime": datetime(2023, 11, 14, 22, 13, 20, 500_000)},
    ],
    ids=["local disk", "S3", "Azure", "Google", "SFTP"],
)
def test_a_files_time_is_read_as_each_store_gives_it(info: dict[str, Any]) -> None:
    found = written_at(info)
    assert found is not None
    assert found.timestamp() == 1_700_000_000.5


@pytest.mark.parametrize("info", [{}, {"updated": "yesterday"}, {"mtime": None}])
def test_a_files_time_is_unknown_if_the_store_does_not_give_it(info: dict[str, Any]) -> None:
    assert written_at(info) is None


def test_hidden_files_are_incomplete_and_skipped(tmp_path: Path) -> None:
    """rsync writes `.NAME.Ab3dEf` and renames it at the end."""
    hidden = tmp_path / ".binlog.000002.gz.Ab3dEf"
    put(tmp_path / "binlog.000001", hidden)
    put(tmp_path / ".snapshot" / "binlog.000001", tmp_path / "_tmp" / "binlog.000001")
    assert listed(tmp_path) == listed(tmp_path / "*") == [str(tmp_path / "binlog.000001")]
    assert listed(hidden) == [str(hidden)]
    assert listed(tmp_path / ".binlog*") == [str(hidden)]
    assert listed(tmp_path / "_t*") == [str(tmp_path / "_tmp" / "binlog.000001")]


def test_a_folder_that_cannot_be_listed_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "binlog.000001", tmp_path / "closed" / "binlog.000002")
    real = LocalFileSystem.ls
    refusal: OSError = PermissionError(13, "Permission denied")

    def ls(files: Any, path: str, detail: bool = False, **more: Any) -> Any:
        if path.endswith("closed"):
            raise refusal
        return real(files, path, detail, **more)

    monkeypatch.setattr(LocalFileSystem, "ls", ls)
    for location in (tmp_path, tmp_path / "*"):
        with pytest.raises(UnreachableError) as error:
            listed(location)
        assert f"the folder {tmp_path}/closed cannot be listed: Permission denied" in str(
            error.value
        )
    refusal = FileNotFoundError("purged since")
    assert listed(tmp_path) == [str(tmp_path / "binlog.000001")]


class Store:
    """URLs as a store's client makes them: adlfs, pyarrow's HDFS, fsspec's SFTP, s3fs."""

    def __init__(self, scheme: str, place: str) -> None:
        self.scheme, self.place = scheme, place

    def unstrip_protocol(self, path: str) -> str:
        return f"{self.scheme}://{path}"

    def _strip_protocol(self, _location: str) -> str:
        return self.place


AZURE = "abfss://logs@account.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("location", "store", "path", "expected"),
    [
        (f"{AZURE}/shop", Store("abfs", "logs/shop"), "logs/shop/b.1", f"{AZURE}/shop/b.1"),
        (f"{AZURE}/s*/b.*", Store("abfs", "logs/s*/b.*"), "logs/shop/b.1", f"{AZURE}/shop/b.1"),
        ("hdfs://nn2:8020/l", Store("hdfs", "/l"), "/l/b.1", "hdfs://nn2:8020/l/b.1"),
        ("hdfs://nn2:8020/l/", Store("hdfs", "/l"), "/l/b.1", "hdfs://nn2:8020/l/b.1"),
        ("hdfs:///l", Store("hdfs", "/l"), "/l/b.1", "hdfs:///l/b.1"),
        ("sftp://me@host/l", Store("sftp", "/l"), "/l/b.1", "sftp://me@host/l/b.1"),
        ("sftp://me:secret@host/l", Store("sftp", "/l"), "/l/b.1", "sftp:///l/b.1"),
        ("s3a://logs/shop", Store("s3", "logs/shop"), "logs/shop/b.1", "s3://logs/shop/b.1"),
        ("memory://shop", MemoryFileSystem(), "/shop/b.1", "memory:///shop/b.1"),
        ("/logs", LocalFileSystem(), "/logs/b.1", "/logs/b.1"),
    ],
)
def test_a_url_has_the_host_of_its_location_but_no_password(
    location: str, store: Any, path: str, expected: str
) -> None:
    assert url_of(store, path, location) == expected


@pytest.mark.parametrize(
    ("errors", "tries", "raised"),
    [
        ([], 1, None),
        ([OSError("it was replaced")], 2, None),
        ([OSError("it was replaced")] * 2, 3, None),
        ([OSError("it was replaced")] * 3, 3, OSError),
        ([FileNotFoundError("gone")], 1, FileNotFoundError),
        ([PermissionError("denied")], 1, PermissionError),
        ([ImportError("no s3fs")], 1, ImportError),
    ],
)
def test_an_interrupted_read_is_retried_from_the_beginning(
    errors: list[Exception], tries: int, raised: type[Exception] | None
) -> None:
    left, tried = list(errors), []

    def read() -> str:
        tried.append(len(left))
        if left:
            raise left.pop()
        return "log"

    if raised is None:
        assert read_with_retries(read) == "log"
    else:
        with pytest.raises(raised):
            read_with_retries(read)
    assert len(tried) == tries


CIPHER = StreamCipher.from_password(PASSWORD)
STEP = st.one_of(
    st.tuples(st.just("read"), st.integers(-1, 2 * len(PLAIN))),
    st.tuples(st.just(os.SEEK_SET), st.integers(0, 2 * len(PLAIN))),
    st.tuples(st.just(os.SEEK_END), st.integers(-len(PLAIN), 9)),
)


@given(st.lists(STEP, max_size=12))
def test_a_decrypted_file_reads_like_its_plain_bytes(steps: list[tuple[str | int, int]]) -> None:
    found, expected = DecryptedFile(io.BytesIO(LOG), CIPHER), io.BytesIO(PLAIN)
    for what, number in steps:
        if isinstance(what, int):
            assert found.seek(number, what) == expected.seek(number, what)
        else:
            assert found.read(number) == expected.read(number)
        assert found.tell() == expected.tell()


def test_a_decrypted_file_is_read_in_windows() -> None:
    windows = list(read_windows(DecryptedFile(io.BytesIO(LOG), CIPHER), 5000, window=100))
    assert b"".join(windows) == PLAIN
    assert {len(window) for window in windows[:-1]} == {100}
