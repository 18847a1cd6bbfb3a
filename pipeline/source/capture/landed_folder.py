"""The folder that logs are landed in: its lock, its files, and the position to resume from.

A landed file equals the server's, including the in-use flag: set while the server writes the file,
cleared when the file is complete. From this flag readers know whether it still grows. Only the last
file is ever appended to. Hidden files (with a leading dot) are the capture's own; bronze and other
readers of the folder ignore them.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from decoder import BinlogError, Framer
from decoder.constants import MAGIC, EventFlag, EventType
from decoder.segments import FLAGS_POSITION, has_in_use_flag, read_description
from pipeline.errors import SettingsError
from pipeline.source.capture.errors import (
    AnotherLogError,
    BrokenDumpError,
    DamagedFolderError,
    FolderInUseError,
)
from pipeline.source.capture.state import sync_folder
from pipeline.source.server.log_position import LogPosition, follows, is_log_name, number_of

LOCK = ".binlake-capture.lock"
_FIRST_POSITION = 4
_WINDOW = 8 << 20
_ENDS = (EventType.ROTATE, EventType.STOP)
_BEGINNING = 1 << 12
_TYPE_AT, _SIZE_AT = len(MAGIC) + 4, len(MAGIC) + 9
"""Positions of type and size of a file's first event."""

Writes = Callable[[int, memoryview, int], int]
"""Write bytes to a file descriptor at a position and return their number, as `os.pwrite`."""


@dataclass(frozen=True, slots=True)
class Landed:
    """End of what is landed: after a whole event of the last file, which starts at `last_event`.

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
            if found is not None:
                return found
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


def recover(path: Path, durable: int | None, *, own: bool = True) -> Landed | None:
    """Truncate a file after its last whole, valid event; durable bytes are never truncated.

    Returns its end, or None if it has no whole event.

    `durable`: number of bytes known to be on disk (None: unknown). While the file grows and has no
    checksums, bytes after that cannot be verified and are truncated too. `own`: a capture has
    written here; otherwise nothing is truncated.

    Raises DamagedFolderError if fewer bytes than `durable` are valid, or if the file cannot be the
    work of a capture.
    """
    framer = Framer()
    last_event = 0
    with path.open("rb") as file:
        beginning = file.read(_BEGINNING)
        file.seek(0)
        while framer.fault is None and (data := file.read(_WINDOW)):
            for window in framer.feed(data):
                last_event = int(window.ends[-1] - window.frames.size[-1])
    end, ended = framer.end.position, framer.last_type in _ENDS
    if durable is not None and end < durable:
        fault = framer.fault or "it ends there"
        reason = f"only {end} of {durable} landed bytes are valid: {fault}."
        raise DamagedFolderError(reason, file=str(path))
    if durable is not None and end > durable and _is_uncertain(beginning):
        os.truncate(path, durable)
        return recover(path, durable)
    size = path.stat().st_size
    whole = end == size and last_event
    if not whole and not (own and (last_event or _is_only_begun(beginning, size))):
        fault = framer.fault or "its last event is incomplete"
        raise DamagedFolderError(f"it was not written by a capture: {fault}.", file=str(path))
    if not last_event:
        return None
    if end != size:
        os.truncate(path, end)
    return Landed(LogPosition(path.name, end), last_event, ended)


def _is_only_begun(beginning: bytes, size: int) -> bool:
    """Return True if a file without a whole event is the incomplete first write of a capture."""
    if not MAGIC.startswith(beginning[: len(MAGIC)]):
        return False
    if size <= FLAGS_POSITION:
        return beginning[_TYPE_AT : _TYPE_AT + 1] in (b"", bytes([EventType.FORMAT_DESCRIPTION]))
    event = int.from_bytes(beginning[_SIZE_AT : _SIZE_AT + 4], "little")
    return _is_in_use(beginning) and size < len(MAGIC) + event


def _is_in_use(beginning: bytes) -> bool:
    """Return True if the in-use flag is set: the file grows, and its end may not be on disk."""
    flagged = has_in_use_flag(beginning)
    return flagged and bool(beginning[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE)


def _is_uncertain(beginning: bytes) -> bool:
    """Return True if the file's last bytes cannot be verified: it grows and has no checksums."""
    try:
        return _is_in_use(beginning) and not read_description(beginning).checksum_length
    except BinlogError:
        return True


class LandedFile:
    """The file being written, `end` bytes long; the bytes before `whole` are whole events."""

    def __init__(self, path: Path, end: int, *, write: Writes = os.pwrite) -> None:
        self.path = path
        self.end = end
        self.whole = end
        self._write = write
        self._ended = False
        # Hidden until its first bytes are written, so that readers never find an empty log.
        self._hidden = None if path.exists() else path.with_name(f".{path.name}.begun")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if self._hidden else 0)
        self._descriptor = os.open(self._hidden or path, flags, 0o644)

    def land(self, data: memoryview, position: int, *, whole: int | None, ended: bool) -> int:
        """Append bytes that are new, compare the others, and return the number of new ones.

        `position` is at most `end`. `whole`: the position up to which the file then consists of
        whole events (None: unchanged); `ended`: the last of them closes the file.

        Raises AnotherLogError if bytes that are already landed differ.
        """
        known = min(max(self.end - position, 0), len(data))
        if known:
            self._compare(data[:known], position)
        new = data[known:]
        done = 0
        while done < len(new):
            done += self._write(self._descriptor, new[done:], position + known + done)
        self._show()
        self.end = max(self.end, position + len(data))
        if whole is not None and whole >= self.whole:
            self.whole, self._ended = whole, ended
        return len(new)

    def make_durable(self) -> None:
        """Sync the file to disk; if it is complete, clear its in-use flag as the server does."""
        os.fdatasync(self._descriptor)
        if self._ended and self.whole == self.end:
            self.clear_in_use()

    def clear_in_use(self) -> None:
        """Clear the in-use flag, as the server does when it closes or recovers the file."""
        start = os.pread(self._descriptor, FLAGS_POSITION + 1, 0)
        if has_in_use_flag(start) and start[-1] & EventFlag.BINLOG_IN_USE:
            cleared = bytes([start[-1] & 0xFF ^ EventFlag.BINLOG_IN_USE])
            os.pwrite(self._descriptor, cleared, FLAGS_POSITION)
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Truncate the file after its last whole event and close it."""
        if self.end != self.whole:
            os.ftruncate(self._descriptor, self.whole)
            self.end = self.whole
        if self._hidden is not None:
            self._hidden.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _show(self) -> None:
        if self._hidden is not None:
            self._hidden.replace(self.path)
            self._hidden = None
            sync_folder(self.path.parent)

    def _compare(self, data: memoryview, position: int) -> None:
        there = os.pread(self._descriptor, len(data), position)
        if _masked(there, position) != _masked(bytes(data), position):
            raise AnotherLogError(
                f"at position {position} of {self.path.name} the server has other bytes than were"
                " landed.",
                folder=str(self.path.parent),
            )


def _masked(data: bytes, position: int) -> bytes:
    """Return the bytes with the in-use flag cleared, which differs once the file is closed."""
    at = FLAGS_POSITION - position
    if not 0 <= at < len(data):
        return data
    masked = bytearray(data)
    masked[at] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    return bytes(masked)
