"""The folder that logs are landed in: one capture at a time, and what it holds to go on from.

Only the last file is ever appended to. What is hidden (a leading dot) is the capture's own, which
bronze and other readers of the folder pass over.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import SettingsError
from pipeline.source.capture.errors import AnotherLogError, BrokenDumpError, FolderInUseError
from pipeline.source.capture.landed_file import LandedFile, Writes, recover
from pipeline.source.capture.log_position import LogPosition, follows, is_log_name, number_of

LOCK = ".binlake-capture.lock"
_FIRST_POSITION = 4


@dataclass(frozen=True, slots=True)
class Landed:
    """Where the folder ends: behind a whole event of its last file, which starts at `last_event`.

    `ended`: that event closes the file.
    """

    end: LogPosition
    last_event: int
    ended: bool


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder, which is made where it is not there. Raises FolderInUseError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        reason = f"{folder} cannot be written: {error.strerror}."
        raise SettingsError(reason, key="capture.to") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise FolderInUseError(str(folder)) from error
    try:
        yield
    finally:
        os.close(lock)


class LandedFolder:
    """What is landed, and the file under way. Not to be used without `alone_in`."""

    def __init__(self, path: Path, *, write: Writes = os.pwrite) -> None:
        self.path = path
        self._write = write
        self._file: LandedFile | None = None
        self._ended = False

    def names(self) -> list[str]:
        """The landed files, in the log's order."""
        found = (entry.name for entry in self.path.iterdir() if entry.is_file())
        return sorted(filter(is_log_name, found), key=number_of)

    @property
    def first(self) -> Path | None:
        """The first landed file that is there."""
        return next((self.path / name for name in self.names()), None)

    def recover(self, durable: LogPosition | None, *, own: bool = True) -> Landed | None:
        """What is there to go on from, its last file cut off behind its last whole event.

        `durable`: how far the state says that it is on disk. None where there is no file. `own`:
        whether the state says that a capture has begun here; otherwise nothing is changed.

        Raises DamagedFolderError for a file that no capture leaves behind.
        """
        self.leave()
        for name in reversed(self.names()):
            found = recover(self.path / name, _durable_bytes(name, durable, own), own=own)
            if found.end:
                return Landed(LogPosition(name, found.end), found.last_event, found.ended)
            # Begun, and not so far that anything of it counts.
            (self.path / name).unlink()
        return None

    @property
    def end(self) -> LogPosition | None:
        """Behind the last whole event of the file under way."""
        return None if self._file is None else LogPosition(self._file.path.name, self._file.whole)

    def begin(self, file: str, position: int, *, gap: bool = False) -> None:
        """What follows is of that file; the one before it, if it is another, is closed.

        With `gap`, files between them may be missing. Raises AnotherLogError where the server's
        log has no such file next, BrokenDumpError where bytes before `position` are not landed.
        """
        if not is_log_name(file):
            raise BrokenDumpError("no log is called that.", file=file, position=position)
        under_way = self._file
        if under_way is not None and under_way.path.name == file:
            return
        if under_way is not None:
            if not gap and not follows(file, under_way.path.name):
                raise AnotherLogError(
                    f"behind {under_way.path.name} the server goes on with {file}.",
                    folder=str(self.path),
                )
            self._finish(under_way)
        path = self.path / file
        end = path.stat().st_size if path.exists() else 0
        if position > max(end, _FIRST_POSITION):
            reason = f"what is before it is not landed: {path} has {end} bytes."
            raise BrokenDumpError(reason, file=file, position=position)
        self._file = LandedFile(path, end, write=self._write)

    def land(self, data: memoryview, position: int, *, whole: int | None, ended: bool) -> int:
        """Put bytes of the file under way where they belong; gives how many are new."""
        assert self._file is not None
        return self._file.land(data, position, whole=whole, ended=ended)

    def make_durable(self) -> LogPosition | None:
        """All that is landed is on disk when this returns: up to where."""
        if self._file is not None:
            self._file.make_durable()
        return self.end

    def close_recovered(self, name: str) -> None:
        """A file that has no end, and that the server has left: its in-use flag is cleared."""
        file = LandedFile(self.path / name, (self.path / name).stat().st_size)
        self._finish(file)

    def leave(self) -> None:
        """Let the file under way go, without what is behind its last whole event."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _finish(self, file: LandedFile) -> None:
        file.make_durable()
        file.clear_in_use()
        file.close()


def _durable_bytes(name: str, durable: LogPosition | None, own: bool) -> int | None:
    """How many of a file's bytes the state knows to be on disk; None where it does not tell."""
    if durable is not None and durable.file == name:
        return durable.position
    newer = durable is None or number_of(name) > number_of(durable.file)
    return 0 if own and newer else None
