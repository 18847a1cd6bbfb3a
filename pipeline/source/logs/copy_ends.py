"""The ends of copies of a log file, read only to compare copies."""

from __future__ import annotations

from decoder import BinlogError
from decoder.constants import EventType
from pipeline.source.logs.listing import Binlog
from pipeline.source.logs.storage import opened, read_windows

_HEADER = 19
_LAST_EVENT = 1024
"""Bytes at the end that contain a ROTATE or STOP event, even with the longest name."""


def is_closed(plain: Binlog) -> bool:
    """Return True if an uncompressed log ends with the server's ROTATE or STOP event."""
    size = plain.stored.size
    length = min(size, _LAST_EVENT)
    try:
        with opened(plain.stored.path, plain.cipher, ahead=_LAST_EVENT) as log:
            log.seek(size - length)
            tail = b"".join(read_windows(log, length))
    except (OSError, BinlogError):
        return False
    return any(_ends_with_event(tail, at, size) for at in range(len(tail) - _HEADER + 1))


def is_longer(packed: Binlog, length: int) -> bool:
    """Return True if the log in a compressed file has more than `length` bytes.

    False if it cannot be read that far.
    """
    try:
        with opened(packed.stored.path, packed.cipher, packed.codec) as log:
            return sum(map(len, read_windows(log, length + 1))) > length
    except (OSError, BinlogError):
        return False


def _ends_with_event(tail: bytes, at: int, size: int) -> bool:
    """True if the header there is that of a ROTATE or STOP which is the log's last event."""
    kind = tail[at + 4]
    length, end = (int.from_bytes(tail[at + n : at + n + 4], "little") for n in (9, 13))
    last = length == len(tail) - at and end == size % (1 << 32)
    return last and kind in (EventType.ROTATE, EventType.STOP)
