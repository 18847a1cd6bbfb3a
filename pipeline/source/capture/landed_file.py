"""A landed file: append new bytes, compare bytes that are sent again, make it durable on request.

It equals the server's file, including the in-use flag: set while the server writes the file,
cleared when the file is complete. From this flag readers know whether it still grows.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from decoder import BinlogError, Framer
from decoder.constants import MAGIC, EventFlag, EventType
from decoder.segments.framer import FLAGS_POSITION, has_in_use_flag
from decoder.segments.log_header import read_description
from pipeline.source.capture.errors import AnotherLogError, DamagedFolderError
from pipeline.source.capture.state import sync_folder

_WINDOW = 8 << 20
_ENDS = (EventType.ROTATE, EventType.STOP)
_BEGINNING = 1 << 12
_TYPE_AT, _SIZE_AT = len(MAGIC) + 4, len(MAGIC) + 9
"""Positions of type and size of a file's first event."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """Content of a file: whole events up to `end`, the last of which starts at `last_event`.

    `ended`: the last event closes the file.
    """

    end: int
    last_event: int
    ended: bool


Writes = Callable[[int, memoryview, int], int]
"""Write bytes to a file descriptor at a position and return their number, as `os.pwrite`."""


def recover(path: Path, durable: int | None, *, own: bool = True) -> Recovered:
    """Truncate a file after its last whole, valid event; durable bytes are never truncated.

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
        return _truncate_to(path, durable)
    size = path.stat().st_size
    whole = end == size and last_event
    if not whole and not (own and (last_event or _is_only_begun(beginning, size))):
        fault = framer.fault or "its last event is incomplete"
        raise DamagedFolderError(f"it was not written by a capture: {fault}.", file=str(path))
    if not last_event:
        return Recovered(0, 0, ended=False)
    if end != size:
        os.truncate(path, end)
    return Recovered(end, last_event, ended)


def _truncate_to(path: Path, durable: int) -> Recovered:
    os.truncate(path, durable)
    return recover(path, durable)


def _is_only_begun(beginning: bytes, size: int) -> bool:
    """True if a file without a whole event is the incomplete first write of a capture."""
    if not MAGIC.startswith(beginning[: len(MAGIC)]):
        return False
    if size <= FLAGS_POSITION:
        return beginning[_TYPE_AT : _TYPE_AT + 1] in (b"", bytes([EventType.FORMAT_DESCRIPTION]))
    event = int.from_bytes(beginning[_SIZE_AT : _SIZE_AT + 4], "little")
    return _is_in_use(beginning) and size < len(MAGIC) + event


def _is_in_use(beginning: bytes) -> bool:
    """True if the in-use flag is set: the file grows, and its end may not be on disk."""
    flagged = has_in_use_flag(beginning)
    return flagged and bool(beginning[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE)


def _is_uncertain(beginning: bytes) -> bool:
    """True if the file's last bytes cannot be verified: it grows and has no checksums."""
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
