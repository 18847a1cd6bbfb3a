"""The initial corpus: small real logs, and the parts of them that a target takes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import zstandard

import decoder
from decoder.constants import HEADER_LENGTH, MAGIC, EventType as T
from decoder.events.transaction_payload import TransactionPayloadEvent
from tests.support.decoder.event_bytes import without_checksums
from tests.support.decoder.log_kinds import LOG_KINDS
from tests.support.decoder.logs import split
from tests.support.decoder.mutations import sources

ROOT = Path(__file__).parent.parent.parent
_WARM = ROOT / "decoder" / "stream" / "warm.binlog.zst"
_SHOP = ROOT / "demo" / "binlogs" / "binlog.000001"
_SHOP_BYTES = 1 << 16
_LARGEST = 1 << 13
_GTIDS = {T.GTID, T.ANONYMOUS_GTID, T.GTID_TAGGED}


@cache
def logs() -> list[bytes]:
    """Return whole logs: recorded ones, one of each other kind, single transactions of every
    type.
    """
    return [*sources(), *single_transactions(_warm()), *single_transactions(_shop())[:20]]


def _warm() -> bytes:
    return without_checksums(zstandard.decompress(_WARM.read_bytes()))


def _shop() -> bytes:
    """Return the beginning of the demo's log, up to its last complete event."""
    return without_checksums(_SHOP.read_bytes()[:_SHOP_BYTES])


def single_transactions(log: bytes) -> list[bytes]:
    """Yield each transaction of a log with GTIDs as a separate log, unless it is large."""
    description, *events = split(log[len(MAGIC) :])
    found: list[bytes] = []
    for event in events:
        if event[4] in _GTIDS:
            found.append(MAGIC + description)
        if found:
            found[-1] += event
    return [single for single in found if len(single) <= _LARGEST]


def events() -> Iterator[bytes]:
    """Return every event of the logs of version 4, including headers."""
    for log in logs():
        if log[4 + 4] == T.FORMAT_DESCRIPTION:
            yield from split(log[len(MAGIC) :])


def bodies(*types: T) -> list[bytes]:
    """Return the bodies of the events of these types."""
    return [event[HEADER_LENGTH:] for event in events() if event[4] in types]


def payloads() -> list[bytes]:
    """Return the contents of TRANSACTION_PAYLOADs: as logged, and decompressed."""
    found = []
    for log in (*sources(), *LOG_KINDS.values()):
        if log[4 + 4] != T.FORMAT_DESCRIPTION:
            continue
        for event in decoder.events(log):
            if isinstance(event, TransactionPayloadEvent):
                start = event.position + event.payload_offset
                found.append(log[start : start + event.payload_size])
    decompressor = zstandard.ZstdDecompressor()
    compressed = [content for content in found if content.startswith(zstandard.FRAME_HEADER)]
    return [*found, *(decompressor.decompress(c, max_output_size=1 << 20) for c in compressed)]
