"""Kernels that write JSON strings: escaped text, and base64 for other types.

Each writes at `at` and returns the position after the string; the caller has checked that the worst
case fits, followed by SLACK bytes.
"""

from __future__ import annotations

import numpy as np

from decoder.columns.digits import write_unsigned
from decoder.columns.json_errors import NOT_UTF8
from decoder.columns.utf8 import is_utf8
from decoder.kernels.memory import (
    Bytes,
    copy_text_32,
    inline_kernel,
    item,
    kernel,
    load_be24,
    load_u8,
    shift_left,
    store_8,
    store_16,
    store_32,
    store_64,
    trailing_zeros,
)

QUOTE = 34
BACKSLASH = 92
WORST_ESCAPE = 6
"""Length of `\\u001f`."""
_STEP = 32
"""Bytes copied at a time."""


def _escapes() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return, for each byte, the letter of its escape; 0 if it is escaped by its code."""
    table = np.zeros(256, np.int64)
    for byte, letter in zip(b'\b\t\n\f\r"\\', b'btnfr"\\', strict=True):
        table[byte] = letter
    return table


_ESCAPES = _escapes()
_BASE64 = np.frombuffer(
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8
).astype(np.int64)
_BASE64_LINE = 57
"""Bytes of data in one of MySQL's base64 lines of 76 characters."""


@inline_kernel
def write_string(text: Bytes, at: int, buffer: Bytes, position: int, length: int) -> int:
    """Write a quoted string, at most WORST_ESCAPE * length + 2 bytes; NOT_UTF8 if invalid."""
    store_8(text, at, QUOTE)
    at += 1
    start, end = position, position + length
    not_ascii = 0
    while position < end:
        classes = copy_text_32(text, at, buffer, position)
        size = min(end - position, _STEP)
        inside = shift_left(1, size) - 1
        not_ascii |= classes >> _STEP & inside
        escaped = classes & inside
        if escaped == 0:
            at += size
            position += size
        else:
            size = trailing_zeros(escaped)
            at = write_escape(text, at + size, load_u8(buffer, position + size))
            position += size + 1
    if not_ascii and not is_utf8(buffer, start, end):
        return NOT_UTF8
    store_8(text, at, QUOTE)
    return at + 1


@kernel
def write_escape(text: Bytes, at: int, character: int) -> int:
    """Write the escape of a character."""
    letter = item(_ESCAPES, character)
    if letter != 0:
        store_16(text, at, BACKSLASH | letter << 8)
        return at + 2
    low = character & 15
    store_32(text, at, 0x3030755C)  # \u00
    store_8(text, at + 4, 48 + (character >> 4))
    store_8(text, at + 5, 48 + low if low < 10 else 87 + low)
    return at + 6


@kernel
def write_base64(
    text: Bytes, at: int, buffer: Bytes, position: int, length: int, field_type: int
) -> int:
    """Write `"base64:type15:…"` with MySQL's line breaks; at most 2 * length + 24 bytes."""
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
