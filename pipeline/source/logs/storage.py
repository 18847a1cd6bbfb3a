"""Reading input files wherever they are: any store that fsspec knows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

from fsspec.implementations.local import LocalFileSystem

from decoder.encryption.stream_cipher import StreamCipher
from pipeline.errors import SettingsError
from pipeline.lake.stores import filesystem_of, fsspec_of, said_by, sentences
from pipeline.observe.cancellation import require_wanted
from pipeline.source.logs.archive import ArchivedFile, log_name
from pipeline.source.logs.decrypted_file import DecryptedFile

WINDOW = 8 << 20
"""Bytes that are read at a time."""
THREADS = 16
"""Files that the driver looks at at a time."""
_TRIES = 3
_EMPTY = "the folder holds none, but for hidden ones and Delta tables"
_REFUSALS = (FileNotFoundError, PermissionError)
"""What a store says again when it is asked again."""

Read = TypeVar("Read")


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

    Raises SettingsError where there is nothing, UnreachableError where the store does not tell.
    """
    filesystem, path = filesystem_of(location, key="binlogs")
    with sentences(location, key="binlogs"):
        before = _found(filesystem, path)
        # Sizes are asked for after the names: a file that has a successor by then is closed.
        found = _found(filesystem, path) if before else {}
    if not before:
        raise _nothing_at(location, key="binlogs")
    both = sorted(before.keys() & found.keys())
    return [_stored(url_of(filesystem, one, location), found[one]) for one in both]


def require_files(location: str, *, key: str) -> None:
    """Raise SettingsError (of `key`) unless there is a file at `location`: the first one tells."""
    filesystem, path = filesystem_of(location, key=key)
    with sentences(location, key=key):
        found = next(_each(filesystem, path), None)
    if found is None:
        raise _nothing_at(location, key=key)


def _nothing_at(location: str, *, key: str) -> SettingsError:
    """The error for a place without files, with what was probably meant on a local disk."""
    remedies = {
        "binlogs": "Give a binary log, a folder of them, or a glob such as /var/lib/mysql/binlog.*"
    }
    remedy = remedies.get(key, "Check the path.")
    path = Path(location)
    if path.is_dir():
        return SettingsError(f"there is no file at {location}: {_EMPTY}.", key=key, remedy=remedy)
    there = next((above for above in path.parents if above.is_dir()), None)
    if there is None or "://" in location:
        return SettingsError(f"there is no file at {location}.", key=key, remedy=remedy)
    missing = path.relative_to(there).parts[0]
    names = sorted(os.listdir(there)) if os.access(there, os.R_OK) else []
    if close := get_close_matches(missing, names, n=1):
        remedy = f"Did you mean {there / close[0]}? {remedy}"
    elif not has_magic(missing):
        remedy = f"{there} has no {missing}. {remedy}"
    return SettingsError(f"there is no file at {location}.", key=key, remedy=remedy)


def _found(filesystem: Any, path: str) -> dict[str, Any]:
    """What the store says of each file, by path."""
    return dict(_each(filesystem, path))


def _each(filesystem: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each file with what the store says of it, as it is now."""
    filesystem.invalidate_cache()
    if filesystem.isdir(path):
        yield from _below(filesystem, path)
    elif filesystem.exists(path):
        yield path, filesystem.info(path)
    else:
        for matched, info in _matched(filesystem, path):
            if info["type"] == "directory":
                yield from _below(filesystem, matched)
            elif _is_file(info):
                yield matched, info


def _matched(filesystem: Any, pattern: str) -> Iterator[tuple[str, Any]]:
    """What a glob matches, hidden files and folders only where it asks for them."""
    if _is_local(filesystem):
        # Python's own goes through links to folders, too.
        links = ({"name": path, "type": "other"} for path in glob(pattern, recursive=True))
        matched = {link["name"]: _led_to(filesystem, link) for link in links}
    else:
        matched = filesystem.glob(pattern, detail=True)
    for path, info in matched.items():
        name = file_name(path.rstrip("/"))
        if not _is_hidden(name, info) or file_name(pattern)[:1] == name[:1]:
            yield path, info


def _below(
    filesystem: Any, folder: str, above: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Any]]:
    """The files in a folder and in those in it, without hidden ones and Delta tables.

    `above`: the folders that it is in. Raises OSError for one that cannot be listed.
    """
    here = os.path.realpath(folder) if _is_local(filesystem) else folder.rstrip("/")
    if here in above:
        return  # a link that leads back to where it is
    try:
        entries = {file_name(e["name"].rstrip("/")): e for e in filesystem.ls(folder, detail=True)}
    except FileNotFoundError:
        return  # it is gone since
    except OSError as error:
        raise OSError(f"the folder {folder} cannot be listed: {said_by(error)}") from error
    if "_delta_log" in entries:
        return
    for name, entry in entries.items():
        info = _led_to(filesystem, entry)
        if not name or _is_hidden(name, info):
            continue
        if info["type"] == "directory":
            yield from _below(filesystem, entry["name"], above | {here})
        elif _is_file(info):
            yield entry["name"], info


def _led_to(filesystem: Any, entry: Any) -> Any:
    """The entry, or the file or folder that it leads to as a link."""
    if entry["type"] in ("file", "directory"):
        return entry
    try:
        return filesystem.info(entry["name"])
    except FileNotFoundError:
        return entry  # it leads nowhere


def _is_hidden(name: str, info: Any) -> bool:
    """rsync's and others' files under way begin with a dot; servers' never do."""
    return name.startswith(".") or (info["type"] == "directory" and name.startswith("_"))


def _is_file(info: Any) -> bool:
    """Some stores keep an empty object in place of a folder."""
    return info["type"] == "file" and not info["name"].endswith("/")


def _is_local(filesystem: Any) -> bool:
    return isinstance(filesystem, LocalFileSystem)


def _stored(url: str, info: Any) -> StoredFile:
    marks = (info.get(key) for key in ("ETag", "etag", "md5Hash", "mtime", "LastModified"))
    modified = next((str(mark) for mark in marks if mark is not None), "")
    return StoredFile(url, log_name(file_name(url)), int(info["size"]), modified)


def url_of(filesystem: Any, path: str, location: str) -> str:
    """Where a file below `location` is to be read; a local path, as the user knows it.

    With the host of `location` where the store's own URLs leave it out: of Azure's
    `container@account.host/` they keep the container, of HDFS' and SFTP's nothing. Not so where a
    password is beside the host, since what is listed goes into plans.
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
    """The name of a file as it is in its store."""
    return path.rsplit("/", 1)[-1]


def read_anew(read: Callable[[], Read]) -> Read:
    """What `read` gives, which reads a file from its beginning, tried thrice.

    A store refuses to go on with an object that was put anew meanwhile (s3fs: FileExpired), as a
    capture does with the one that grows: the new one begins with the same bytes. Raises the last
    try's OSError.
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
    """The file, to be read from its beginning; with its codec and its cipher, the log inside.

    From a remote store about `ahead` bytes more are fetched than are asked for. Raises OSError,
    whatever the store's client raises, where it cannot be opened.
    """
    try:
        filesystem, place = fsspec_of(path)
        filesystem.invalidate_cache()  # what a listing told may be of an object before this one
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
    """The next `size` bytes, a window at a time; fewer where the file ends, all with None.

    Raises CancelledTaskError in a task that is not wanted any more.
    """
    while size is None or size > 0:
        require_wanted()
        data = stream.read(window if size is None else min(window, size))
        if not data:
            return
        size = None if size is None else size - len(data)
        yield data
