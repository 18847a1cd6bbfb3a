"""One writer at a time for a local Delta table.

Object stores and HDFS refuse to put a commit file where one exists; on a local disk Delta checks
first and renames then, so two processes can both believe that they wrote the same version. A lock
of the operating system, which dies with its process, closes that window. It is no part of the
protocol elsewhere: other stores are left to their own atomic puts.
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
"""`s3a://…`, `hdfs:/…`: what begins as a URI does."""


@contextmanager
def exclusive(table: str) -> Iterator[None]:
    """Hold `table` (a path or name) alone on this machine; waits for whoever holds it.

    Names, URIs of other stores and the empty string lock nothing.
    Not reentrant: the body must not write the same table through another lock.
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
    """The lock's file, which another user may have made: to lock it, reading is enough."""
    try:
        return os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        handle = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.fchmod(handle, 0o644)  # whatever the umask is
        return handle


def local_path(table: str) -> str | None:
    """The folder of a table on a local disk, or None for a URI of another store or a name."""
    scheme, separator, rest = table.partition(":")
    if scheme == "file" and separator:
        return os.path.realpath("/" + rest.lstrip("/"))
    if not table or _OTHER_STORE.match(table) or table.startswith("`"):
        return None
    return os.path.realpath(table)


def absolute(place: str) -> str:
    """A relative path as one from the root; any other path, URI or name as it is."""
    return place if not place or _OTHER_STORE.match(place) else os.path.abspath(place)


def _lock_file(path: str) -> Path:
    """Outside the lake, whose folders hold Delta tables only; shared by the machine's users."""
    folder = Path(tempfile.gettempdir()) / "binlake-locks"
    try:
        folder.mkdir(mode=0o777)
        folder.chmod(0o1777)
    except FileExistsError:
        pass
    return folder / hashlib.sha256(path.encode()).hexdigest()[:32]
