"""Reading input files wherever they are: any store that fsspec knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from fsspec.core import url_to_fs

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.bronze.archive import ArchivedFile, log_name
from pipeline.bronze.decrypted_file import DecryptedFile
from pipeline.errors import SettingsError
from pipeline.stores import filesystem_of, said_by, sentences

WINDOW = 8 << 20
"""Bytes that are read at a time."""
THREADS = 16
"""Files that the driver looks at at a time."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as the store lists it. `modified` changes whenever the file's bytes may have.

    `name` is the log's: without the suffix of a compressed file.
    """

    path: str
    name: str
    size: int
    modified: str


def list_files(location: str) -> list[StoredFile]:
    """The files that `location` means, by path: one file, those of a glob, all below a folder.

    Raises SettingsError where there is nothing, or no way to get there.
    """
    filesystem, path = filesystem_of(location, key="binlogs")
    with sentences(location, key="binlogs"):
        before = _found(filesystem, path)
        # Sizes are asked for after the names: a file that has a successor by then is closed.
        found = _found(filesystem, path) if before else {}
    if not before:
        raise SettingsError(
            f"there is no file at {location}.",
            key="binlogs",
            remedy="Give a binary log, a folder of them, or a glob such as /var/lib/mysql/binlog.*",
        )
    return [_stored(filesystem, path, found[path]) for path in sorted(before.keys() & found.keys())]


def _found(filesystem: Any, path: str) -> dict[str, Any]:
    """What the store says of each file, by path."""
    filesystem.invalidate_cache()
    if filesystem.isdir(path):
        return dict(_below(filesystem, path))
    if filesystem.exists(path):
        return {path: filesystem.info(path)}
    found: dict[str, Any] = {}
    for matched, info in filesystem.glob(path, detail=True).items():
        if info["type"] == "directory":
            found.update(_below(filesystem, matched))
        else:
            found.update(_file(filesystem, matched, info))
    return found


def _below(filesystem: Any, folder: str) -> Iterator[tuple[str, Any]]:
    """The files in a folder and in those in it, without hidden ones and Delta tables."""
    for _, folders, files in filesystem.walk(folder, detail=True):
        if "_delta_log" in folders:
            folders.clear()
            continue
        for hidden in [name for name in folders if name[:1] in "._"]:
            del folders[hidden]
        for info in files.values():
            yield from _file(filesystem, info["name"], info).items()


def _file(filesystem: Any, path: str, info: Any) -> dict[str, Any]:
    """The file, or the one that a link leads to; nothing where it is none, or gone since."""
    if info["type"] == "other":
        try:
            info = filesystem.info(path)
        except FileNotFoundError:
            return {}
    # Some stores keep an empty object in place of a folder.
    return {path: info} if info["type"] == "file" and not path.endswith("/") else {}


def _stored(filesystem: Any, path: str, info: Any) -> StoredFile:
    url = filesystem.unstrip_protocol(path)
    marks = (info.get(key) for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified"))
    modified = next((str(mark) for mark in marks if mark is not None), "")
    # A local path stays a path, as the user gave it and knows it.
    url = path if url.startswith("file:") else url
    return StoredFile(url, log_name(file_name(path)), int(info["size"]), modified)


def file_name(path: str) -> str:
    """The name of a file as it is in its store."""
    return path.rsplit("/", 1)[-1]


@contextmanager
def opened(
    path: str,
    cipher: StreamCipher | None = None,
    codec: str | None = None,
    *,
    ahead: int = WINDOW,
) -> Iterator[BinaryIO]:
    """The file, to be read from its beginning; with its codec and its cipher, the log inside.

    From a remote store about `ahead` bytes more are fetched than are asked for. Raises OSError,
    whatever the store's client raises, where it cannot be opened.
    """
    try:
        filesystem, place = url_to_fs(path)
        stored = filesystem.open(place, "rb", block_size=ahead)
    except (OSError, ImportError, ValueError):
        raise
    except Exception as error:
        raise OSError(said_by(error)) from error
    with stored as stream:
        log = stream if codec is None else ArchivedFile(stream, codec)
        yield decrypted(cast(BinaryIO, log), cipher)


def decrypted(stored: BinaryIO, cipher: StreamCipher | None) -> BinaryIO:
    """The log in an open file, which is the file itself where there is no cipher."""
    return stored if cipher is None else cast(BinaryIO, DecryptedFile(stored, cipher))


def read_windows(stream: BinaryIO, size: int | None, window: int = WINDOW) -> Iterator[bytes]:
    """The next `size` bytes, a window at a time; fewer where the file ends, all with None."""
    while size is None or size > 0:
        data = stream.read(window if size is None else min(window, size))
        if not data:
            return
        size = None if size is None else size - len(data)
        yield data
