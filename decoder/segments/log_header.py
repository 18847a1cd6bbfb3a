"""The first events of a file, which identify it and define its format."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, MAGIC, EventFlag, EventType
from decoder.errors import BinlogError, ChecksumError, TruncatedError
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.gtid import GtidEvent
from decoder.events.header import EventHeader
from decoder.events.layout import V4, Layout, first_layout
from decoder.events.log_start import DESCRIPTORS, descriptor_of, read_descriptor
from decoder.events.mariadb_gtid import MariadbGtidEvent
from decoder.events.mariadb_gtid_list import MariadbGtidListEvent
from decoder.events.previous_gtids import PreviousGtidsEvent
from decoder.events.registry import parse
from decoder.events.start_v3 import artificial_start
from decoder.framing.frames import frame
from decoder.kernels.crc32 import HEAD
from decoder.segments.log_windows import FLAGS_POSITION, has_in_use_flag, magic_fault, writable_copy
from decoder.transactions.boundaries import GTID_TYPES

_ALWAYS_PREVIOUS_GTIDS = (5, 7, 0)
_GTIDS = (*GTID_TYPES, EventType.MARIADB_GTID_LIST)
_FIRST = 50
"""Number of events of the first transactions that are read, so that listing files stays fast."""
_BETWEEN_TRANSACTIONS = (
    *(EventType.FORMAT_DESCRIPTION, EventType.PREVIOUS_GTIDS),
    *(EventType.MARIADB_BINLOG_CHECKPOINT, EventType.HEARTBEAT, EventType.HEARTBEAT_V2),
    *(EventType.ROTATE, EventType.STOP, EventType.INCIDENT),
)


@dataclass(frozen=True, slots=True)
class FirstTransactions:
    """The first transactions of a file.

    `gtid`: that of the first one (None: it has none). `copied`: at least one of them was replicated
    from another server. `committed`: commit time of the first one on the server where it was first
    committed, in microseconds since 1970 (None: not logged, as before MySQL 8.0).
    """

    gtid: str | None
    copied: bool = False
    committed: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A file's FORMAT_DESCRIPTION, the GTIDs before the file and its first transactions.

    `incarnation` identifies the file beyond its name: a hash of FORMAT_DESCRIPTION and
    PREVIOUS_GTIDS with the in-use flag cleared, because closing the file clears it.
    `previous_gtids` is that of PREVIOUS_GTIDS or of MariaDB's GTID_LIST (the last GTID of every
    domain and server), None if the file has neither. `first` is None if the data that was read
    contains no transaction.
    """

    incarnation: str
    description: FormatDescriptionEvent
    previous_gtids: str | None
    first: FirstTransactions | None = None

    @property
    def relay(self) -> bool:
        """True if it is a relay log, written by a replica."""
        return EventFlag.RELAY_LOG in self.description.flags

    @property
    def restarted(self) -> bool:
        """True if the server was started with this file, instead of continuing the previous one."""
        return self.description.created != 0


def read_head(data: bytes) -> Head:
    """Read the head of a file that begins with `data`.

    A version 3 file without START_V3 is identified by its first event. Raises BinlogError if it is
    not a binary log or is damaged, and TruncatedError if `data` ends inside the head.
    """
    fault = magic_fault(data[: len(MAGIC)])
    if fault is not None:
        raise fault
    cleared = bytearray(data)
    if has_in_use_flag(data):
        cleared[FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    log = data[len(MAGIC) :]
    layout = first_layout(log)
    first = _event(bytes(cleared), len(MAGIC), layout)
    description = read_descriptor(descriptor_of(log, len(MAGIC)), len(MAGIC))
    if log[4] not in DESCRIPTORS:
        header = EventHeader.parse(memoryview(log), 0, len(MAGIC), layout.version)
        description = replace(description, header=header)
    digest = hashlib.sha256(first)
    if layout.version != V4.version:
        return Head(digest.hexdigest()[:32], description, None)
    _verify_description(first, description)
    previous = None
    position = len(MAGIC) + len(first)
    second = _previous_gtids(bytes(cleared), position, description)
    if second is not None:
        raw, event = second
        digest.update(raw)
        previous = str(event.gtid_set)
    following = list(islice(_gtids(bytes(cleared), position, description), _FIRST))
    if previous is None and description.mariadb:
        previous = _gtid_list(following)
    return Head(digest.hexdigest()[:32], description, previous, _first_transactions(following))


def _gtids(
    data: bytes, position: int, description: FormatDescriptionEvent
) -> Iterator[Event | None]:
    """Yield GTID_LIST and GTID events, and None for any other event of a transaction.

    Only events from `position` on that `data` contains completely; damaged ones are ignored.
    """
    try:
        while position + HEADER_LENGTH <= len(data):
            header = EventHeader.parse(memoryview(data), position, position)
            end = position + header.size
            if end > len(data) or header.type == EventType.MARIADB_START_ENCRYPTION:
                return
            if header.type in _GTIDS:
                stop = end - description.checksum_length
                body = memoryview(data)[position + HEADER_LENGTH : stop]
                yield parse(body, header, description)
            elif header.type not in _BETWEEN_TRANSACTIONS:
                yield None
            position = end
    except BinlogError:
        return  # bronze reads the whole file and reports the error


def _gtid_list(events: list[Event | None]) -> str | None:
    """Return the content of MariaDB's GTID_LIST, if it precedes the first transaction."""
    for event in events:
        if event is None or isinstance(event, MariadbGtidListEvent):
            return None if event is None else ",".join(event.gtids)
    return None


def _first_transactions(events: list[Event | None]) -> FirstTransactions | None:
    """Return the first transactions, or None if there are none."""
    found = [event for event in events if not isinstance(event, MariadbGtidListEvent)]
    if not found:
        return None
    first = found[0]
    gtid = first.gtid if isinstance(first, GtidEvent | MariadbGtidEvent) else None
    committed = first.original_commit_timestamp if isinstance(first, GtidEvent) else None
    return FirstTransactions(gtid, any(map(_is_copied, found)), committed)


def _is_copied(event: Event | None) -> bool:
    """Return True if the transaction was committed on another server first (MySQL 8.0 on)."""
    if not isinstance(event, GtidEvent):
        return False
    return event.original_commit_timestamp != event.immediate_commit_timestamp


def server_version(head: bytes) -> str:
    """Return the version of the server that wrote a log, from the log's first bytes.

    Layout: magic number 4 (optional), header 19 (13 in version 1), binlog version u16, then 50
    bytes of text.
    """
    log = head.removeprefix(MAGIC)
    if log[4] not in DESCRIPTORS:
        log = artificial_start()
    start = first_layout(log).header_length + 2
    return log[start : start + 50].split(b"\0", 1)[0].decode("ascii", "replace")


def read_description(events: bytes) -> FormatDescriptionEvent:
    """Return the format of a file, a segment or its preamble, by its first bytes."""
    position = len(MAGIC) if events[: len(MAGIC)] == MAGIC else 0
    return read_descriptor(descriptor_of(events[position:], position), position)


def description_bytes(beginning: bytes) -> bytes | None:
    """Return the FORMAT_DESCRIPTION of a file that begins so, with the in-use flag cleared.

    None if the file has none, as before MySQL 5.0. Raises TruncatedError if it is cut off.
    """
    if not has_in_use_flag(beginning):
        return None
    cleared = bytearray(beginning)
    cleared[FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
    return _event(bytes(cleared), len(MAGIC), first_layout(beginning[len(MAGIC) :]))


def _verify_description(event: bytes, description: FormatDescriptionEvent) -> None:
    """Verify the checksum of a FORMAT_DESCRIPTION.

    Framing verifies it only if it reads the server version as one that writes checksums.
    """
    if description.has_own_checksum:
        stored = int.from_bytes(event[-CHECKSUM_LENGTH:], "little")
        if zlib.crc32(event[:-CHECKSUM_LENGTH]) != stored:
            raise ChecksumError(
                "the checksum does not match",
                position=description.position,
                event_type=description.name,
            )


def _previous_gtids(
    data: bytes, position: int, description: FormatDescriptionEvent
) -> tuple[bytes, PreviousGtidsEvent] | None:
    version_has_it = description.version >= _ALWAYS_PREVIOUS_GTIDS and not description.mariadb
    if len(data) == position and not version_has_it:
        return None
    header = EventHeader.parse(memoryview(data), position, position)
    if header.type != EventType.PREVIOUS_GTIDS:
        if len(data) - position >= header.size:
            _event(data, position, V4, checksum=bool(description.checksum_length))
        return None
    raw = _event(data, position, V4, checksum=bool(description.checksum_length))
    body = raw[HEADER_LENGTH : len(raw) - description.checksum_length]
    event = parse(memoryview(body), header, description)
    return (raw, event) if isinstance(event, PreviousGtidsEvent) else None


def _event(data: bytes, position: int, layout: Layout, *, checksum: bool = False) -> bytes:
    """Return the bytes of an event after verifying its checksum."""
    header = EventHeader.parse(memoryview(data), position, position, layout.version)
    content = data[position : position + header.size]
    if len(content) < header.size:
        raise TruncatedError(
            "the file ends inside this event", position=position, event_type=header.name
        )
    window = writable_copy(content)
    frames = frame(
        window, HEAD, len(window), base=position - HEAD, checksum=checksum, layout=layout
    )
    if frames.fault is not None:
        raise frames.fault
    return content
