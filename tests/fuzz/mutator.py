"""Mutations of logs that remain logs: of whole events, their bodies, their types.

Mutating bytes rarely gets past framing: a wrong size ends the log, and a FORMAT_DESCRIPTION has a
checksum. So a log is split into events, mutated, and reassembled with correct sizes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from random import Random

from decoder.constants import HEADER_LENGTH, EventType
from tests.fuzz import corpus

_MAGIC_LENGTH = 4
_TYPES = [int(code) for code in EventType]
Mutate = Callable[[bytes, int], bytes]
Change = Callable[[list[bytes], Random, Mutate, int], None]


def mutate_log(data: bytes, most: int, seed: int, mutate: Mutate) -> bytes:
    """Return another log of at most `most` bytes; `mutate(data, most)` mutates plain bytes."""
    chance = Random(seed)
    if chance.randrange(8) == 0:
        return mutate(data, most)
    events = _events(data[_MAGIC_LENGTH:])
    if not events:
        return mutate(data, most)
    chance.choice(_CHANGES)(events, chance, mutate, most)
    return (data[:_MAGIC_LENGTH] + b"".join(_repaired(event) for event in events))[:most]


def _events(content: bytes) -> list[bytes]:
    """Return whole events, as far as their sizes make sense; the rest is left out."""
    found = []
    while len(content) >= HEADER_LENGTH:
        size = int.from_bytes(content[9:13], "little")
        if not HEADER_LENGTH <= size <= len(content):
            break
        found.append(content[:size])
        content = content[size:]
    return found


def _repaired(event: bytes) -> bytes:
    """Return the event with its actual size and, for a FORMAT_DESCRIPTION, its checksum."""
    event = event[:9] + struct.pack("<I", len(event)) + event[13:]
    if event[4] != EventType.FORMAT_DESCRIPTION or len(event) < HEADER_LENGTH + 4:
        return event
    return event[:-4] + struct.pack("<I", zlib.crc32(event[:-4]))


def _change_body(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    at = chance.randrange(len(events))
    head, body = events[at][:HEADER_LENGTH], events[at][HEADER_LENGTH:]
    room = max(most - sum(map(len, events)) + len(body), 1)
    events[at] = head + mutate(body, room)


def _change_type(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    at = chance.randrange(len(events))
    events[at] = events[at][:4] + bytes([chance.choice(_TYPES)]) + events[at][5:]


def _change_flags(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    at = chance.randrange(len(events))
    flags = struct.pack("<H", 1 << chance.randrange(16))
    events[at] = events[at][:17] + flags + events[at][HEADER_LENGTH:]


def _remove(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    del events[chance.randrange(len(events))]


def _repeat(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    events.insert(chance.randrange(len(events) + 1), chance.choice(events))


def _swap(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    a, b = chance.randrange(len(events)), chance.randrange(len(events))
    events[a], events[b] = events[b], events[a]


def _insert_foreign(events: list[bytes], chance: Random, mutate: Mutate, most: int) -> None:
    foreign = _events(chance.choice(corpus.logs())[_MAGIC_LENGTH:])
    if foreign:
        events.insert(chance.randrange(len(events) + 1), chance.choice(foreign))


_CHANGES: tuple[Change, ...] = (
    *(_change_body for _ in range(6)),
    _change_type,
    _change_flags,
    _remove,
    _repeat,
    _swap,
    _insert_foreign,
)
