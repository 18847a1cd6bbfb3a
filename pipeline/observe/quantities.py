"""Durations and sizes as people read them, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def duration(seconds: float | None) -> str:
    """Return `12.3 s`, `4 min 5 s`, `3 h 20 min` or `2 d 4 h`; an empty text for None."""
    if seconds is None:
        return ""
    sign, whole = ("-" if seconds < 0 else ""), abs(seconds)
    if whole < 60:
        return f"{sign}{whole:.1f} s"
    minutes, second = divmod(int(whole), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{sign}{days} d {hour} h"
    return f"{sign}{hour} h {minute} min" if hour else f"{sign}{minute} min {second} s"


def size(count: int | None) -> str:
    """Return `712 B`, `1.5 KiB` or `2.0 GiB`; an empty text for None."""
    if count is None:
        return ""
    unit = byte_unit([count])
    if unit == BYTES[0]:
        return f"{count} B"
    return f"{count / byte_factor(unit):,.1f} {unit}"


def byte_unit(counts: Sequence[int]) -> str:
    """Return the largest unit of which the greatest count has at least one."""
    greatest, number = max(counts, default=0), 0
    while greatest >= _STEP and number < len(BYTES) - 1:
        greatest, number = greatest // _STEP, number + 1
    return BYTES[number]


def byte_factor(unit: str) -> int:
    """Return the number of bytes in a unit."""
    return int(_STEP ** BYTES.index(unit))
