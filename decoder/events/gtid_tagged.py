"""GTID_TAGGED: the content of a GTID event and a tag, in MySQL's serialization format.

Format: MySQL `control_events.h`, `Gtid_event::define_fields`, and
`libs/mysql/serialization/readme.md`. A message is

    varint version (1), varint size of the whole message, varint last non-ignorable field id,
    then fields, each a varint id and its value, in the order of their ids; any may be absent.

Values carry no length, so reading ends at the first unknown field: with an error if its id is at
most the last non-ignorable one; otherwise it and the rest are ignored, as MySQL's own reader does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from decoder.events.cursor import Cursor
from decoder.events.gtid import GNO_END, GtidEvent
from decoder.events.gtid_set import parse_tag

_SERIALIZATION_VERSION = 1
_NEWER = "is newer than this decoder"


@dataclass(frozen=True, slots=True)
class GtidTaggedEvent(GtidEvent):
    """The start of a transaction whose GTID has a tag."""

    @classmethod
    def parse(cls, body: Cursor) -> GtidTaggedEvent:
        """Read the event."""
        values = _message(body)
        missing = [name for name in ("gtid_flags", "uuid", "gno") if name not in values]
        if missing:
            raise body.malformed(f"the field {missing[0]} is missing")
        if not 0 < values["gno"] < GNO_END:
            raise body.malformed(f"transaction number {values['gno']} is out of range")
        for name in _TIMES:
            if values.get(name, 0) >> _TIME_BITS:
                label = name.replace("_", " ")
                raise body.malformed(f"{label} {values[name]} is not a valid time")
        for original, immediate in _SAME_UNLESS_GIVEN:
            values.setdefault(original, values.get(immediate))
        return cls(body.header, **values)


def _message(body: Cursor) -> dict[str, Any]:
    version = body.varint()
    if version != _SERIALIZATION_VERSION:
        raise body.header.unsupported(f"serialization version {version} {_NEWER}")
    size = body.varint()
    if size < body.offset:
        raise body.malformed(f"the message size {size} is smaller than the message's own head")
    message = body.part(size - body.offset)
    last_non_ignorable = message.varint()
    values: dict[str, Any] = {}
    previous = -1
    while message.remaining:
        field = message.varint()
        if field <= previous:
            raise body.malformed(f"field {field} comes after field {previous}")
        if field >= len(_FIELDS):
            if field <= last_non_ignorable:
                raise body.header.unsupported(f"field {field} {_NEWER}")
            break
        name, read = _FIELDS[field]
        values[name] = read(message)
        previous = field
    return values


def _uuid(cursor: Cursor) -> str:
    # An array of 16 bytes, each encoded as a varint: values from 128 on take two bytes.
    return str(UUID(bytes=bytes(_byte(cursor) for _ in range(16))))


def _byte(cursor: Cursor) -> int:
    value = cursor.varint()
    if value > 0xFF:
        raise cursor.malformed(f"{value} does not fit in a byte")
    return value


_FIELDS: tuple[tuple[str, Callable[[Cursor], Any]], ...] = (
    ("gtid_flags", _byte),
    ("uuid", _uuid),
    ("gno", Cursor.signed_varint),
    ("tag", parse_tag),
    ("last_committed", Cursor.signed_varint),
    ("sequence_number", Cursor.signed_varint),
    ("immediate_commit_timestamp", Cursor.varint),
    ("original_commit_timestamp", Cursor.varint),
    ("transaction_length", Cursor.varint),
    ("immediate_server_version", Cursor.varint),
    ("original_server_version", Cursor.varint),
    ("commit_group_ticket", Cursor.varint),
)
"""Fields by id, which is the index in this table."""

_TIMES = ("immediate_commit_timestamp", "original_commit_timestamp")
_TIME_BITS = 55
"""Bits of a commit time in microseconds; in a GTID event the 56th bit is a flag."""

_SAME_UNLESS_GIVEN = (
    ("original_commit_timestamp", "immediate_commit_timestamp"),
    ("original_server_version", "immediate_server_version"),
)
