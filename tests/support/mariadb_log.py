"""A MariaDB log as MySQL would have written it: for tests of rows, before its GTIDs are decoded."""

from __future__ import annotations

from decoder.constants import HEADER_LENGTH, MAGIC, EventType as T
from tests.support.event_bytes import event_bytes

_LEFT_OUT = {T.MARIADB_ANNOTATE_ROWS, T.MARIADB_BINLOG_CHECKPOINT, T.MARIADB_GTID_LIST}
_FLAGS = HEADER_LENGTH + 12
_STANDALONE = 1


def without_gtids(log: bytes) -> bytes:
    """A log with checksums without MariaDB's own events; a GTID that is a BEGIN becomes one."""
    begin = event_bytes(T.QUERY, bytes(13) + b"\0BEGIN", checksum=True)
    events = [MAGIC]
    position = len(MAGIC)
    while position < len(log):
        size = int.from_bytes(log[position + 9 : position + 13], "little")
        event = log[position : position + size]
        position += size
        if event[4] == T.MARIADB_GTID:
            events += [] if event[_FLAGS] & _STANDALONE else [begin]
        elif event[4] not in _LEFT_OUT:
            events.append(event)
    return b"".join(events)
