"""Decimal digits of integers, written into text by kernels.

Every function returns the position after what it wrote; the caller has checked that it fits.
"""

from __future__ import annotations

import numpy as np

from decoder.memory import (
    Bytes,
    inline_kernel,
    item,
    leading_zeros,
    multiply_wrapping,
    shift_right_logical,
    store_8,
    store_16,
    subtract_wrapping,
)

TWO_DIGITS = np.array([ord("0") + n // 10 | (ord("0") + n % 10) << 8 for n in range(100)], np.int32)
"""The two characters of 00 to 99, as a little-endian 16-bit store writes them."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)
LONGEST_INTEGER = 20
"""Characters of −9223372036854775808 and of 18446744073709551615."""


@inline_kernel
def write_padded(text: Bytes, at: int, value: int, digits: int) -> int:
    """The last `digits` digits of a value, with leading zeros."""
    to = at + digits
    while to >= at + 2:
        rest = value // 100
        to -= 2
        store_16(text, to, item(TWO_DIGITS, value - rest * 100))
        value = rest
    if to > at:
        store_8(text, at, 48 + value % 10)
    return at + digits


@inline_kernel
def digit_count(value: int) -> int:
    """How many digits a non-negative value has."""
    # 1233 / 4096 is about log10(2): the digits of the largest power of two in it, or one less.
    count = (64 - leading_zeros(value | 1)) * 1233 >> 12
    return count + int(value | 1 >= item(_POWERS, count))


@inline_kernel
def write_unsigned(text: Bytes, at: int, value: int) -> int:
    """The digits of the unsigned 64-bit integer with these bits."""
    if value < 0:
        tenth = shift_right_logical(value, 1) // 5
        at = write_padded(text, at, tenth, digit_count(tenth))
        store_8(text, at, 48 + subtract_wrapping(value, multiply_wrapping(tenth, 10)))
        return at + 1
    if value < 10:
        store_8(text, at, 48 + value)
        return at + 1
    return write_padded(text, at, value, digit_count(value))


@inline_kernel
def write_signed(text: Bytes, at: int, value: int) -> int:
    """The digits of an int64, with its sign."""
    if value < 0:
        store_8(text, at, 45)
        return write_unsigned(text, at + 1, subtract_wrapping(0, value))
    return write_unsigned(text, at, value)
