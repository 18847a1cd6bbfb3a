"""What MariaDB compresses inside events (`log_bin_compress=ON`): a statement, or the rows.

Format: MariaDB `sql/log_event.cc`, `binlog_buf_compress`: a u8 with bit 7 set, the algorithm in
bits 4 to 6 (0: zlib) and in bits 0 to 2 how many bytes the length has (1 to 4); the length before
compression, highest byte first; then a zlib stream to the end.
"""

from __future__ import annotations

import zlib

from decoder.errors import MalformedError, UnsupportedError

_COMPRESSED = 0x80
_RESERVED = 0x08
_ALGORITHM = 0x70
_LENGTH_BYTES = 0x07
_MAX_LENGTH_BYTES = 4
LARGEST = 1 << 30
"""Bytes of an event, as `max_allowed_packet` can allow at most."""


def uncompress(data: bytes | memoryview) -> bytes:
    """The bytes that were compressed; `data` starts at the first u8 and ends with the event's body.

    No more is allocated than there is to decompress, whatever length is announced. Raises
    MalformedError where `data` is not exactly one compressed piece of the announced length,
    UnsupportedError for an algorithm other than zlib.
    """
    view = memoryview(data).cast("B")
    length, content = _announced(view)
    stream = zlib.decompressobj()
    try:
        # One byte more than announced: room to see that there is more, or the end behind the last.
        found = stream.decompress(content, length + 1)
    except zlib.error as error:
        raise MalformedError(f"it cannot be decompressed: {error}") from error
    if len(found) > length:
        raise MalformedError(f"it decompresses to more than the {length} bytes that it announces")
    if not stream.eof:
        raise MalformedError(f"its compressed content ends behind {len(found)} of {length} bytes")
    if len(found) < length:
        raise MalformedError(f"it decompresses to {len(found)} bytes, not {length} as it says")
    if stream.unused_data:
        raise MalformedError(f"{len(stream.unused_data)} bytes follow its compressed content")
    return found


def _announced(view: memoryview) -> tuple[int, memoryview]:
    """The length before compression, and the compressed stream."""
    first = view[0] if view else 0
    if not first & _COMPRESSED or first & _RESERVED:
        raise MalformedError(f"{first:#04x} does not start compressed content")
    algorithm = (first & _ALGORITHM) >> 4
    if algorithm:
        raise UnsupportedError(f"compression algorithm {algorithm} is not known")
    length_bytes = first & _LENGTH_BYTES
    if not 1 <= length_bytes <= _MAX_LENGTH_BYTES:
        raise MalformedError(f"its length before compression is told in {length_bytes} bytes")
    length = int.from_bytes(view[1 : 1 + length_bytes], "big")
    if not length:
        raise MalformedError("it announces no content")
    content = view[1 + length_bytes :]
    if length > LARGEST:
        raise MalformedError(f"it announces {length} bytes, more than an event can have")
    return length, content
