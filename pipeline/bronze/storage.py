"""Reading input files wherever they are: any store that fsspec knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import fsspec
from fsspec.core import url_to_fs

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.bronze.decrypted_file import DecryptedFile
from pipeline.errors import SettingsError

WINDOW = 8 << 20
"""Bytes that are read at a time."""
THREADS = 16
"""Files that the driver looks at at a time."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the store lists it. `modified` changes whenever the file's bytes may have."""

    path: str
    name: str
    size: int
    modified: str


def list_files(location: str) -> list[StoredFile]:
    """The files that `location` means, by name: one file, those in a folder, those of a glob.

    Raises SettingsError where there is nothing, or no way to get there.
    """
    filesystem, path = _filesystem(location)
    if filesystem.isdir(path):
        paths = filesystem.ls(path, detail=False)
    elif filesystem.exists(path):
        paths = [path]
    else:
        paths = filesystem.glob(path)
    if not paths:
        raise SettingsError(
            f"there is no file at {location}.",
            key="binlogs",
            remedy="Give a binary log, a folder of them, or a glob such as /var/lib/mysql/binlog.*",
        )
    # Sizes are asked for after the names: a file that has a successor by then is closed.
    found = [_stored(filesystem, path) for path in sorted(paths)]
    return [file for file in found if file is not None]


def _filesystem(location: str) -> tuple[Any, str]:
    try:
        filesystem, path = url_to_fs(location)
    except (ImportError, ValueError) as error:
        # fsspec says which package a store needs, or that it does not know the protocol.
        raise SettingsError(
            f"{location} cannot be read: {error}",
            key="binlogs",
            remedy="Install the fsspec package of that store beside Binlake, or check the URL.",
        ) from error
    return filesystem, path


def _stored(filesystem: Any, path: str) -> StoredFile | None:
    try:
        filesystem.invalidate_cache()
        info = filesystem.info(path)
    except FileNotFoundError:
        return None  # purged since it was listed
    if info["type"] != "file":
        return None
    url = filesystem.unstrip_protocol(path)
    marks = (info.get(key) for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified"))
    modified = next((str(mark) for mark in marks if mark is not None), "")
    # A local path stays a path, as the user gave it and knows it.
    url = path if url.startswith("file:") else url
    return StoredFile(url, path.rsplit("/", 1)[-1], int(info["size"]), modified)


@contextmanager
def opened(path: str, cipher: StreamCipher | None = None) -> Iterator[BinaryIO]:
    """The file, to be read from its beginning; with its cipher, the log that is encrypted in it."""
    with fsspec.open(path, "rb", compression=None) as stream:
        yield decrypted(cast(BinaryIO, stream), cipher)


def decrypted(stored: BinaryIO, cipher: StreamCipher | None) -> BinaryIO:
    """The log in an open file, which is the file itself where there is no cipher."""
    return stored if cipher is None else cast(BinaryIO, DecryptedFile(stored, cipher))


def read_windows(stream: BinaryIO, size: int, window: int = WINDOW) -> Iterator[bytes]:
    """The next `size` bytes (fewer where the file ends), a window at a time."""
    while size > 0:
        data = stream.read(min(window, size))
        if not data:
            return
        size -= len(data)
        yield data
