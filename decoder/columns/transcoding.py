"""Kernels that transcode text to UTF-8: one per kind of encoding.

Each kernel concatenates the values, replaces bytes that are not a character by U+FFFD, puts the
rows with such bytes into `lost` and returns their number. A character of n bytes takes at most 3 n
bytes of UTF-8, which the caller has allocated.
"""

from __future__ import annotations

import numpy as np

from decoder.columns.arrays import Int32s, Int64s
from decoder.columns.charsets.multi_byte import (
    EUC_TRIPLE,
    GB18030_BMP,
    GB18030_SUPPLEMENTARY,
    INVALID,
    LEAD,
)
from decoder.columns.utf8 import REPLACEMENT, character_size, write_character
from decoder.kernels.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_be16,
    load_be32,
    load_u8,
    load_u16,
    set_item,
    store_8,
    store_32,
)

SIZE_SHIFT = 24
"""A decoded character is its code point | its size in bytes << SIZE_SHIFT."""


@kernel
def repair_utf8(
    buffer: Bytes, positions: Int32s, lengths: Int32s, offsets: Bytes, text: Bytes, lost: Int64s
) -> int:
    """Copy UTF-8, replacing invalid parts by U+FFFD."""
    at, count = 0, 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        end = position + item(lengths, row)
        valid = True
        while position < end:
            size = character_size(buffer, position, end)
            if size < 0:
                valid = False
                at = write_character(text, at, REPLACEMENT)
            for byte in range(size):
                store_8(text, at + byte, load_u8(buffer, position + byte))
            at += max(size, 0)
            position += abs(size)
        if not valid:
            set_item(lost, count, row)
            count += 1
    store_32(offsets, 4 * len(positions), at)
    return count


def packed_characters(points: Int32s) -> Int32s:
    """Return the UTF-8 of each byte of a single-byte charset in an int32: its bytes, then its size.

    Negative, with U+FFFD, if the byte is not a character.
    """
    packed = []
    for point in points.tolist():
        utf8 = chr(point if point >= 0 else REPLACEMENT).encode()
        sign = 0 if point >= 0 else -(1 << 31)
        packed.append(int.from_bytes(utf8, "little") | len(utf8) << SIZE_SHIFT | sign)
    return np.array(packed, np.int32)


@kernel
def transcode_single_byte(
    buffer: Bytes,
    positions: Int32s,
    lengths: Int32s,
    packed: Int32s,
    offsets: Bytes,
    text: Bytes,
    lost: Int64s,
) -> int:
    """Transcode a single-byte charset; `packed` is from `packed_characters`."""
    at, count = 0, 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        unknown = 0
        for byte in range(position, position + item(lengths, row)):
            character = item(packed, load_u8(buffer, byte))
            unknown |= character
            store_32(text, at, character)
            at += character >> SIZE_SHIFT & 3
        if unknown < 0:
            set_item(lost, count, row)
            count += 1
    store_32(offsets, 4 * len(positions), at)
    return count


@kernel
def multi_byte_character(
    buffer: Bytes,
    at: int,
    end: int,
    single: Int32s,
    double: Int32s,
    triple: Int32s,
    quad: Int32s,
) -> int:
    """Return the next character of an East Asian charset: its code point and size, or INVALID.

    The tables are those of `decoder.columns.charsets.multi_byte.MultiByte`.
    """
    lead = load_u8(buffer, at)
    point = item(single, lead)
    if point != LEAD:
        return point | 1 << SIZE_SHIFT if point >= 0 else INVALID
    if at + 1 >= end:
        return INVALID
    second = load_u8(buffer, at + 1)
    if len(quad) and 0x30 <= second <= 0x39:
        return gb18030_character(buffer, at, end, quad)
    if lead == EUC_TRIPLE and len(triple):
        if at + 2 >= end or second < 0x80 or load_u8(buffer, at + 2) < 0x80:
            return INVALID
        point = item(triple, (second & 0x7F) << 7 | load_u8(buffer, at + 2) & 0x7F)
        return point | 3 << SIZE_SHIFT if point >= 0 else INVALID
    point = item(double, (lead - 0x80) << 8 | second)
    return point | 2 << SIZE_SHIFT if point >= 0 else INVALID


@inline_kernel
def gb18030_character(buffer: Bytes, at: int, end: int, quad: Int32s) -> int:
    """Return a four-byte character; codes are linear in the basic plane and in those above it."""
    if at + 3 >= end:
        return INVALID
    third, fourth = load_u8(buffer, at + 2) - 0x81, load_u8(buffer, at + 3) - 0x30
    if third < 0 or third > 125 or fourth < 0 or fourth > 9:
        return INVALID
    rows = (load_u8(buffer, at) - 0x81) * 10 + load_u8(buffer, at + 1) - 0x30
    number = rows * 1260 + third * 10 + fourth
    if number < GB18030_BMP:
        point = item(quad, number)
    else:
        point = number - GB18030_SUPPLEMENTARY + 0x10000
        if point < 0x10000 or point > 0x10FFFF:
            point = INVALID
    return point | 4 << SIZE_SHIFT if point >= 0 else INVALID


@kernel
def transcode_multi_byte(
    buffer: Bytes,
    positions: Int32s,
    lengths: Int32s,
    single: Int32s,
    double: Int32s,
    triple: Int32s,
    quad: Int32s,
    offsets: Bytes,
    text: Bytes,
    lost: Int64s,
) -> int:
    """Transcode an East Asian charset; an invalid byte becomes one U+FFFD."""
    at, count = 0, 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        end = position + item(lengths, row)
        valid = True
        while position < end:
            found = multi_byte_character(buffer, position, end, single, double, triple, quad)
            if found < 0:
                valid = False
                found = REPLACEMENT | 1 << SIZE_SHIFT
            at = write_character(text, at, found & 0xFFFFFF)
            position += found >> SIZE_SHIFT
        if not valid:
            set_item(lost, count, row)
            count += 1
    store_32(offsets, 4 * len(positions), at)
    return count


@inline_kernel
def utf16_unit(buffer: Bytes, at: int, big: bool) -> int:
    """Load a 16-bit code unit."""
    return load_be16(buffer, at) if big else load_u16(buffer, at)


@kernel
def utf16_character(buffer: Bytes, at: int, end: int, big: bool) -> int:
    """Return the character of a code unit or surrogate pair, like `multi_byte_character`.

    INVALID stands for two bytes, or for a single last byte.
    """
    if at + 2 > end:
        return INVALID
    unit = utf16_unit(buffer, at, big)
    if unit >> 11 != 0x1B:
        return unit | 2 << SIZE_SHIFT
    if unit >> 10 != 0x36 or at + 4 > end:
        return INVALID
    low = utf16_unit(buffer, at + 2, big)
    if low >> 10 != 0x37:
        return INVALID
    return (0x10000 + ((unit & 0x3FF) << 10 | low & 0x3FF)) | 4 << SIZE_SHIFT


@kernel
def transcode_utf16(
    buffer: Bytes,
    positions: Int32s,
    lengths: Int32s,
    big: bool,
    offsets: Bytes,
    text: Bytes,
    lost: Int64s,
) -> int:
    """Transcode utf16, utf16le or ucs2."""
    at, count = 0, 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        end = position + item(lengths, row)
        valid = True
        while position < end:
            found = utf16_character(buffer, position, end, big)
            if found < 0:
                valid = False
                found = REPLACEMENT | 2 << SIZE_SHIFT
            at = write_character(text, at, found & 0xFFFFFF)
            position += found >> SIZE_SHIFT
        if not valid:
            set_item(lost, count, row)
            count += 1
    store_32(offsets, 4 * len(positions), at)
    return count


@kernel
def transcode_utf32(
    buffer: Bytes, positions: Int32s, lengths: Int32s, offsets: Bytes, text: Bytes, lost: Int64s
) -> int:
    """Transcode utf32 (big-endian)."""
    at, count = 0, 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        end = position + item(lengths, row)
        valid = True
        while position < end:
            point = load_be32(buffer, position) if position + 4 <= end else INVALID
            if point < 0 or point > 0x10FFFF or point >> 11 == 0x1B:
                valid = False
                point = REPLACEMENT
            at = write_character(text, at, point)
            position += 4
        if not valid:
            set_item(lost, count, row)
            count += 1
    store_32(offsets, 4 * len(positions), at)
    return count
