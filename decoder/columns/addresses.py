"""MariaDB's UUID, INET4 and INET6: logged as BINARY, decoded to the text that the server prints.

The log has the bytes of a UUID in the order of its text. (Tables store the five groups reversed:
up to MariaDB 10.11.4 for all UUIDs, later only for those of versions below 6.) Sources: MariaDB
`plugin/type_uuid/sql_type_uuid.h` (`pack`), `plugin/type_inet/sql_type_inet.cc`
(`Inet4::to_string`, `Inet6::to_string`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s
from decoder.columns.cells import HEAD_SLACK, SLACK, Cells
from decoder.columns.digits import write_eight_or_less
from decoder.columns.values import BoundedReader, Values
from decoder.constants import ADDRESS_BYTES, ADDRESS_CHARACTERS, LogicalType
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, load_u8, store_8, store_32

_INET4, _INET6, _UUID = 0, 1, 2
_FORMS = {LogicalType.INET4: _INET4, LogicalType.INET6: _INET6, LogicalType.UUID: _UUID}
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8).astype(np.int32)
_DASH, _POINT, _COLON = 45, 46, 58
_DASHES = 0b10101010000
"""Bit mask of the bytes of a UUID that are preceded by a dash: 4, 6, 8, 10."""
_WORDS = 8
"""16-bit words of an INET6."""
_MAPPED = 0xFFFF
"""The sixth word of an IPv4-mapped INET6, after five zero words."""


@inline_kernel
def _byte(buffer: Bytes, position: int, length: int, place: int) -> int:
    """Load a byte; bytes that are not logged are 0."""
    return load_u8(buffer, position + place) if place < length else 0


@inline_kernel
def _word(buffer: Bytes, position: int, length: int, place: int) -> int:
    high = _byte(buffer, position, length, 2 * place)
    return high << 8 | _byte(buffer, position, length, 2 * place + 1)


@inline_kernel
def _write_uuid(text: Bytes, at: int, buffer: Bytes, position: int, length: int) -> int:
    for place in range(16):
        if _DASHES >> place & 1:
            store_8(text, at, _DASH)
            at += 1
        value = _byte(buffer, position, length, place)
        store_8(text, at, item(_HEX, value >> 4))
        store_8(text, at + 1, item(_HEX, value & 15))
        at += 2
    return at


@inline_kernel
def _write_inet4(
    text: Bytes, at: int, buffer: Bytes, position: int, length: int, first: int
) -> int:
    """Write the four bytes that start at `first`."""
    for place in range(first, first + 4):
        if place > first:
            store_8(text, at, _POINT)
            at += 1
        at = write_eight_or_less(text, at, _byte(buffer, position, length, place))
    return at


@inline_kernel
def _longest_zeros(buffer: Bytes, position: int, length: int) -> tuple[int, int]:
    """Return the start and length of the first longest run of zero words; (−1, 0) without one."""
    found, longest, run = -1, 0, 0
    for place in range(_WORDS):
        run = 0 if _word(buffer, position, length, place) else run + 1
        if run > longest:
            found, longest = place + 1 - run, run
    return found, longest


@inline_kernel
def _write_word(text: Bytes, at: int, value: int) -> int:
    """Write a word in hexadecimal without leading zeros."""
    shift = 12
    while shift and not value >> shift:
        shift -= 4
    while shift >= 0:
        store_8(text, at, item(_HEX, value >> shift & 15))
        at += 1
        shift -= 4
    return at


@inline_kernel
def _write_inet6(text: Bytes, at: int, buffer: Bytes, position: int, length: int) -> int:
    """Write the longest run of zero words (even of one) as `::`, an embedded INET4 with dots."""
    gap, zeros = _longest_zeros(buffer, position, length)
    mapped = zeros == 5 and _word(buffer, position, length, 5) == _MAPPED
    holds_inet4 = gap == 0 and (zeros == 6 or mapped)
    place = 0
    while place < _WORDS:
        if place == gap:
            store_8(text, at, _COLON)
            at += 1
            if place == 0:
                store_8(text, at, _COLON)
                at += 1
            place += zeros
            continue
        if place == 6 and holds_inet4:
            return _write_inet4(text, at, buffer, position, length, 12)
        at = _write_word(text, at, _word(buffer, position, length, place))
        place += 1
        if place < _WORDS:
            store_8(text, at, _COLON)
            at += 1
    return at


@kernel
def write_addresses(
    buffer: Bytes,
    positions: Int32s,
    lengths: Int32s,
    form: int,
    width: int,
    offsets: Bytes,
    text: Bytes,
) -> int:
    """Write each cell's text; return the first row longer than `width` bytes, or −1."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position, length = item(positions, row), item(lengths, row)
        if position < 0:
            continue
        if length > width:
            return row
        if form == _UUID:
            at = _write_uuid(text, at, buffer, position, length)
        elif form == _INET6:
            at = _write_inet6(text, at, buffer, position, length)
        else:
            at = _write_inet4(text, at, buffer, position, length, 0)
    store_32(offsets, 4 * len(positions), at)
    return -1


def address_reader(kind: LogicalType) -> BoundedReader:
    """Return the reader for UUID, INET4 or INET6."""
    width = ADDRESS_BYTES[kind]

    def write(cells: Cells, values: Values) -> int:
        source = (cells.buffer, cells.positions, cells.lengths)
        return write_addresses(*source, _FORMS[kind], width, values.ends, values.bytes)

    fault = f"a value is longer than the {width} bytes of {kind.value}"
    return BoundedReader(pa.string(), ADDRESS_CHARACTERS[kind], write, fault)


def address_text(kind: LogicalType, raw: bytes) -> str:
    """Return the text of one value; raise CellError if it is too long."""
    buffer = np.frombuffer(bytes(HEAD_SLACK) + raw + bytes(SLACK), np.uint8)
    position, length = np.array([HEAD_SLACK], np.int32), np.array([len(raw)], np.int32)
    column = address_reader(kind).read(Cells(buffer, position, length, 0))
    text: str = column.array[0].as_py()
    return text
