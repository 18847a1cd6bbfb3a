"""Replication packets to events: the packets of a binlog dump, as sent to replicas.

A packet is a length 3, a sequence number 1 and a payload of that length. In a dump the payload is
0x00, with semi-synchronous replication also 0xEF and a byte whose lowest bit requests an
acknowledgement, and then one event. 0xFF or 0xFE instead of 0x00 is an error or the end of the log.
Payloads longer than 16 MiB - 2 continue in the next packets, until one is shorter. Sequence numbers
count up and restart at 1 after an event that requests an acknowledgement.

Sources: MySQL manual pages "MySQL Packets" (page_protocol_basic_packets) and "COM_BINLOG_DUMP"
(page_protocol_com_binlog_dump); for semi-synchronous replication MySQL
`plugin/semisync/semisync_source.cc`, `ReplSemiSyncMaster::reserveSyncHeader` and `readSlaveReply`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from decoder.constants import HEADER_LENGTH, EventFlag, EventType
from decoder.kernels.crc32 import HEAD
from decoder.kernels.memory import (
    Array,
    Bytes,
    copy_32,
    inline_kernel,
    item,
    kernel,
    load_u8,
    load_u16,
    load_u24,
    load_u32,
    set_item,
)

PACKET_HEADER_LENGTH = 4
LONGEST_PACKET = 0xFFFFFF
"""A packet of this length continues in the next one."""
PACKET_SLACK = 32
"""Bytes that must be allocated after the packets; wide copies read them, with any content."""
SEMI_SYNC_MAGIC = 0xEF
SEQUENCE_AFTER_ACK_REQUEST = 1
"""Sequence number of the packet after an event that requests an acknowledgement."""

_OK = 0x00
_EVENT_PREFIX, _SEMI_SYNC_PREFIX = 1, 3
_TYPE_AT, _SIZE_AT, _LOG_POS_AT, _FLAGS_AT = 4, 9, 13, 17
_ARTIFICIAL = int(EventFlag.ARTIFICIAL)
_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_ROTATE = int(EventType.ROTATE)
_HEARTBEAT, _HEARTBEAT_V2 = int(EventType.HEARTBEAT), int(EventType.HEARTBEAT_V2)
# Cells of the kernel's state.
_AT, _TO, _SEQUENCE, _ASKED = range(4)


class StopReason(IntEnum):
    """Reason that unpacking ended.

    `NEEDS_MORE`: the next packet is incomplete. `OTHER`: it is not an ordinary event of the log,
    but another event, an error or the end. `LARGE`: it has `limit` bytes or more. `OUT_OF_ORDER`:
    its sequence number is not the expected one.
    """

    NEEDS_MORE = 0
    OTHER = 1
    LARGE = 2
    OUT_OF_ORDER = 3


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Consecutive events in `buffer[HEAD:end]`, which has slack on both sides.

    `next_packet`: offset of the first packet that was not unpacked; `sequence`: its expected
    sequence number. `asked`: an acknowledgement is requested for at least one of these events.
    """

    buffer: Bytes
    end: int
    next_packet: int
    sequence: int
    stop: StopReason
    asked: bool


def unpack(packets: Bytes, start: int, end: int, sequence: int, limit: int) -> Unpacked:
    """Unpack the events of the complete packets in `packets[start:end]`.

    Stops at the first packet that is not an ordinary event, or has `limit` bytes or more. The first
    packet must have the number `sequence`. `packets` must be writable, with `PACKET_SLACK` bytes
    after `end`.
    """
    events = np.empty(HEAD + end - start + PACKET_SLACK, np.uint8)
    state = np.array([start, HEAD, sequence, 0], np.int64)
    stop = StopReason(_unpack(packets, end, limit, events, state))
    at, to, sequence, asked = state.tolist()
    return Unpacked(events, to, at, sequence, stop, bool(asked))


@kernel
def _unpack(packets: Bytes, end: int, limit: int, events: Bytes, state: Array) -> int:
    at, to, sequence = item(state, _AT), item(state, _TO), item(state, _SEQUENCE)
    stop = 0
    whole = True
    while stop == 0 and whole and at + PACKET_HEADER_LENGTH <= end:
        length = load_u24(packets, at)
        body = at + PACKET_HEADER_LENGTH
        whole = body + length <= end
        if load_u8(packets, at + 3) != sequence:
            stop = 3
        elif length >= limit:
            stop = 2
        elif whole:
            prefix = prefix_of(packets, body, length)
            if prefix == 0 or _is_other(packets, body + prefix):
                stop = 1
            else:
                _copy(packets, body + prefix, length - prefix, events, to)
                to += length - prefix
                at = body + length
                sequence = (sequence + 1) & 0xFF
                if prefix == _SEMI_SYNC_PREFIX and load_u8(packets, body + 2) & 1 != 0:
                    set_item(state, _ASKED, 1)
                    sequence = SEQUENCE_AFTER_ACK_REQUEST
    set_item(state, _AT, at)
    set_item(state, _TO, to)
    set_item(state, _SEQUENCE, sequence)
    return stop


@inline_kernel
def _copy(source: Bytes, position: int, size: int, target: Bytes, to: int) -> None:
    for k in range(0, size, PACKET_SLACK):
        copy_32(target, to + k, source, position + k)


@kernel
def prefix_of(packets: Bytes, body: int, length: int) -> int:
    """Return the bytes before the event in a packet with payload at `body`; 0 if it has no event.

    Both forms start with 0x00, and an event may start with 0xEF, so the event's size decides.
    """
    if length < _EVENT_PREFIX + HEADER_LENGTH or load_u8(packets, body) != _OK:
        return 0
    if load_u32(packets, body + _EVENT_PREFIX + _SIZE_AT) == length - _EVENT_PREFIX:
        return _EVENT_PREFIX
    if length < _SEMI_SYNC_PREFIX + HEADER_LENGTH or load_u8(packets, body + 1) != SEMI_SYNC_MAGIC:
        return 0
    if load_u32(packets, body + _SEMI_SYNC_PREFIX + _SIZE_AT) == length - _SEMI_SYNC_PREFIX:
        return _SEMI_SYNC_PREFIX
    return 0


@kernel
def _is_other(packets: Bytes, event: int) -> bool:
    """Return True if the event may not be part of the log, or defines the layout of the rest."""
    event_type = load_u8(packets, event + _TYPE_AT)
    return (
        event_type in (_FORMAT_DESCRIPTION, _HEARTBEAT, _HEARTBEAT_V2)
        or (event_type == _ROTATE and load_u32(packets, event + _LOG_POS_AT) == 0)
        or load_u16(packets, event + _FLAGS_AT) & _ARTIFICIAL != 0
    )
