"""Kernels that write the decimal digits of integers.

Each returns the position after the digits; the caller has checked that they fit.
"""

from __future__ import annotations

import numpy as np

from decoder.kernels.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    leading_zeros,
    multiply_wrapping,
    shift_right_logical,
    store_8,
    store_16,
    store_64,
    subtract_wrapping,
    trailing_zeros,
)

TWO_DIGITS = np.array([ord("0") + n // 10 | (ord("0") + n % 10) << 8 for n in range(100)], np.int32)
"""The two characters of 00 to 99, as little-endian 16-bit integers."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_EIGHT_DIGITS = 10**8
_ZEROS = 0x3030303030303030
LONGEST_INTEGER = 20
"""Length of −9223372036854775808 and 18446744073709551615."""


@inline_kernel
def write_padded(text: Bytes, at: int, value: int, digits: int) -> int:
    """Write the last `digits` digits of a value, with leading zeros."""
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
    """Return the number of digits of a non-negative value."""
    # 1233 / 4096 is about log10(2), so this is the number of digits, or one less.
    count = (64 - leading_zeros(value | 1)) * 1233 >> 12
    return count + int(value | 1 >= item(_POWERS, count))


@inline_kernel
def eight_digits(value: int) -> int:
    """Return the digits of a value below 10**8 as 8 bytes 0 to 9, the first digit lowest.

    Each step splits all parts at once: two of four digits, four of two, eight of one. (x * 10486)
    >> 20 is x / 100 for x < 10**4, and (x * 103) >> 10 is x / 10 for x < 100.
    """
    fours = value // 10_000
    fours |= (value - 10_000 * fours) << 32
    hundreds = fours * 10486 >> 20 & 0x0000007F0000007F
    twos = (fours - 100 * hundreds << 16) + hundreds
    tens = twos * 103 >> 10 & 0x000F000F000F000F
    return (twos - 10 * tens << 8) + tens


@inline_kernel
def write_eight_or_less(text: Bytes, at: int, value: int) -> int:
    """Write the digits of a value below 10**8; stores 8 bytes."""
    digits = eight_digits(value)
    zeros = trailing_zeros(digits | 1 << 56) >> 3
    store_64(text, at, (digits | _ZEROS) >> 8 * zeros)
    return at + 8 - zeros


@inline_kernel
def write_eight(text: Bytes, at: int, value: int) -> int:
    """Write the last 8 digits of a non-negative value."""
    store_64(text, at, eight_digits(value % _EIGHT_DIGITS) | _ZEROS)
    return at + 8


@kernel
def write_many(text: Bytes, at: int, value: int) -> int:
    """Write the unsigned 64-bit integer with these bits; it is at least 10**8."""
    upper = shift_right_logical(value, 8) // (_EIGHT_DIGITS >> 8)  # 10**8 is a multiple of 2**8
    if upper < _EIGHT_DIGITS:
        at = write_eight_or_less(text, at, upper)
    else:
        at = write_eight_or_less(text, at, upper // _EIGHT_DIGITS)
        at = write_eight(text, at, upper)
    last = subtract_wrapping(value, multiply_wrapping(upper, _EIGHT_DIGITS))
    return write_eight(text, at, last)


@inline_kernel
def write_unsigned(text: Bytes, at: int, value: int) -> int:
    """Write the unsigned 64-bit integer with these bits; may store up to 8 bytes more."""
    if 0 <= value < _EIGHT_DIGITS:
        return write_eight_or_less(text, at, value)
    return write_many(text, at, value)


@inline_kernel
def write_signed(text: Bytes, at: int, value: int) -> int:
    """Write an int64, with its sign; may store up to 8 bytes more."""
    if value < 0:
        store_8(text, at, 45)
        return write_unsigned(text, at + 1, subtract_wrapping(0, value))
    return write_unsigned(text, at, value)
