"""Where compiled kernels are kept, and how numba finds them again wherever their source is.

Numba's own caches go by the path of a function's source, and by the time of that file. Spark lays
the code out anew for each application and executor, and as an archive: nothing that was compiled
would ever be found again. Here a kernel is known by its module's name, and what it was compiled
from by a digest of the decoder's whole source, which is the same in a folder and in an archive.
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
"""The mark in the folder that all kernels are in it."""


@cache
def cache_folder() -> Path:
    """Where compiled kernels are kept: a folder per source, numba version and processor.

    Numba itself notices an edit only in the file that defines a kernel, not in one it calls; so
    the folder's name is a hash of them all, and of Python's version. Of the processor, because
    `warm` fills a folder for one, and machines that share a home may differ. It is in
    `$BINLAKE_CACHE`, else in the user's cache, else (who runs Spark's executors may have no home)
    in a folder of the user's alone among temporary files. Raises OSError where that is not to be
    had either.
    """
    checked = bool(numba.config.BOUNDSCHECK)
    python = sys.version_info[:2]
    built_for = (python, numba.__version__, np.__version__, checked, *processor())
    digest = hashlib.sha256(repr(built_for).encode())
    for name, source in sorted(_sources(files(_PACKAGE))):
        digest.update(name.encode() + b"\0" + source)
    return _root() / f"kernels-{digest.hexdigest()[:16]}"


def _sources(folder: Any, place: str = "") -> Iterator[tuple[str, bytes]]:
    """Each module's path in the package and its text, from a folder or an archive."""
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
        # Groups of one user alone are common, and so are folders that they can write.
        return _of_this_user_alone(_made(Path(usual) / "binlake"), forbidden=0o002)
    except OSError:
        return _own_temporary_folder()


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")
    return folder


def _own_temporary_folder() -> Path:
    """A folder that nobody else can write: what is loaded from it is run."""
    folder = Path(tempfile.gettempdir()) / f"binlake-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return _of_this_user_alone(folder)


def _of_this_user_alone(folder: Path, *, forbidden: int = 0o022) -> Path:
    """A home may be among temporary files too (`HOME=/tmp`), where others can make it first."""
    found = folder.lstat()
    if not S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & forbidden:
        raise PermissionError(f"{folder} is not of this user alone")
    return folder


@contextmanager
def locked(file: TextIO) -> Iterator[None]:
    """Hold a file alone, and close it."""
    with file:
        # Some shared homes know no locks: two may do the same there, which costs time alone.
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def add_one_at_a_time(forms: Any) -> None:
    """Let one process at a time add to the compiled forms of a function (an `IndexDataCacheFile`).

    Numba reads the index of forms and writes it with one more: two processes at that would give
    two forms the same file, and who loads one by its signature would find the other.
    """
    add, lock = forms.save, Path(forms._cache_path) / "lock"

    def save(key: object, data: object) -> None:
        with locked(lock.open("w")):
            add(key, data)

    forms.save = save


class Locator:
    """What numba asks where a function's compiled forms are, and whether they are still its own."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        # Numba shows it in a warning.
        self._py_file = file
        self._function = function

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Locator:
        """The locator of a function, whose folder is there; raises OSError where it cannot be.

        A folder that is filled need not be one that can be written, as in a container's image.
        """
        locator = cls(function, file)
        if not (cache_folder() / WARM).exists():
            locator.ensure_cache_path()
        return locator

    def ensure_cache_path(self) -> None:
        """Have a folder that can be written."""
        _made(Path(self.get_cache_path()))

    def get_cache_path(self) -> str:
        """The folder: one for each module, whose names numba shortens to their last part."""
        return str(cache_folder() / self._function.__module__)

    def get_source_stamp(self) -> str:
        """Whether the source is that of the compiled forms: they would be elsewhere otherwise."""
        return cache_folder().name

    def get_disambiguator(self) -> str:
        """What tells functions of one name in a module apart."""
        return str(self._function.__code__.co_firstlineno)
