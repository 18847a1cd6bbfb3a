"""Sets of GTIDs, as MySQL writes them: `uuid:1-5:7:tag:1-3,uuid2:1`.

A MariaDB GTID (`domain-server-sequence`) stands for its domain's position: the set keeps the last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

Interval = tuple[int, int]
"""First and last number, both in the set."""


@dataclass(frozen=True, slots=True)
class GtidSet:
    """Intervals by source id, which is `uuid` or `uuid:tag`, in order and apart; MariaDB's ends
    by domain."""

    intervals: dict[str, tuple[Interval, ...]] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | None) -> GtidSet:
        """What `str` wrote."""
        intervals: dict[str, list[Interval]] = defaultdict(list)
        domains = {}
        for entry in (text or "").replace("\n", "").split(","):
            entry = entry.strip()
            if entry and ":" not in entry:
                domains[entry.split("-")[0]] = entry
            elif entry:
                _parse_entry(entry, intervals)
        return cls({sid: _joined(found) for sid, found in intervals.items()}, domains)

    def with_intervals(self, added: Iterable[tuple[str, int, int]]) -> GtidSet:
        """The union with (source id, first, last)."""
        intervals = defaultdict(list, {sid: list(found) for sid, found in self.intervals.items()})
        for sid, first, last in added:
            intervals[sid].append((first, last))
        return GtidSet({sid: _joined(found) for sid, found in intervals.items()}, self.domains)

    def with_domains(self, ends: Iterable[str]) -> GtidSet:
        """The set once MariaDB's GTIDs `ends` are the last of their domains."""
        return GtidSet(self.intervals, {**self.domains, **{e.split("-")[0]: e for e in ends}})

    def __str__(self) -> str:
        entries: dict[str, list[str]] = defaultdict(list)
        for sid in sorted(self.intervals):
            uuid, _, tag = sid.partition(":")
            spans = [f"{a}-{b}" if b > a else f"{a}" for a, b in self.intervals[sid]]
            entries[uuid] += [tag, *spans] if tag else spans
        mysql = [":".join([uuid, *parts]) for uuid, parts in entries.items()]
        return ",".join([*mysql, *(self.domains[domain] for domain in sorted(self.domains))])


def _parse_entry(entry: str, intervals: dict[str, list[Interval]]) -> None:
    uuid, *parts = entry.split(":")
    sid = uuid
    for part in parts:
        if part[0].isdigit():
            first, _, last = part.partition("-")
            intervals[sid].append((int(first), int(last or first)))
        else:
            sid = f"{uuid}:{part}"


def _joined(intervals: list[Interval]) -> tuple[Interval, ...]:
    """In order, with those that touch put together."""
    result: list[Interval] = []
    for first, last in sorted(intervals):
        if result and first <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(last, result[-1][1]))
        else:
            result.append((first, last))
    return tuple(result)
