"""Strings of JSON in kernels: escapes, and base64 for what JSON has no type for.

Each function writes at `at` and returns the position after what it wrote; the caller has checked
that the worst case fits, with SLACK behind.
"""

from __future__ import annotations

import numpy as np

from decoder.columns.digits import write_unsigned
from decoder.columns.json_errors import NOT_UTF8
from decoder.columns.utf8 import HIGH_BITS, is_utf8
from decoder.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_be24,
    load_i64,
    load_u8,
    shift_left,
    store_8,
    store_16,
    store_32,
    store_64,
    subtract_wrapping,
)

QUOTE = 34
BACKSLASH = 92
WORST_ESCAPE = 6
"""Bytes of `\\u001f`."""
_HEX = 1
_EVERY_BYTE = 0x0101010101010101
_SPACES = 0x2020202020202020
_QUOTES = 0x2222222222222222
_BACKSLASHES = 0x5C5C5C5C5C5C5C5C


def _escapes() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """For each byte 0 (stands for itself), `_HEX`, or the letter behind the backslash."""
    table = np.zeros(256, np.int64)
    table[:32] = _HEX
    for byte, letter in zip(b'\b\t\n\f\r"\\', b'btnfr"\\', strict=True):
        table[byte] = letter
    return table


_ESCAPES = _escapes()
_BASE64 = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
).astype(np.int64)
_BASE64_LINE = 57
"""Bytes of data in a line of base64, as MySQL breaks it (76 characters)."""


@inline_kernel
def special_bytes(word: int) -> int:
    """Of 8 bytes, the high bits of (at least) those that JSON escapes; 0 where there are none."""
    control = subtract_wrapping(word, _SPACES) & ~word
    quote = word ^ _QUOTES
    quote = subtract_wrapping(quote, _EVERY_BYTE) & ~quote
    backslash = word ^ _BACKSLASHES
    backslash = subtract_wrapping(backslash, _EVERY_BYTE) & ~backslash
    return (control | quote | backslash) & HIGH_BITS


@inline_kernel
def write_string(text: Bytes, at: int, buffer: Bytes, position: int, length: int) -> int:
    """A string in quotes, at most WORST_ESCAPE * length + 2 bytes; NOT_UTF8 if it is not."""
    store_8(text, at, QUOTE)
    at += 1
    start, end = position, position + length
    high = 0
    while position < end:
        word = load_i64(buffer, position)
        size = min(end - position, 8)
        special = special_bytes(word)
        if size < 8:
            mask = shift_left(1, 8 * size) - 1
            special &= mask
            high |= word & mask
        else:
            high |= word
        if special == 0:
            store_64(text, at, word)
            at += size
        else:
            at = write_escaped(text, at, buffer, position, size)
        position += size
    if high & HIGH_BITS and not is_utf8(buffer, start, end):
        return NOT_UTF8
    store_8(text, at, QUOTE)
    return at + 1


@kernel
def write_escaped(text: Bytes, at: int, buffer: Bytes, position: int, size: int) -> int:
    """Bytes one by one, some of them escaped."""
    for byte in range(position, position + size):
        character = load_u8(buffer, byte)
        escape = item(_ESCAPES, character)
        if escape == 0:
            store_8(text, at, character)
            at += 1
        elif escape == _HEX:
            low = character & 15
            store_32(text, at, 0x3030755C)  # \u00
            store_8(text, at + 4, 48 + (character >> 4))
            store_8(text, at + 5, 48 + low if low < 10 else 87 + low)
            at += 6
        else:
            store_16(text, at, BACKSLASH | escape << 8)
            at += 2
    return at


@kernel
def write_base64(
    text: Bytes, at: int, buffer: Bytes, position: int, length: int, field_type: int
) -> int:
    """`"base64:type15:…"`, broken into lines as MySQL does; at most 2 * length + 24 bytes."""
    store_64(text, at, 0x3A34366573616222)  # "base64:
    store_32(text, at + 8, 0x65707974)  # type
    at = write_unsigned(text, at + 12, field_type)
    store_8(text, at, 58)
    at += 1
    for byte in range(0, length, 3):
        if byte and byte % _BASE64_LINE == 0:
            store_16(text, at, BACKSLASH | 110 << 8)
            at += 2
        left = length - byte
        group = load_be24(buffer, position + byte)
        if left < 3:
            group &= 0xFFFF00 if left == 2 else 0xFF0000
        store_8(text, at, item(_BASE64, group >> 18))
        store_8(text, at + 1, item(_BASE64, group >> 12 & 63))
        store_8(text, at + 2, item(_BASE64, group >> 6 & 63) if left > 1 else 61)
        store_8(text, at + 3, item(_BASE64, group & 63) if left > 2 else 61)
        at += 4
    store_8(text, at, QUOTE)
    return at + 1
