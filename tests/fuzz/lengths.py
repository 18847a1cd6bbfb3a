"""Inputs whose lengths and counts far exceed their bytes, in every field of a format that has
one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from decoder.constants import EventType as T
from tests.support.decoder.binary_json import encode
from tests.support.decoder.event_bytes import length_encoded, log_bytes, table_map
from tests.support.decoder.logs import (
    CUP,
    LONGTEXT,
    Table,
    gtid,
    insert,
    payload,
    query,
    transaction,
    xid,
)
from tests.support.decoder.mutations import sources

_HUGE = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000)
_HUGE_8 = length_encoded(0x7FFFFFFFFFFFFFFF)
_STEP = 11
_LONG = Table(9, "long", (LONGTEXT,))


def named() -> Iterator[tuple[str, bytes]]:
    """Return (target, input) for each length field."""
    for huge in _HUGE:
        little = struct.pack("<I", huge)
        size = struct.pack("<IBIIIH", 0, T.QUERY, 1, huge, 0, 0)
        rows = insert(_LONG, ("x",)).replace(b"\x01\0\0\0x", little + b"x")
        inner = query("BEGIN") + size
        yield "rows", log_bytes(gtid(1), size + bytes(30))
        yield "rows", log_bytes(transaction(1, rows))
        yield "payload", b"\x80" + inner
        for target in ("events", "segment"):
            yield target, log_bytes(payload(insert(CUP, (1, "x")) + xid(), size=huge))
            yield target, log_bytes(payload(b"", compressed=_zstd_of(huge), size=huge))
        yield "mariadb_piece", b"\x84" + struct.pack(">I", huge) + zlib.compress(b"x")
        yield "json", b"\x01" + little + little + encode([1])
        yield "json", b"\x03" + struct.pack("<I", 1) + little + encode([1])
        yield "json", b"\x0c" + b"\xff\xff\xff\xff\x0f" + b"x"
        yield "json_diffs", b"\x00" + b"\xfe" + struct.pack("<Q", huge) + b"$.a"
        yield "gtid_set", struct.pack("<Q", huge)
        yield "gtid_set", struct.pack("<Q", 1) + bytes(16) + struct.pack("<Q", huge)
    fixed = table_map([T.QUERY], b"")[:14]
    yield "table_map", fixed + _HUGE_8
    yield "table_map", fixed + length_encoded(1) + b"\x03" + _HUGE_8
    for field in range(1, 14):
        yield "table_map", table_map([3], b"", bytes([field]) + _HUGE_8)
        yield "table_map", table_map([3], b"", bytes([field]) + b"\x09" + _HUGE_8)


def _zstd_of(size: int) -> bytes:
    """Return a zstd frame that announces this size, and contains 128 KiB of zeros."""
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", size) + b"\x03\x00\x10\x00"


def everywhere() -> Iterator[tuple[str, bytes]]:
    """Return (target, input) for logs with 0xFFFFFFFF at regular intervals."""
    for log in sources():
        for at in range(4, len(log) - 4, _STEP):
            yield "rows", log[:at] + b"\xff\xff\xff\xff" + log[at + 4 :]
