"""MariaDB's compression of a statement or of rows inside an event (`log_bin_compress=ON`).

Format: MariaDB `sql/log_event.cc`, `binlog_buf_compress`: a u8 with bit 7 set, the algorithm in
bits 4 to 6 (0: zlib) and the number of length bytes (1 to 4) in bits 0 to 2; the uncompressed
length, big-endian; then a zlib stream to the end.
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
"""The largest event in bytes: the maximum of `max_allowed_packet`."""


def uncompress(data: bytes | memoryview) -> bytes:
    """Return the uncompressed bytes; `data` runs from the first u8 to the end of the event's body.

    Allocates only what is actually decompressed, whatever length is announced. Raises
    MalformedError if `data` is not exactly one compressed piece of the announced length, and
    UnsupportedError for an algorithm other than zlib.
    """
    view = memoryview(data).cast("B")
    length, content = _announced(view)
    stream = zlib.decompressobj()
    try:
        # One byte more than announced, to detect excess data and to reach the end of the stream.
        found = stream.decompress(content, length + 1)
    except zlib.error as error:
        raise MalformedError(f"its compressed content cannot be decompressed: {error}") from error
    if len(found) > length:
        raise MalformedError(f"its content decompresses to more than the announced {length} bytes")
    if not stream.eof:
        raise MalformedError(f"its compressed content ends after {len(found)} of {length} bytes")
    if len(found) < length:
        raise MalformedError(f"its content decompresses to {len(found)} bytes, not {length}")
    if stream.unused_data:
        left = len(stream.unused_data)
        raise MalformedError(f"its compressed content is followed by {left} bytes")
    return found


def _announced(view: memoryview) -> tuple[int, memoryview]:
    """Return the uncompressed length and the compressed stream."""
    first = view[0] if view else 0
    if not first & _COMPRESSED or first & _RESERVED:
        raise MalformedError(f"its compressed content starts with an invalid byte {first:#04x}")
    algorithm = (first & _ALGORITHM) >> 4
    if algorithm:
        raise UnsupportedError(f"compression algorithm {algorithm} is unknown")
    length_bytes = first & _LENGTH_BYTES
    if not 1 <= length_bytes <= _MAX_LENGTH_BYTES:
        raise MalformedError(f"its uncompressed length has {length_bytes} bytes, not 1 to 4")
    length = int.from_bytes(view[1 : 1 + length_bytes], "big")
    if not length:
        raise MalformedError("its uncompressed length is 0")
    content = view[1 + length_bytes :]
    if length > LARGEST:
        raise MalformedError(f"its uncompressed length {length} exceeds the largest event")
    return length, content
