"""Listing and reading input files in any store that fsspec supports."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from difflib import get_close_matches
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from fsspec.implementations.local import LocalFileSystem

from decoder.encryption import HEADER_LENGTH, StreamCipher
from pipeline.errors import SettingsError
from pipeline.lake.stores import error_text, filesystem_of, fsspec_of, sentences
from pipeline.observe.interruption import raise_if_cancelled
from pipeline.source.logs.archive import ArchivedFile, log_name

WINDOW = 8 << 20
"""Bytes per read."""
THREADS = 16
"""Files that the driver opens concurrently."""
_TRIES = 3
_EMPTY = "the folder contains only hidden files and Delta tables, or nothing"
_REFUSALS = (FileNotFoundError, PermissionError)
"""Errors for which a retry is pointless."""

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as listed by the store; `modified` changes whenever the file's bytes may have.

    `name` is the log's, without the suffix of a compressed file. `written_at`: when the file was
    last written, by the store's clock; None if the store does not say.
    """

    path: str
    name: str
    size: int
    modified: str
    written_at: datetime | None = None


def list_files(location: str) -> list[StoredFile]:
    """List the files at `location`, by path: one file, those of a glob, or all below a folder.

    Raises SettingsError if there are none, UnreachableError if the store cannot be listed.
    """
    filesystem, path = filesystem_of(location, key="binlogs")
    with sentences(location, key="binlogs"):
        before = dict(_entries(filesystem, path))
        # Sizes are listed after the names: a file that has a successor by then is closed.
        found = dict(_entries(filesystem, path)) if before else {}
    if not before:
        raise _nothing_at(location, key="binlogs")
    both = sorted(before.keys() & found.keys())
    return [_stored(url_of(filesystem, one, location), found[one]) for one in both]


def require_files(location: str, *, key: str) -> None:
    """Raise SettingsError (for `key`) unless there is a file at `location`."""
    filesystem, path = filesystem_of(location, key=key)
    with sentences(location, key=key):
        found = next(_entries(filesystem, path), None)
    if found is None:
        raise _nothing_at(location, key=key)


def _nothing_at(location: str, *, key: str) -> SettingsError:
    """Return the error for a location without files; on a local disk it suggests a similar path."""
    remedies = {
        "binlogs": "Give a binary log, a folder of them, or a glob such as /var/lib/mysql/binlog.*"
    }
    remedy = remedies.get(key, "Check the path.")
    path = Path(location)
    if path.is_dir():
        return SettingsError(f"no files at {location}: {_EMPTY}.", key=key, remedy=remedy)
    there = next((above for above in path.parents if above.is_dir()), None)
    if there is None or "://" in location:
        return SettingsError(f"no files at {location}.", key=key, remedy=remedy)
    missing = path.relative_to(there).parts[0]
    names = sorted(os.listdir(there)) if os.access(there, os.R_OK) else []
    if close := get_close_matches(missing, names, n=1):
        remedy = f"Did you mean {there / close[0]}? {remedy}"
    elif not has_magic(missing):
        remedy = f"{there} does not contain {missing}. {remedy}"
    return SettingsError(f"no files at {location}.", key=key, remedy=remedy)


def _entries(filesystem: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield each file with its metadata, bypassing the filesystem's cache."""
    filesystem.invalidate_cache()
    if filesystem.isdir(path):
        yield from _walk(filesystem, path)
    elif filesystem.exists(path):
        yield path, filesystem.info(path)
    else:
        for matched, info in _glob_matches(filesystem, path):
            if info["type"] == "directory":
                yield from _walk(filesystem, matched)
            elif _is_file(info):
                yield matched, info


def _glob_matches(filesystem: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """Yield the matches of a glob, without hidden files and folders unless it names them."""
    if _is_local(filesystem):
        # Unlike fsspec's, Python's glob follows links to folders.
        links = ({"name": path, "type": "other"} for path in glob(pattern, recursive=True))
        matched = {link["name"]: _link_target(filesystem, link) for link in links}
    else:
        matched = filesystem.glob(pattern, detail=True)
    for path, info in matched.items():
        name = file_name(path.rstrip("/"))
        if not _is_hidden(name, info) or file_name(pattern)[:1] == name[:1]:
            yield path, info


def _walk(
    filesystem: Any, folder: str, above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Any]]:
    """Yield the files below a folder, without hidden ones and Delta tables.

    `above`: its parent folders, to detect cycles of links. Raises OSError if a folder cannot be
    listed.
    """
    here = os.path.realpath(folder) if _is_local(filesystem) else folder.rstrip("/")
    if here in above:
        return  # a link to a parent folder
    try:
        entries = {file_name(e["name"].rstrip("/")): e for e in filesystem.ls(folder, detail=True)}
    except FileNotFoundError:
        return  # removed since it was listed
    except OSError as error:
        raise OSError(f"the folder {folder} cannot be listed: {error_text(error)}") from error
    if "_delta_log" in entries:
        return
    for name, entry in entries.items():
        info = _link_target(filesystem, entry)
        if not name or _is_hidden(name, info):
            continue
        if info["type"] == "directory":
            yield from _walk(filesystem, entry["name"], above | {here})
        elif _is_file(info):
            yield entry["name"], info


def _link_target(filesystem: Any, entry: Any) -> Any:
    """Return the entry, or the target of a link."""
    if entry["type"] in ("file", "directory"):
        return entry
    try:
        return filesystem.info(entry["name"])
    except FileNotFoundError:
        return entry  # a broken link


def _is_hidden(name: str, info: Any) -> bool:
    """Return True for temporary files, such as rsync's, and folders such as `_delta_log`."""
    return name.startswith(".") or (info["type"] == "directory" and name.startswith("_"))


def _is_file(info: Any) -> bool:
    """Return True for files, not for the empty objects by which some stores represent folders."""
    return info["type"] == "file" and not info["name"].endswith("/")


def _is_local(filesystem: Any) -> bool:
    return isinstance(filesystem, LocalFileSystem)


def _stored(url: str, info: Any) -> StoredFile:
    versions = (info.get(key) for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified"))
    modified = next((str(version) for version in versions if version is not None), "")
    return StoredFile(url, log_name(file_name(url)), int(info["size"]), modified, written_at(info))


def written_at(info: Any) -> datetime | None:
    """Return a file's modification time, which each store names and writes in its own way; None if
    it is unknown."""
    times = (info.get(key) for key in ("mtime", "LastModified", "last_modified", "updated"))
    found = next((time for time in times if time is not None), None)
    if isinstance(found, str):
        with suppress(ValueError):
            # Python 3.10 does not read Z.
            found = datetime.fromisoformat(re.sub(r"Z$", "+00:00", found))
    if isinstance(found, int | float):
        return datetime.fromtimestamp(found, timezone.utc)
    if isinstance(found, datetime):
        return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
    return None


def url_of(filesystem: Any, path: str, location: str) -> str:
    """Return the URL of a file below `location`; a plain path for local files.

    Adds the host of `location` if the store's own URLs omit it: Azure's keep only the container of
    `container@account.host/`, HDFS' and SFTP's keep nothing. A host with a password is not added,
    since the URLs of listed files are stored in plans.
    """
    url = str(filesystem.unstrip_protocol(path))
    if url.startswith("file:"):
        return path
    scheme, _, rest = location.partition("://")
    authority, _, below = rest.partition("/")
    user, _, host = authority.rpartition("@")
    if not host or ":" in user:
        return url
    if filesystem._strip_protocol(location) == f"/{below}".rstrip("/"):
        return f"{scheme}://{authority}{path}"
    if user and path.startswith(f"{user}/"):
        return f"{scheme}://{authority}{path.removeprefix(user)}"
    return url


def file_name(path: str) -> str:
    """Return the last part of a path."""
    return path.rsplit("/", 1)[-1]


def read_with_retries(read: Callable[[], Read]) -> Read:
    """Return the result of `read`, which reads a file from its beginning, with up to three tries.

    A store refuses to continue reading an object that was replaced meanwhile (s3fs: FileExpired),
    as a capture does with the growing file: the new object begins with the same bytes. Raises the
    last try's OSError.
    """
    for _ in range(_TRIES - 1):
        try:
            return read()
        except _REFUSALS:
            raise
        except OSError:
            continue
    return read()


@contextmanager
def opened(
    path: str,
    cipher: StreamCipher | None = None,
    codec: str | None = None,
    *,
    ahead: int = WINDOW,
) -> Iterator[BinaryIO]:
    """Open a file at its beginning; with its codec and cipher, the log inside.

    A remote store prefetches about `ahead` bytes. Raises OSError, whatever the store's client
    raises, if it cannot be opened.
    """
    try:
        filesystem, place = fsspec_of(path)
        filesystem.invalidate_cache()  # a cached listing may describe an earlier object
        stored = filesystem.open(place, "rb", block_size=ahead)
    except (OSError, ImportError, ValueError):
        raise
    except Exception as error:
        raise OSError(error_text(error)) from error
    with stored as stream:
        log = stream if codec is None else ArchivedFile(stream, codec)
        yield decrypted(cast(BinaryIO, log), cipher)


def decrypted(stored: BinaryIO, cipher: StreamCipher | None) -> BinaryIO:
    """Return the log in an open file; the file itself without a cipher."""
    return stored if cipher is None else cast(BinaryIO, DecryptedFile(stored, cipher))


def read_windows(stream: BinaryIO, size: int | None, window: int = WINDOW) -> Iterator[bytes]:
    """Yield the next `size` bytes (None: all) in windows; fewer if the file ends before.

    Raises CancelledTaskError in a cancelled task.
    """
    while size is None or size > 0:
        raise_if_cancelled()
        data = stream.read(window if size is None else min(window, size))
        if not data:
            return
        size = None if size is None else size - len(data)
        yield data


class DecryptedFile(io.RawIOBase):
    """The log in an encrypted file, decrypted while it is read; positions are in the log.

    Position 0 is the first byte after the encryption header. Does not close `stored`.
    """

    def __init__(self, stored: BinaryIO, cipher: StreamCipher) -> None:
        self._stored = stored
        self._cipher = cipher
        self.seek(0)

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position in the log and return it."""
        before = HEADER_LENGTH if whence == os.SEEK_SET else 0
        return self._stored.seek(before + offset, whence) - HEADER_LENGTH

    def tell(self) -> int:
        """Return the position in the log."""
        return self._stored.tell() - HEADER_LENGTH

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer and return the number of bytes; fewer only at the log's end."""
        position = self.tell()
        data = self._cipher.decrypt(self._stored.read(len(buffer)), position)
        buffer[: len(data)] = data
        return len(data)


class ResumedFile(ExitStack):
    """The log in a file that may be replaced while it is read, as a capture's last one is.

    Reads before and after may then be of different objects: only for callers that verify a checksum
    of everything read.
    """

    def __init__(self, path: str, cipher: StreamCipher | None, codec: str | None) -> None:
        super().__init__()
        self._open = partial(opened, path, cipher, codec)
        self._stream: BinaryIO | None = None

    def read(self, position: int, size: int) -> bytes:
        """Return the `size` bytes at `position` of the log; fewer only at its end.

        Raises OSError if they cannot be read, ArchiveError if they are damaged.
        """
        return read_with_retries(partial(self._read, position, size))

    def _read(self, position: int, size: int) -> bytes:
        try:
            if self._stream is None:
                self._stream = self.enter_context(self._open())
            self._stream.seek(position)
            return b"".join(read_windows(self._stream, size, size))
        except OSError:
            self._stream = None
            self.close()
            raise
