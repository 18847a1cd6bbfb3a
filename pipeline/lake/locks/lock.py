"""A lock for one writer at a time of a Delta table on a local disk.

Object stores and HDFS refuse to overwrite a commit file. On a local disk Delta first checks
and then renames, so two processes can both believe that they wrote the same version. A lock of the
operating system, which ends with its process, closes that window. Other stores need no lock: their
puts are atomic.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_OTHER_STORE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""The start of a URI: `s3a://…`, `hdfs:/…`."""


@contextmanager
def exclusive(table: str) -> Iterator[None]:
    """Lock `table` (a path or name) on this machine until the end of the block; waits for the lock.

    A no-op for names, URIs of other stores and the empty string.
    Not reentrant: the body must not lock the same table again.
    """
    path = local_path(table)
    if path is None:
        yield
        return
    handle = _opened(_lock_file(path))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _opened(file: Path) -> int:
    """Open the lock file for reading, which suffices to lock it: another user may own it."""
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.fchmod(handle, 0o644)  # whatever the umask is
        return handle


def local_path(table: str) -> str | None:
    """Return the folder of a table on a local disk; None for a URI of another store or a name."""
    scheme, separator, rest = table.partition(":")
    if scheme == "file" and separator:
        return os.path.realpath("/" + rest.lstrip("/"))
    if not table or _OTHER_STORE.match(table) or table.startswith("`"):
        return None
    return os.path.realpath(table)


def absolute(place: str) -> str:
    """Return a relative path as an absolute one; any other path, URI or name as it is."""
    return place if not place or _OTHER_STORE.match(place) else os.path.abspath(place)


def _lock_file(path: str) -> Path:
    """Return the path of a lock file, in a temporary folder shared by the machine's users: a lake's
    folders contain only Delta tables."""
    folder = Path(tempfile.gettempdir()) / "binlake-locks"
    try:
        folder.mkdir(mode=0o777)
        folder.chmod(0o1777)
    except FileExistsError:
        pass
    return folder / hashlib.sha256(path.encode()).hexdigest()[:32]
