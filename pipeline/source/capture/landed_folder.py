"""The folder that logs are landed in: its lock, its files, and the position to resume from.

Only the last file is ever appended to. Hidden files (with a leading dot) are the capture's own;
bronze and other readers of the folder ignore them.
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
    """End of the landed log: after a whole event of the last file, which starts at `last_event`.

    `ended`: that event closes the file.
    """

    end: LogPosition
    last_event: int
    ended: bool


@contextmanager
def exclusive_folder(folder: Path) -> Iterator[None]:
    """Lock the folder, creating it if needed. Raises FolderInUseError if it is locked."""
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
    """The landed files and the one being written. Use it only within `exclusive_folder`."""

    def __init__(self, path: Path, *, write: Writes = os.pwrite) -> None:
        self.path = path
        self._write = write
        self._file: LandedFile | None = None
        self._ended = False

    def names(self) -> list[str]:
        """Return the names of the landed files, in the log's order."""
        found = (entry.name for entry in self.path.iterdir() if entry.is_file())
        return sorted(filter(is_log_name, found), key=number_of)

    @property
    def first(self) -> Path | None:
        """The first landed file that still exists, or None."""
        return next((self.path / name for name in self.names()), None)

    def recover(self, durable: LogPosition | None, *, own: bool = True) -> Landed | None:
        """Truncate the last file after its last whole event, and return where to resume.

        None if there is no file. `durable`: the durable position in the state. `own`: according to
        the state, a capture has begun here; otherwise nothing is changed.

        Raises DamagedFolderError if a file cannot be the work of a capture.
        """
        self.leave()
        for name in reversed(self.names()):
            found = recover(self.path / name, _durable_bytes(name, durable, own), own=own)
            if found.end:
                return Landed(LogPosition(name, found.end), found.last_event, found.ended)
            # It was only just created, without a whole event.
            (self.path / name).unlink()
        return None

    @property
    def end(self) -> LogPosition | None:
        """The position after the last whole event of the file being written."""
        return None if self._file is None else LogPosition(self._file.path.name, self._file.whole)

    def begin(self, file: str, position: int, *, gap: bool = False) -> None:
        """Switch to a file, and close the previous one if it is another.

        With `gap`, files between them may be missing. Raises AnotherLogError if the file does not
        follow the previous one, BrokenDumpError if bytes before `position` are not landed.
        """
        if not is_log_name(file):
            raise BrokenDumpError("not a binary log name.", file=file, position=position)
        current = self._file
        if current is not None and current.path.name == file:
            return
        if current is not None:
            if not gap and not follows(file, current.path.name):
                raise AnotherLogError(
                    f"after {current.path.name} the server continues with {file}.",
                    folder=str(self.path),
                )
            self._finish(current)
        path = self.path / file
        end = path.stat().st_size if path.exists() else 0
        if position > max(end, _FIRST_POSITION):
            reason = f"the bytes before it are not landed: {path} has {end} bytes."
            raise BrokenDumpError(reason, file=file, position=position)
        self._file = LandedFile(path, end, write=self._write)

    def land(self, data: memoryview, position: int, *, whole: int | None, ended: bool) -> int:
        """Write bytes of the current file at their position; return the number of new ones."""
        assert self._file is not None
        return self._file.land(data, position, whole=whole, ended=ended)

    def make_durable(self) -> LogPosition | None:
        """Sync everything landed to disk, and return its end."""
        if self._file is not None:
            self._file.make_durable()
        return self.end

    def close_recovered(self, name: str) -> None:
        """Clear the in-use flag of a file without a closing event that the server has left."""
        file = LandedFile(self.path / name, (self.path / name).stat().st_size)
        self._finish(file)

    def leave(self) -> None:
        """Close the file being written, truncated after its last whole event."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _finish(self, file: LandedFile) -> None:
        file.make_durable()
        file.clear_in_use()
        file.close()


def _durable_bytes(name: str, durable: LogPosition | None, own: bool) -> int | None:
    """Return how many of a file's bytes are durable according to the state; None if unknown."""
    if durable is not None and durable.file == name:
        return durable.position
    newer = durable is None or number_of(name) > number_of(durable.file)
    return 0 if own and newer else None
