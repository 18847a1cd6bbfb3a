"""MARIADB_GTID: the start of a transaction, and also its BEGIN unless flagged standalone.

Format: MariaDB `sql/log_event.cc`, `Gtid_log_event`. Absent fields take no space; the body is
padded with zeros to at least 19 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Any

from decoder.events.cursor import Cursor
from decoder.events.event import Event


class MariadbGtidFlag(IntFlag):
    """Bits of flags2."""

    STANDALONE = 0x1
    GROUP_COMMIT_ID = 0x2
    TRANSACTIONAL = 0x4
    ALLOW_PARALLEL = 0x8
    WAITED = 0x10
    DDL = 0x20
    PREPARED_XA = 0x40
    COMPLETED_XA = 0x80


class MariadbGtidExtraFlag(IntFlag):
    """Bits of the extra flags."""

    MULTI_ENGINE = 0x1
    START_ALTER = 0x2
    COMMIT_ALTER = 0x4
    ROLLBACK_ALTER = 0x8
    THREAD_ID = 0x10


@dataclass(frozen=True, slots=True)
class XaId:
    """The name of an XA transaction."""

    format_id: int
    """u32."""
    global_id: bytes
    """u8 length; the bytes follow both lengths."""
    branch: bytes
    """u8 length; the bytes follow the global id."""


@dataclass(frozen=True, slots=True)
class MariadbGtidEvent(Event):
    """The start of a transaction; the server id of its GTID is that of the header."""

    sequence_number: int
    """u64: its number in the domain."""
    domain_id: int
    """u32: transactions of different domains are independent."""
    flags2: MariadbGtidFlag
    """u8."""
    commit_id: int | None = None
    """u64, if flagged: the group that it committed with."""
    xa_id: XaId | None = None
    """If flagged as the PREPARE, COMMIT or ROLLBACK of an XA transaction."""
    extra_flags: MariadbGtidExtraFlag | None = None
    """u8 (from 10.8 on); None if the event ends before it."""
    extra_engines: int | None = None
    """u8, if flagged: number of participating engines besides the first."""
    start_alter_number: int | None = None
    """u64, if flagged: number of the START ALTER that this transaction commits or rolls back."""
    thread_id: int | None = None
    """u32, if flagged: the connection."""

    @property
    def gtid(self) -> str:
        """`domain-server-number`."""
        return f"{self.domain_id}-{self.server_id}-{self.sequence_number}"

    @property
    def standalone(self) -> bool:
        """True if the transaction is a single event without a COMMIT."""
        return MariadbGtidFlag.STANDALONE in self.flags2

    @classmethod
    def parse(cls, body: Cursor) -> MariadbGtidEvent:
        """Read the event."""
        sequence_number, domain_id = body.u64(), body.u32()
        flags2 = MariadbGtidFlag(body.u8())
        commit_id = body.u64() if MariadbGtidFlag.GROUP_COMMIT_ID in flags2 else None
        xa_id = _xa_id(body) if flags2 & _XA else None
        extra = _extra(body) if body.remaining else {}
        return cls(body.header, sequence_number, domain_id, flags2, commit_id, xa_id, **extra)


_XA = MariadbGtidFlag.PREPARED_XA | MariadbGtidFlag.COMPLETED_XA
_ALTER = MariadbGtidExtraFlag.COMMIT_ALTER | MariadbGtidExtraFlag.ROLLBACK_ALTER


def _xa_id(cursor: Cursor) -> XaId:
    format_id, global_length, branch_length = cursor.u32(), cursor.u8(), cursor.u8()
    return XaId(format_id, cursor.take(global_length), cursor.take(branch_length))


def _extra(cursor: Cursor) -> dict[str, Any]:
    flags = MariadbGtidExtraFlag(cursor.u8())
    values: dict[str, Any] = {"extra_flags": flags}
    if MariadbGtidExtraFlag.MULTI_ENGINE in flags:
        values["extra_engines"] = cursor.u8()
    if flags & _ALTER:
        values["start_alter_number"] = cursor.u64()
    if MariadbGtidExtraFlag.THREAD_ID in flags:
        values["thread_id"] = cursor.u32()
    return values
