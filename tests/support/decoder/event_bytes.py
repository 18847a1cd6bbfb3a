"""Events and logs built byte by byte, for cases that no recording contains."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

from decoder.constants import HEADER_LENGTH, ChecksumAlgorithm, EventFlag, EventType
from decoder.events.event import Event
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.header import EventHeader
from decoder.events.log_start import read_descriptor
from decoder.events.registry import parse

DATA = Path(__file__).parent.parent.parent / "data"
MAGIC = b"\xfebin"
POST_HEADER_LENGTHS = bytes.fromhex(
    "000d0008000000000400040000006300041a08000000000000020000000a0a0a2a2a001234000a280000"
)
"""Those of MySQL 9.7."""
MARIADB_POST_HEADER_LENGTHS = b"".join(
    [
        bytes.fromhex("380d0008001200040404041200003800041a08000000080808020000000a0a0a"),
        bytes(EventType.MARIADB_ANNOTATE_ROWS - EventType.DELETE_ROWS - 1),
        bytes.fromhex("00041304000d0808080a0a0a"),
    ]
)
"""Those of MariaDB 10.11, whose own types begin at 160."""
TYPES_OF_5_5 = 27


def recorded(name: str) -> bytes:
    """Return a file of tests/data."""
    return (DATA / f"{name}.binlog").read_bytes()


def event_bytes(
    event_type: int, body: bytes, *, log_pos: int = 0, flags: int = 0, checksum: bool = False
) -> bytes:
    """Return a whole event: header, body and, with `checksum`, its CRC32."""
    size = 19 + len(body) + 4 * checksum
    event = struct.pack("<IBIIIH", 1_700_000_000, event_type, 1, size, log_pos, flags) + body
    return event + struct.pack("<I", zlib.crc32(event)) * checksum


def format_description(
    version: str = "9.7.0",
    algorithm: int | None = ChecksumAlgorithm.OFF,
    lengths: bytes = POST_HEADER_LENGTHS,
    *,
    in_use: bool = False,
) -> bytes:
    """Return a FORMAT_DESCRIPTION event; `algorithm` None omits it, as before MySQL 5.6.1.

    Its checksum is that of the event with a clear in-use flag, as servers write it.
    """
    head = struct.pack("<H50sIB", 4, version.encode(), 0, 19)
    if algorithm is None:
        return event_bytes(EventType.FORMAT_DESCRIPTION, head + lengths[:TYPES_OF_5_5])
    body = head + lengths
    event = event_bytes(EventType.FORMAT_DESCRIPTION, body + bytes([algorithm]), checksum=True)
    return event[:17] + bytes([EventFlag.BINLOG_IN_USE * in_use]) + event[18:]


def log_bytes(*events: bytes, description: bytes | None = None) -> bytes:
    """Return a log file of those events, without checksums unless the description enables them."""
    return b"".join([MAGIC, description or format_description(), *events])


def described(
    version: str = "9.7.0",
    lengths: bytes = POST_HEADER_LENGTHS,
    algorithm: int | None = ChecksumAlgorithm.OFF,
) -> FormatDescriptionEvent:
    """Return the parsed description of `format_description`."""
    return read_descriptor(format_description(version, algorithm, lengths), 4)


def parsed(
    event_type: int, body: bytes, description: FormatDescriptionEvent | None = None
) -> Event:
    """Return the event of that type with that body, as the registry parses it."""
    header = EventHeader.parse(memoryview(event_bytes(event_type, body)), 0, 1234)
    return parse(memoryview(body), header, description or described())


def length_encoded(value: int) -> bytes:
    """Encode a length-encoded integer of MySQL's client protocol."""
    for limit, prefix, size in ((251, b"", 1), (1 << 16, b"\xfc", 2), (1 << 24, b"\xfd", 3)):
        if value < limit:
            return prefix + value.to_bytes(size, "little")
    return b"\xfe" + value.to_bytes(8, "little")


def table_map(
    types: Sequence[int],
    metadata: bytes,
    optional: bytes = b"",
    *,
    nullable: bytes = b"\xff" * 8,
    names: bytes = b"\x01s\0\x01t\0",
) -> bytes:
    """Return the body of a TABLE_MAP of the table s.t with id 7, by default all columns
    nullable.
    """
    return b"".join(
        [
            struct.pack("<IHH", 7, 0, 1),
            names,
            length_encoded(len(types)),
            bytes(types),
            length_encoded(len(metadata)),
            metadata,
            nullable[: (len(types) + 7) // 8],
            optional,
        ]
    )


def metadata_field(code: int, value: bytes) -> bytes:
    """Return a field of a TABLE_MAP's optional metadata."""
    return bytes([code]) + length_encoded(len(value)) + value


def varint(value: int) -> bytes:
    """Encode an integer of MySQL's serialization library: leading bit count in the first byte."""
    for size in range(1, 9):
        if value < 1 << 7 * size:
            return (value << size | (1 << size - 1) - 1).to_bytes(size, "little")
    return b"\xff" + value.to_bytes(8, "little")


def signed_varint(value: int) -> bytes:
    """Encode a signed integer: the sign in the lowest bit."""
    return varint(value << 1 if value >= 0 else ~value << 1 | 1)


def without_checksums(log: bytes) -> bytes:
    """Return a recorded log as the server would have written it with `binlog_checksum=NONE`.

    Without checksums, mutations reach the code that they are to test. An event cut short at the end
    of the log is left out.
    """
    events = []
    position = 4
    while len(log) - position >= HEADER_LENGTH:
        size = int.from_bytes(log[position + 9 : position + 13], "little")
        if size > len(log) - position:
            break
        events.append(log[position : position + size])
        position += size
    description, *others = events
    head = description[:-5] + bytes([ChecksumAlgorithm.OFF])
    description = head + struct.pack("<I", zlib.crc32(head))
    return log[:4] + b"".join([description, *(_without_checksum(event) for event in others)])


def _without_checksum(event: bytes) -> bytes:
    return event[:9] + struct.pack("<I", len(event) - 4) + event[13:-4]


def mariadb_compressed(content: bytes) -> bytes:
    """Return a section as MariaDB compresses it: 0x80 and bytes of the length, the length, a zlib
    stream.
    """
    size = (len(content).bit_length() + 7) // 8
    return bytes([0x80 | size]) + len(content).to_bytes(size, "big") + zlib.compress(content)
