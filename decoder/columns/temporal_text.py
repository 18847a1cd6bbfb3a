"""Kernels that write packed dates and times (see `temporal_storage`) as MySQL prints them.

Each `write_` function writes at `at` and returns the position after the text; the caller has
checked that it fits, followed by SLACK bytes.
"""

from __future__ import annotations

from decoder.columns.arrays import Int32s, Int64s
from decoder.columns.digits import TWO_DIGITS, write_padded
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, store_8, store_32, store_64

LONGEST_DATE = 10
LONGEST_TIME = 17
"""Length of -838:59:59.999999."""
LONGEST_DATETIME = 26
_COLON = 0x3A


@inline_kernel
def write_date(text: Bytes, at: int, packed: int) -> int:
    """Write YYYY-MM-DD."""
    year_month = packed >> 46
    at = write_padded(text, at, year_month // 13, 4)
    store_8(text, at, 45)
    at = write_padded(text, at + 1, year_month % 13, 2)
    store_8(text, at, 45)
    return write_padded(text, at + 1, packed >> 41 & 31, 2)


@inline_kernel
def write_clock(text: Bytes, at: int, hour: int, packed: int, digits: int) -> int:
    """Write [h]hh:mm:ss, then `digits` digits of the fraction; `packed` is not negative."""
    if hour >= 100:
        store_8(text, at, 48 + hour // 100 % 10)
        at += 1
        hour = hour % 100
    minute, second = packed >> 30 & 63, packed >> 24 & 63
    clock = item(TWO_DIGITS, hour) | _COLON << 16 | item(TWO_DIGITS, minute) << 24
    store_64(text, at, clock | _COLON << 40 | item(TWO_DIGITS, second) << 48)
    at += 8
    if digits == 0:
        return at
    store_8(text, at, 46)
    write_padded(text, at + 1, packed & 0xFFFFFF, 6)
    return at + 1 + digits


@inline_kernel
def write_datetime(text: Bytes, at: int, packed: int, digits: int) -> int:
    """Write YYYY-MM-DD hh:mm:ss, then the fraction."""
    at = write_date(text, at, packed)
    store_8(text, at, 32)
    return write_clock(text, at + 1, packed >> 36 & 31, packed, digits)


@inline_kernel
def write_time(text: Bytes, at: int, packed: int, digits: int) -> int:
    """Write [-][h]hh:mm:ss, then the fraction."""
    if packed < 0:
        store_8(text, at, 45)
        at += 1
    magnitude = abs(packed)
    return write_clock(text, at, magnitude >> 36 & 1023, magnitude, digits)


@kernel
def dates_text(positions: Int32s, packed: Int64s, offsets: Bytes, text: Bytes) -> None:
    """Write DATEs as text, of at most LONGEST_DATE bytes each."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        if item(positions, row) >= 0:
            at = write_date(text, at, item(packed, row))
    store_32(offsets, 4 * len(positions), at)


@kernel
def datetimes_text(
    digits: int, positions: Int32s, packed: Int64s, offsets: Bytes, text: Bytes
) -> None:
    """Write DATETIMEs as text, of at most LONGEST_DATETIME bytes each."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        if item(positions, row) >= 0:
            at = write_datetime(text, at, item(packed, row), digits)
    store_32(offsets, 4 * len(positions), at)


@kernel
def times_text(digits: int, positions: Int32s, packed: Int64s, offsets: Bytes, text: Bytes) -> None:
    """Write TIMEs as text, of at most LONGEST_TIME bytes each."""
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        if item(positions, row) >= 0:
            at = write_time(text, at, item(packed, row), digits)
    store_32(offsets, 4 * len(positions), at)
