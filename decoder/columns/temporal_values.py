"""Kernels that convert MySQL's packed dates and times (see `temporal_storage`) to Arrow values.

Arrow and Delta have only days of the calendar since year 1. Zero dates, days beyond a month's end
(ALLOW_INVALID_DATES) and the year 0 are lost: the kernels store 0, put the row's index into `lost`
and return the number of lost rows.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from decoder.columns.arrays import Int32s, Int64s
from decoder.columns.temporal_storage import IMPOSSIBLE, pack_date, pack_time
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, set_item, store_32, store_64

SECOND = 1000000
DAY = 86400
_NO_DAYS = 0


@cache
def calendar() -> Int32s:
    """Return an entry for each year * 13 + month: (day before its first, since 1970) << 5 | days.

    The month 0 and all months of year 0 have 0 days, so none of their days exists.
    """
    months = np.arange(10000 * 12)
    starts = (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    ends = (months + 1 - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    table = np.full((10000, 13), _NO_DAYS, np.int32)
    table[:, 1:] = ((starts - 1) << 5 | (ends - starts)).reshape(10000, 12)
    table[0] = _NO_DAYS
    return table.reshape(-1)


@inline_kernel
def day_of(packed: int, months: Int32s) -> int:
    """Return the days since 1970 of a packed date; IMPOSSIBLE if it is not in the calendar."""
    month = packed >> 46
    if month < 0 or month >= len(months):
        return IMPOSSIBLE
    entry = item(months, month)
    day = packed >> 41 & 31
    if day == 0 or day > entry & 31:
        return IMPOSSIBLE
    return (entry >> 5) + day


@inline_kernel
def second_of(packed: int) -> int:
    """Return the seconds of a packed time of day; DAY if it is out of range."""
    hour, minute, second = packed >> 36 & 31, packed >> 30 & 63, packed >> 24 & 63
    if hour > 23 or minute > 59 or second > 59 or packed & 0xFFFFFF >= SECOND:
        return DAY
    return hour * 3600 + minute * 60 + second


@kernel
def days(positions: Int32s, packed: Int64s, months: Int32s, values: Bytes, lost: Int64s) -> int:
    """Convert DATE to date32."""
    count = 0
    for row in range(len(positions)):
        day = day_of(item(packed, row), months)
        if day == IMPOSSIBLE:
            day = 0
            if item(positions, row) >= 0:
                set_item(lost, count, row)
                count += 1
        store_32(values, 4 * row, day)
    return count


@kernel
def micros(positions: Int32s, packed: Int64s, months: Int32s, values: Bytes, lost: Int64s) -> int:
    """Convert DATETIME to microseconds since 1970."""
    count = 0
    for row in range(len(positions)):
        value = item(packed, row)
        day = day_of(value, months)
        second = second_of(value)
        if day == IMPOSSIBLE or second == DAY:
            day, second, value = 0, 0, 0
            if item(positions, row) >= 0:
                set_item(lost, count, row)
                count += 1
        store_64(values, 8 * row, (day * DAY + second) * SECOND + (value & 0xFFFFFF))
    return count


@kernel
def instants(positions: Int32s, stored: Int64s, values: Bytes, lost: Int64s) -> int:
    """Copy TIMESTAMP's microseconds; second 0 is '0000-00-00 00:00:00', and lost."""
    count = 0
    for row in range(len(positions)):
        value = item(stored, row)
        if value < SECOND and item(positions, row) >= 0:
            set_item(lost, count, row)
            count += 1
        store_64(values, 8 * row, value)
    return count


@kernel
def durations(positions: Int32s, packed: Int64s, values: Bytes, lost: Int64s) -> int:
    """Convert TIME, which may be negative, to microseconds; none is lost."""
    for row in range(len(packed)):
        value = item(packed, row)
        magnitude = abs(value)
        time = magnitude >> 24
        second = (time >> 12) * 3600 + (time >> 6 & 63) * 60 + (time & 63)
        duration = second * SECOND + (magnitude & 0xFFFFFF)
        store_64(values, 8 * row, -duration if value < 0 else duration)
    return 0


@inline_kernel
def packed_instant(instant: int) -> int:
    """Return the packed date and time in UTC of non-negative microseconds since 1970.

    Uses Howard Hinnant's `civil_from_days`, whose years start in March.
    """
    second = instant // SECOND
    day = second // DAY + 719468
    time = second % DAY
    era = day // 146097
    day_of_era = day - era * 146097
    year = (day_of_era - day_of_era // 1460 + day_of_era // 36524 - day_of_era // 146096) // 365
    day_of_year = day_of_era - (365 * year + year // 4 - year // 100)
    march_month = (5 * day_of_year + 2) // 153
    month = march_month + 3 if march_month < 10 else march_month - 9
    year += era * 400 + (1 if month <= 2 else 0)
    day = day_of_year - (153 * march_month + 2) // 5 + 1
    clock = pack_time(time // 3600, time // 60 % 60, time % 60)
    return (pack_date(year, month, day) | clock) + instant % SECOND


@kernel
def pack_instants(stored: Int64s, packed: Int64s) -> None:
    """Pack TIMESTAMPs as dates and times in UTC; second 0 is the zero date."""
    for row in range(len(stored)):
        value = item(stored, row)
        set_item(packed, row, packed_instant(value) if value >= SECOND else 0)
