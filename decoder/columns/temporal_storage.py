"""Kernels that convert stored DATE, TIME, DATETIME and TIMESTAMP to MySQL's packed form.

The packed form (MySQL sql-common/my_time.cc, `TIME_to_longlong_packed`) is one int64:

    date and time: ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second,
    time:          hour << 12 | minute << 6 | second,
    both:          shifted left by 24, plus microseconds; negated for a negative TIME.

`IMPOSSIBLE` replaces bytes that have no packed form. A TIMESTAMP is an instant, unpacked to
microseconds since 1970. Storage formats with fractions (since MySQL 5.6.4) are big-endian; the
older ones are little-endian numbers whose decimal digits are the fields. The kernels write a value
for every row; for a position of −1 (NULL) it is undefined.
"""

from __future__ import annotations

from decoder.columns.arrays import Int32s, Int64s
from decoder.kernels.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_be64,
    load_i24,
    load_i64,
    load_u24,
    load_u32,
    set_item,
    shift_right_logical,
)

IMPOSSIBLE = -(1 << 63)
LAST_YEAR = 9999


@inline_kernel
def pack_date(year: int, month: int, day: int) -> int:
    """Return the packed form of a date at 00:00:00."""
    return ((year * 13 + month) << 5 | day) << 41


@inline_kernel
def pack_time(hour: int, minute: int, second: int) -> int:
    """Return the packed form of a time without microseconds."""
    return (hour << 12 | minute << 6 | second) << 24


@inline_kernel
def fraction_unit(size: int) -> int:
    """Return the microseconds in one unit of a fraction of 0 to 3 bytes."""
    if size == 1:
        return 10000
    return 100 if size == 2 else 1


@kernel
def unpack_dates(buffer: Bytes, positions: Int32s, packed: Int64s) -> None:
    """Unpack DATE and NEWDATE: 3 bytes, day 5 bits, month 4, year 15."""
    for row in range(len(positions)):
        stored = load_u24(buffer, max(item(positions, row), 0))
        year, month = stored >> 9, stored >> 5 & 15
        value = pack_date(year, month, stored & 31)
        set_item(packed, row, value if year <= LAST_YEAR and month <= 12 else IMPOSSIBLE)


@kernel
def unpack_datetimes(buffer: Bytes, positions: Int32s, size: int, packed: Int64s) -> None:
    """Unpack DATETIME(f): 5 bytes with the sign bit inverted, then `size` bytes of fraction."""
    unit = fraction_unit(size)
    mask = (1 << 8 * size) - 1
    for row in range(len(positions)):
        stored = load_be64(buffer, max(item(positions, row), 0))
        whole = shift_right_logical(stored, 24) - 0x8000000000
        fraction = (stored >> (24 - 8 * size) & mask) * unit
        possible = 0 <= whole >> 22 < 13 * (LAST_YEAR + 1)
        set_item(packed, row, whole << 24 | fraction if possible else IMPOSSIBLE)


@kernel
def unpack_old_datetimes(buffer: Bytes, positions: Int32s, packed: Int64s) -> None:
    """Unpack DATETIME before 5.6.4: the number YYYYMMDDhhmmss in 8 bytes."""
    for row in range(len(positions)):
        number = load_i64(buffer, max(item(positions, row), 0))
        date, time = number // 1000000, number % 1000000
        year, month = date // 10000, date // 100 % 100
        hour, minute, second = time // 10000, time // 100 % 100, time % 100
        value = pack_date(year, month, date % 100) | pack_time(hour, minute, second)
        dated = 0 <= year <= LAST_YEAR and month <= 12 and date % 100 <= 31
        timed = hour < 24 and minute < 60 and second < 60
        set_item(packed, row, value if dated and timed else IMPOSSIBLE)


@kernel
def unpack_times(buffer: Bytes, positions: Int32s, size: int, packed: Int64s) -> None:
    """Unpack TIME(f): 3 bytes and `size` bytes of fraction, together one number with an offset."""
    unit = fraction_unit(size)
    bits = 8 * (3 + size)
    mask = (1 << 8 * size) - 1
    for row in range(len(positions)):
        stored = load_be64(buffer, max(item(positions, row), 0))
        number = shift_right_logical(stored, 64 - bits) - (1 << (bits - 1))
        magnitude = abs(number)
        value = (magnitude >> 8 * size) << 24 | (magnitude & mask) * unit
        set_item(packed, row, -value if number < 0 else value)


@kernel
def unpack_old_times(buffer: Bytes, positions: Int32s, packed: Int64s) -> None:
    """Unpack TIME before 5.6.4: the number hhmmss in 3 bytes."""
    for row in range(len(positions)):
        number = load_i24(buffer, max(item(positions, row), 0))
        digits = abs(number)
        hour, minute, second = digits // 10000, digits // 100 % 100, digits % 100
        value = pack_time(hour, minute, second)
        possible = minute < 60 and second < 60
        set_item(packed, row, (-value if number < 0 else value) if possible else IMPOSSIBLE)


@kernel
def unpack_timestamps(buffer: Bytes, positions: Int32s, size: int, micros: Int64s) -> None:
    """Unpack TIMESTAMP(f): 4 bytes of seconds since 1970, then `size` bytes of fraction."""
    unit = fraction_unit(size)
    mask = (1 << 8 * size) - 1
    for row in range(len(positions)):
        stored = load_be64(buffer, max(item(positions, row), 0))
        fraction = (stored >> (32 - 8 * size) & mask) * unit
        set_item(micros, row, shift_right_logical(stored, 32) * 1000000 + fraction)


@kernel
def unpack_old_timestamps(buffer: Bytes, positions: Int32s, micros: Int64s) -> None:
    """Unpack TIMESTAMP before 5.6.4: 4 bytes of seconds since 1970."""
    for row in range(len(positions)):
        set_item(micros, row, load_u32(buffer, max(item(positions, row), 0)) * 1000000)
