"""A GTID set in the encoding of PREVIOUS_GTIDS.

Format: MySQL `sql/rpl_gtid_set.cc`, `Gtid_set::encode`: a u64 whose highest byte is the format. In
format 0 the rest is the number of sources; in format 1 (with tags, from 8.3) bits 8 to 55 are, and
the lowest byte repeats the format. For each source: 16 bytes of UUID; in format 1 its tag, as a
varint length and text; a u64 number of intervals, and for each a u64 first and a u64 end number
(exclusive).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from decoder.events.cursor import Cursor

_UNTAGGED = 0
_TAGGED = 1
_INTERVAL_LENGTH = 16
_MIN_SOURCE_LENGTH = 24
_MAX_TAG_LENGTH = 32


@dataclass(frozen=True, slots=True)
class GtidSource:
    """The transactions of one server under one tag; each interval is (first, last)."""

    uuid: str
    tag: str
    intervals: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class LoggedGtidSet:
    """Sources in the order in which they are logged; `str()` is MySQL's text form."""

    sources: tuple[GtidSource, ...]

    def __str__(self) -> str:
        return ",".join(
            ":".join([uuid, *(_tag_and_intervals(source) for source in sources)])
            for uuid, sources in groupby(self.sources, lambda source: source.uuid)
        )


def _tag_and_intervals(source: GtidSource) -> str:
    ranges = (str(a) if a == b else f"{a}-{b}" for a, b in source.intervals)
    return ":".join([source.tag, *ranges] if source.tag else ranges)


def parse_gtid_set(cursor: Cursor) -> LoggedGtidSet:
    """Read an encoded set up to the cursor's end."""
    head = cursor.u64()
    encoding = head >> 56
    if encoding not in (_UNTAGGED, _TAGGED):
        raise cursor.malformed(f"the GTID set format {encoding} is unknown")
    count = head >> 8 & (1 << 48) - 1 if encoding == _TAGGED else head
    if count * _MIN_SOURCE_LENGTH > cursor.remaining:
        raise cursor.malformed(
            f"{count} GTID sources do not fit in the {cursor.remaining} bytes left"
        )
    sources = tuple(_source(cursor, encoding == _TAGGED) for _ in range(count))
    if cursor.remaining:
        raise cursor.malformed(f"its GTID set is followed by {cursor.remaining} bytes")
    return LoggedGtidSet(sources)


def _source(cursor: Cursor, tagged: bool) -> GtidSource:
    uuid = str(UUID(bytes=cursor.take(16)))
    tag = parse_tag(cursor) if tagged else ""
    count = cursor.u64()
    if count * _INTERVAL_LENGTH > cursor.remaining:
        raise cursor.malformed(
            f"{count} GTID intervals do not fit in the {cursor.remaining} bytes left"
        )
    return GtidSource(uuid, tag, tuple(_interval(cursor) for _ in range(count)))


def _interval(cursor: Cursor) -> tuple[int, int]:
    first, end = cursor.u64(), cursor.u64()
    if not 0 < first < end:
        raise cursor.malformed(f"the GTID interval [{first}, {end}) is invalid")
    return first, end - 1


def parse_tag(cursor: Cursor) -> str:
    """Read a GTID's tag: a varint length and text."""
    length = cursor.varint()
    if length > _MAX_TAG_LENGTH:
        raise cursor.malformed(f"a GTID tag has {length} bytes; the limit is {_MAX_TAG_LENGTH}")
    return cursor.text(length)
