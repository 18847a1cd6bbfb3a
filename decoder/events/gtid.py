"""GTID and ANONYMOUS_GTID: the start of a transaction, with its GTID, commit times and length.

Format: MySQL `control_events.cpp`, `Gtid_event`. Later versions appended fields, so an event may
end before any of the optional ones: 5.6 has no logical clock, 5.7 no commit times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from decoder.constants import EventType
from decoder.events.cursor import Cursor
from decoder.events.event import Event

_LOGICAL_TIMESTAMP_TYPECODE = 2
_COMMIT_TIMESTAMP_LENGTH = 7
_HAS_ORIGINAL_TIMESTAMP = 1 << 55
_HAS_ORIGINAL_VERSION = 1 << 31
_MAY_HAVE_STATEMENTS = 1
GNO_END = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class GtidEvent(Event):
    """The start of a transaction. Times are microseconds since 1970, None if not logged."""

    gtid_flags: int
    """u8: bit 0, the transaction may hold statements."""
    uuid: str
    """16 bytes: the server that committed it first."""
    gno: int
    """i64: its number among that server's transactions (0: anonymous)."""
    last_committed: int | None = None
    """i64, after a u8 typecode 2: transactions after it can run in parallel with this one."""
    sequence_number: int | None = None
    """i64: its number in this log file."""
    immediate_commit_timestamp: int | None = None
    """7 bytes: when this server committed it; bit 55 is set if the next field is present."""
    original_commit_timestamp: int | None = None
    """7 bytes: when the first server committed it; absent if it is the same."""
    transaction_length: int | None = None
    """Length-encoded: bytes of the whole transaction, this event included."""
    immediate_server_version: int | None = None
    """u32: this server's version, such as 80043; bit 31 is set if the next field is present."""
    original_server_version: int | None = None
    """u32: the first server's version; absent if it is the same."""
    commit_group_ticket: int | None = None
    """u64: the group that it committed with (group replication)."""
    tag: str = ""
    """Only in GTID_TAGGED."""

    @property
    def gtid(self) -> str | None:
        """`uuid:gno` or `uuid:tag:gno`; None for an anonymous transaction."""
        if not self.gno:
            return None
        return ":".join(part for part in (self.uuid, self.tag, str(self.gno)) if part)

    @property
    def may_have_statements(self) -> bool:
        """True if a part of it may be logged as a statement."""
        return bool(self.gtid_flags & _MAY_HAVE_STATEMENTS)

    @classmethod
    def parse(cls, body: Cursor) -> GtidEvent:
        """Read the event."""
        gtid_flags = body.u8()
        uuid = str(UUID(bytes=body.take(16)))
        gno = body.i64()
        first, end = (0, 1) if body.header.type == EventType.ANONYMOUS_GTID else (1, GNO_END)
        if not first <= gno < end:
            raise body.malformed(f"transaction number {gno} is out of range")
        return cls(body.header, gtid_flags, uuid, gno, **_optional_fields(body))


@dataclass(frozen=True, slots=True)
class AnonymousGtidEvent(GtidEvent):
    """The start of a transaction without a GTID (`gtid_mode=OFF`), in the layout of GTID."""


def _optional_fields(cursor: Cursor) -> dict[str, Any]:
    """Read the fields after the GNO, as many as the server's version writes."""
    values: dict[str, Any] = {}
    if not cursor.remaining or cursor.u8() != _LOGICAL_TIMESTAMP_TYPECODE:
        return values
    values["last_committed"] = cursor.i64()
    values["sequence_number"] = cursor.i64()
    if not cursor.remaining:
        return values
    values |= _commit_timestamps(cursor)
    if cursor.remaining:
        values["transaction_length"] = cursor.length_encoded()
    if cursor.remaining:
        values |= _server_versions(cursor)
    if cursor.remaining:
        values["commit_group_ticket"] = cursor.u64()
    return values


def _commit_timestamps(cursor: Cursor) -> dict[str, int]:
    immediate = cursor.uint(_COMMIT_TIMESTAMP_LENGTH)
    original = immediate
    if immediate & _HAS_ORIGINAL_TIMESTAMP:
        immediate -= _HAS_ORIGINAL_TIMESTAMP
        original = cursor.uint(_COMMIT_TIMESTAMP_LENGTH)
    return {"immediate_commit_timestamp": immediate, "original_commit_timestamp": original}


def _server_versions(cursor: Cursor) -> dict[str, int]:
    immediate = cursor.u32()
    original = immediate
    if immediate & _HAS_ORIGINAL_VERSION:
        immediate -= _HAS_ORIGINAL_VERSION
        original = cursor.u32()
    return {"immediate_server_version": immediate, "original_server_version": original}
