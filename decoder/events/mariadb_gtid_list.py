"""MARIADB_GTID_LIST: the last transaction of every domain and server before this file.

Format: MariaDB `sql/log_event.cc`, `Gtid_list_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event

_COUNT_BITS = 28
_ITEM_LENGTH = 16


@dataclass(frozen=True, slots=True)
class MariadbGtidListEvent(Event):
    """The GTIDs before this file, after FORMAT_DESCRIPTION; in relay logs also elsewhere."""

    list_flags: int
    """The highest 4 bits of a u32: bit 0 until reached, bit 1 ignored GTIDs."""
    gtids: tuple[str, ...]
    """Counted by the other bits of that u32; a u32 domain, a u32 server and a u64 number each, here
    as text: `domain-server-number`."""

    @classmethod
    def parse(cls, body: Cursor) -> MariadbGtidListEvent:
        """Read the event."""
        head = body.post_header(4).u32()
        count = head & (1 << _COUNT_BITS) - 1
        if count * _ITEM_LENGTH > body.remaining:
            raise body.malformed(f"{count} GTIDs do not fit in the {body.remaining} bytes left")
        gtids = tuple(f"{body.u32()}-{body.u32()}-{body.u64()}" for _ in range(count))
        return cls(body.header, head >> _COUNT_BITS, gtids)
