"""Damaged logs, and the one rule of the decoder about them: raise a BinlogError, or decode."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import decoder
from decoder import BinlogError, SegmentDecoder, TypeOptions
from decoder.model.results import Changes, Faults
from decoder.model.segment import Segment
from tests.support.decoder.encrypted_log import KEYS
from tests.support.decoder.event_bytes import recorded, without_checksums
from tests.support.decoder.log_kinds import LOG_KINDS

NAMES = (
    "full_metadata",
    "minimal_metadata",
    "plain",
    "tagged",
    "compressed",
    "partial_images",
    "statements",
    "partitioned",
)


def read_events(data: bytes) -> int:
    """Return how many events `decoder.events` yields."""
    return sum(1 for _ in decoder.events(data, keys=KEYS))


def read_rows(data: bytes) -> int:
    """Return how many changes `decoder.read` yields, after reading every value."""
    count = 0
    for changes in decoder.read(data, keys=KEYS):
        changes.batch.validate(full=True)
        count += len(changes.batch.to_pylist())
    return count


def read_segment(data: bytes) -> int:
    """Return how many results a `SegmentDecoder` yields, which takes bytes in parts.

    It reports faults instead of raising them; this raises them.
    """
    data = KEYS.decrypted(data)
    segment = SegmentDecoder(Segment("log", 0), TypeOptions())
    half = len(data) // 2
    try:
        results = list(segment.decode([data[:half], data[half:]]))
    except BinlogError as error:
        raise AssertionError(f"a segment's decoder raised: {error}") from error
    for result in results:
        if isinstance(result, Changes):
            result.batch.validate(full=True)
    if any(isinstance(result, Faults) for result in results):
        assert segment.first_fault is not None
        raise segment.first_fault
    return len(results)


READERS: dict[str, Callable[[bytes], int]] = {
    "events": read_events,
    "rows": read_rows,
    "segment": read_segment,
}


def is_refused(read: Callable[[bytes], int], data: bytes) -> bool:
    """True if the data was refused with a BinlogError; other exceptions propagate."""
    try:
        read(data)
    except BinlogError as error:
        if error.position is None or not 0 <= error.position <= len(data):
            raise AssertionError(f"the error has a position outside of the log: {error}") from error
        return True
    return False


def sources() -> list[bytes]:
    """Return logs to damage, without checksums, which would detect the damage."""
    return [*(without_checksums(recorded(name)) for name in NAMES), *LOG_KINDS.values()]


def _set_byte(data: bytearray, at: int, value: int) -> None:
    data[at] = value & 0xFF


def _flip_bit(data: bytearray, at: int, value: int) -> None:
    data[at] ^= 1 << value % 8


def _set_integer(data: bytearray, at: int, value: int) -> None:
    extremes = (0, 1, 0x7F, 0x80, 0xFB, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    data[at : at + 4] = struct.pack("<I", extremes[value % len(extremes)])[: len(data) - at]


def _delete(data: bytearray, at: int, value: int) -> None:
    del data[at : at + value % 9]


def _insert(data: bytearray, at: int, value: int) -> None:
    data[at:at] = bytes([value & 0xFF]) * (value % 7)


def _repeat(data: bytearray, at: int, value: int) -> None:
    data[at:at] = data[at : at + value % 64]


def _truncate(data: bytearray, at: int, value: int) -> None:
    del data[at:]


EDITS: tuple[Callable[[bytearray, int, int], None], ...] = (
    _set_byte,
    _flip_bit,
    _set_integer,
    _delete,
    _insert,
    _repeat,
    _truncate,
)


def mutated(data: bytes, edits: list[tuple[int, int, int]]) -> bytes:
    """Return the data after edits of (kind, place, value), each modulo its limit."""
    changed = bytearray(data)
    for kind, place, value in edits:
        if len(changed) > 4:
            EDITS[kind % len(EDITS)](changed, 4 + place % (len(changed) - 4), value)
    return bytes(changed)


def random_mutations(random: Random, logs: list[bytes], count: int) -> Iterator[bytes]:
    """Yield that many of the logs after one to three random edits each."""
    for _ in range(count):
        edits: list[Any] = [
            (random.randrange(len(EDITS)), random.randrange(1 << 16), random.randrange(1 << 16))
            for _ in range(random.randint(1, 3))
        ]
        yield mutated(random.choice(logs), edits)
