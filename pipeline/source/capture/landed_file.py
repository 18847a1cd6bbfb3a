"""One landed file: appended to, compared where it is sent again, durable where that is asked for.

It is what the server's file is, its in-use flag too: set while the server writes the file, cleared
when the file has its end. Whoever reads it sees by that whether it still grows.
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
"""Of the first event, in a file."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a file holds: whole events up to `end`, the last of which starts at `last_event`.

    `ended`: that one closes the file.
    """

    end: int
    last_event: int
    ended: bool


Writes = Callable[[int, memoryview, int], int]
"""Writes bytes at a position of an open file, and says how many: `os.pwrite`."""


def recover(path: Path, durable: int | None, *, own: bool = True) -> Recovered:
    """Cut a file off behind its last whole event that verifies; nothing durable is ever cut.

    `durable`: how far it was known to be on disk (None: nothing is known). Without checksums
    nothing tells whether what is behind that was written as a whole, and it is cut off too while
    the file grows. `own`: whether a capture has written here; otherwise nothing is cut at all.

    Raises DamagedFolderError where fewer bytes than `durable` are good, and for a file that no
    capture leaves behind.
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
        said = framer.fault or "it ends there"
        reason = f"of {durable} bytes that were landed only {end} are good: {said}."
        raise DamagedFolderError(reason, file=str(path))
    if durable is not None and end > durable and _is_uncertain(beginning):
        return _cut_to(path, durable)
    size = path.stat().st_size
    whole = end == size and last_event
    if not whole and not (own and (last_event or _is_only_begun(beginning, size))):
        said = framer.fault or "its last event is not whole"
        raise DamagedFolderError(f"it is not as a capture leaves a file: {said}.", file=str(path))
    if not last_event:
        return Recovered(0, 0, ended=False)
    if end != size:
        os.truncate(path, end)
    return Recovered(end, last_event, ended)


def _cut_to(path: Path, durable: int) -> Recovered:
    os.truncate(path, durable)
    return recover(path, durable)


def _is_only_begun(beginning: bytes, size: int) -> bool:
    """Whether a file without a whole event is what is there of a capture's first write to it."""
    if not MAGIC.startswith(beginning[: len(MAGIC)]):
        return False
    if size <= FLAGS_POSITION:
        return beginning[_TYPE_AT : _TYPE_AT + 1] in (b"", bytes([EventType.FORMAT_DESCRIPTION]))
    event = int.from_bytes(beginning[_SIZE_AT : _SIZE_AT + 4], "little")
    return _is_in_use(beginning) and size < len(MAGIC) + event


def _is_in_use(beginning: bytes) -> bool:
    """Whether the file grows: its end is not known to be on disk as long as the flag is set."""
    flagged = has_in_use_flag(beginning)
    return flagged and bool(beginning[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE)


def _is_uncertain(beginning: bytes) -> bool:
    """Whether nothing tells that the file's last bytes were written: it grows, unchecked."""
    try:
        return _is_in_use(beginning) and not read_description(beginning).checksum_length
    except BinlogError:
        return True


class LandedFile:
    """A file under way, `end` bytes long, of which those before `whole` are whole events."""

    def __init__(self, path: Path, end: int, *, write: Writes = os.pwrite) -> None:
        self.path = path
        self.end = end
        self.whole = end
        self._write = write
        self._ended = False
        # Under a hidden name until its first bytes are in it: nobody finds an empty log.
        self._hidden = None if path.exists() else path.with_name(f".{path.name}.begun")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if self._hidden else 0)
        self._descriptor = os.open(self._hidden or path, flags, 0o644)

    def land(self, data: memoryview, position: int, *, whole: int | None, ended: bool) -> int:
        """Append what is not there yet, and compare the rest; gives how many bytes are new.

        `whole`: up to where what is landed then is whole events (None: as before); `ended`: whether
        the last of them closes the file.

        Raises AnotherLogError where what is there differs. `position` is not behind `end`.
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
        """All of it is on disk when this returns; closed as the server closes it, if it ended."""
        os.fdatasync(self._descriptor)
        if self._ended and self.whole == self.end:
            self.clear_in_use()

    def clear_in_use(self) -> None:
        """As the server does when it closes the file, or has recovered it after a crash."""
        start = os.pread(self._descriptor, FLAGS_POSITION + 1, 0)
        if has_in_use_flag(start) and start[-1] & EventFlag.BINLOG_IN_USE:
            cleared = bytes([start[-1] & 0xFF ^ EventFlag.BINLOG_IN_USE])
            os.pwrite(self._descriptor, cleared, FLAGS_POSITION)
            os.fdatasync(self._descriptor)

    def close(self) -> None:
        """Leave it, cut off behind its last whole event."""
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
                f"what the server has at position {position} of {self.path.name} is not what was"
                " landed.",
                folder=str(self.path.parent),
            )


def _masked(data: bytes, position: int) -> bytes:
    """With the in-use flag cleared: closing a file clears it."""
    at = FLAGS_POSITION - position
    if not 0 <= at < len(data):
        return data
    masked = bytearray(data)
    masked[at] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    return bytes(masked)
