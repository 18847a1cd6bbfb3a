"""Sets of GTIDs as MySQL prints them: which transactions of one are in none of others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

Interval = tuple[int, int]


def missing(wanted: str, *had: str) -> str:
    """The GTIDs of `wanted` that are in none of `had`; empty if there are none.

    Sets are text such as `uuid:1-5:7,uuid:tag:1`; an interval holds both its ends.
    """
    known: defaultdict[str, list[Interval]] = defaultdict(list)
    for text in had:
        for source, intervals in _parse(text).items():
            known[source] += intervals
    left = {
        source: list(_subtract(sorted(intervals), sorted(known[source])))
        for source, intervals in _parse(wanted).items()
    }
    return ",".join(f"{source}:{_print(gaps)}" for source, gaps in left.items() if gaps)


def union(*sets: str) -> str:
    """All GTIDs that are in any of the sets."""
    found: defaultdict[str, list[Interval]] = defaultdict(list)
    for text in sets:
        for source, intervals in _parse(text).items():
            found[source] += intervals
    return ",".join(
        f"{source}:{_print(_merged(sorted(intervals)))}" for source, intervals in found.items()
    )


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Sorted intervals, with those that touch as one."""
    merged: list[Interval] = []
    for first, last in intervals:
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(merged[-1][1], last)
        else:
            merged.append((first, last))
    return merged


def _parse(text: str) -> dict[str, list[Interval]]:
    """Intervals by `uuid` or `uuid:tag`."""
    sets: defaultdict[str, list[Interval]] = defaultdict(list)
    for part in text.replace("\n", "").split(","):
        uuid, *fields = part.strip().split(":")
        source = uuid
        for field in fields:
            if field[0].isdigit():
                first, _, last = field.partition("-")
                sets[source].append((int(first), int(last or first)))
            else:
                source = f"{uuid}:{field}"
    return sets


def _subtract(wanted: Iterable[Interval], known: Iterable[Interval]) -> Iterable[Interval]:
    """What is left of sorted intervals without other sorted ones."""
    for first, last in wanted:
        at = first
        for begin, end in known:
            if end < at or begin > last:
                continue
            if begin > at:
                yield at, begin - 1
            at = end + 1
        if at <= last:
            yield at, last


def _print(intervals: Iterable[Interval]) -> str:
    return ":".join(f"{a}-{b}" if b > a else f"{a}" for a, b in intervals)
