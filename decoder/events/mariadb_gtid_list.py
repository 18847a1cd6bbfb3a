"""MARIADB_GTID_LIST: the last transaction of every domain and server before this file.

Format: MariaDB `sql/log_event.cc`, `Gtid_list_log_event`.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.events.cursor import Cursor
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.post_header import read_post_header

_COUNT_BITS = 28
_ITEM_LENGTH = 16


@dataclass(frozen=True, slots=True)
class MariadbGtidListEvent(Event):
    """Follows FORMAT_DESCRIPTION; in relay logs it also occurs elsewhere."""

    list_flags: int
    """The highest 4 bits of a u32: bit 0 until reached, bit 1 ignored GTIDs."""
    gtids: tuple[str, ...]
    """Counted by the other bits of that u32; a u32 domain, a u32 server and a u64 number each, here
    as text: `domain-server-number`."""

    @classmethod
    def parse(
        cls, body: memoryview, header: EventHeader, description: FormatDescriptionEvent
    ) -> MariadbGtidListEvent:
        """Read the event from its bytes after the common header, without the checksum."""
        cursor = Cursor(body, header)
        head = read_post_header(cursor, header, description, 4).u32()
        count = head & (1 << _COUNT_BITS) - 1
        if count * _ITEM_LENGTH > cursor.remaining:
            raise header.malformed(f"{count} GTIDs do not fit in the {cursor.remaining} bytes left")
        gtids = tuple(f"{cursor.u32()}-{cursor.u32()}-{cursor.u64()}" for _ in range(count))
        return cls(header, head >> _COUNT_BITS, gtids)
