"""The cache of compiled kernels, which does not depend on where the source is installed.

Numba's own caches identify a function by the path and modification time of its source file. Spark
unpacks the code again for each application and executor, or leaves it in an archive, so nothing
would ever be found in such a cache. Here a kernel is identified by its module's name and a digest
of the decoder's whole source, which is the same for a folder and an archive.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from stat import S_ISDIR
from typing import Any, TextIO

import numba
import numpy as np

from decoder.kernels.processor import processor

_PACKAGE = "decoder"
WARM = "warm"
"""Name of the marker file in a cache folder that contains all kernels."""


@cache
def cache_folder() -> Path:
    """Return the folder for compiled kernels of this source, Python, numba and processor.

    The folder's name is a hash of all of these: numba itself detects an edit only in the file that
    defines a kernel, not in the ones it calls, and machines with different processors may share a
    home, while `warm` fills a folder for one processor. The folder is in `$BINLAKE_CACHE`, or the
    user's cache, or, for a user without a home (as of Spark executors), a private folder among
    temporary files. Raises OSError if none of these is usable.
    """
    checked = bool(numba.config.BOUNDSCHECK)
    python = sys.version_info[:2]
    built_for = (python, numba.__version__, np.__version__, checked, *processor())
    digest = hashlib.sha256(repr(built_for).encode())
    for name, source in sorted(_sources(files(_PACKAGE))):
        digest.update(name.encode() + b"\0" + source)
    return _root() / f"kernels-{digest.hexdigest()[:16]}"


def _sources(folder: Any, place: str = "") -> Iterator[tuple[str, bytes]]:
    """Yield each module's path in the package and its source, from a folder or an archive."""
    for entry in folder.iterdir():
        name = f"{place}/{entry.name}"
        if entry.name.endswith(".py"):
            yield name, entry.read_bytes()
        elif entry.is_dir() and entry.name != "__pycache__":
            yield from _sources(entry, name)


def _root() -> Path:
    if given := os.environ.get("BINLAKE_CACHE"):
        return Path(given).expanduser().absolute()
    usual = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    try:
        # Group-writable folders are common where each user has a group of their own.
        return _require_private(_create(Path(usual) / "binlake"), forbidden=0o002)
    except OSError:
        return _own_temporary_folder()


def _create(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} is not writable by this user")
    return folder


def _own_temporary_folder() -> Path:
    """Return a folder that no other user can write, since code loaded from it is executed."""
    folder = Path(tempfile.gettempdir()) / f"binlake-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return _require_private(folder)


def _require_private(folder: Path, *, forbidden: int = 0o022) -> Path:
    """Raise PermissionError if another user owns the folder or has the `forbidden` permissions.

    With `HOME=/tmp`, for example, another user could have created the folder first.
    """
    found = folder.lstat()
    if not S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & forbidden:
        raise PermissionError(f"{folder} must belong to this user and not be writable by others")
    return folder


@contextmanager
def locked(file: TextIO) -> Iterator[None]:
    """Hold an exclusive lock on a file, and close it."""
    with file:
        # Some shared file systems have no locks: two processes then do the same work, which only
        # costs time.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def serialize_saves(cache_file: Any) -> None:
    """Make `cache_file.save` (of an `IndexDataCacheFile`) run in one process at a time.

    Numba reads the index of a function's compiled overloads and writes it with one more. Two
    processes doing so concurrently would give two overloads the same file, and loading one by its
    signature would return the other.
    """
    numba_save, lock = cache_file.save, Path(cache_file._cache_path) / "lock"

    def save(key: object, data: object) -> None:
        with locked(lock.open("w")):
            numba_save(key, data)

    cache_file.save = save


class Locator:
    """Numba's interface to the cache: the location and the source stamp of a function's code."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        # Numba quotes this path in a warning.
        self._py_file = file
        self._function = function

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Locator:
        """Return a function's locator; raises OSError if its cache folder cannot be created.

        A warm folder need not be writable: it may be part of a container image.
        """
        locator = cls(function, file)
        if not (cache_folder() / WARM).exists():
            locator.ensure_cache_path()
        return locator

    def ensure_cache_path(self) -> None:
        """Create the folder if needed; raises OSError if it is not writable."""
        _create(Path(self.get_cache_path()))

    def get_cache_path(self) -> str:
        """Return the module's folder. Numba's file names contain only a module's last part."""
        return str(cache_folder() / self._function.__module__)

    def get_source_stamp(self) -> str:
        """Return the cache folder's name: code of any other source is in another folder."""
        return cache_folder().name

    def get_disambiguator(self) -> str:
        """Return the first line, which distinguishes functions of one name in a module."""
        return str(self._function.__code__.co_firstlineno)
