"""Sets of GTIDs: which transactions there are, and which of one set are in none of others.

MySQL's are numbers of a source, written as `uuid:1-5:7:tag:1` (MySQL manual, "GTID Sets"; tags from
8.3 on). MariaDB numbers the transactions of a domain in order, whichever server they are of: a set
of its own is the last number of every domain and server, `0-1-5,0-2-7`, as GTID_LIST and
`gtid_binlog_state` have it (MariaDB, "Global Transaction ID"), and all up to it belong to the set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Interval = tuple[int, int]
"""First and last number, both in the set."""
Intervals = tuple[Interval, ...]
"""In order, and apart from each other."""
Place = tuple[int, int]
"""MariaDB's domain and server."""


@dataclass(frozen=True, slots=True)
class GtidSet:
    """MySQL's numbers by source (`uuid` or `uuid:tag`), MariaDB's last ones by domain and server.

    `bool` tells whether there are any, `in` whether a GTID is among them; `|`, `&` and `-`: union,
    intersection, and what is left of one without the other. `str` is as the server writes it.
    """

    intervals: Mapping[str, Intervals] = field(default_factory=dict)
    last: Mapping[Place, int] = field(default_factory=dict)

    @classmethod
    def of(cls, *texts: str | None) -> GtidSet:
        """All GTIDs of some sets that are written as text. Raises ValueError for other text."""
        intervals: defaultdict[str, list[Interval]] = defaultdict(list)
        last: dict[Place, int] = {}
        for entry in ",".join(filter(None, texts)).replace("\n", "").split(","):
            entry = entry.strip()
            if ":" in entry:
                _read_mysql(entry, intervals)
            elif entry:
                domain, server, number = map(int, entry.split("-"))
                last[domain, server] = max(number, last.get((domain, server), 0))
        return cls({source: _joined(found) for source, found in intervals.items()}, last)

    def __bool__(self) -> bool:
        return bool(self.intervals or self.last)

    def __contains__(self, gtid: str) -> bool:
        source, colon, number = gtid.rpartition(":")
        if colon:
            at = int(number)
            return any(first <= at <= end for first, end in self.intervals.get(source, ()))
        domain, server, sequence = map(int, gtid.split("-"))
        return sequence <= self.last.get((domain, server), 0)

    def __or__(self, other: GtidSet) -> GtidSet:
        sources = {**self.intervals, **other.intervals}
        both = {
            source: _joined((*self.intervals.get(source, ()), *other.intervals.get(source, ())))
            for source in sources
        }
        places = {**self.last, **other.last}
        return GtidSet(both, {p: max(self.last.get(p, 0), other.last.get(p, 0)) for p in places})

    def __and__(self, other: GtidSet) -> GtidSet:
        both = {
            source: tuple(_common(found, other.intervals[source]))
            for source, found in self.intervals.items()
            if source in other.intervals
        }
        places = self.last.keys() & other.last.keys()
        return GtidSet(
            {source: found for source, found in both.items() if found},
            {p: min(self.last[p], other.last[p]) for p in places},
        )

    def __sub__(self, other: GtidSet) -> GtidSet:
        """What is left without the other's. Where something of a domain and server is left, it is
        all of it: MariaDB's sets know no first number."""
        left = {
            source: tuple(_subtract(found, other.intervals.get(source, ())))
            for source, found in self.intervals.items()
        }
        return GtidSet(
            {source: found for source, found in left.items() if found},
            {place: n for place, n in self.last.items() if n > other.last.get(place, 0)},
        )

    def __str__(self) -> str:
        entries: defaultdict[str, list[str]] = defaultdict(list)
        for source, found in sorted(self.intervals.items()):
            uuid, _, tag = source.partition(":")
            entries[uuid] += [tag, _print(found)] if tag else [_print(found)]
        mysql = (":".join([uuid, *parts]) for uuid, parts in entries.items())
        mariadb = (f"{d}-{s}-{number}" for (d, s), number in sorted(self.last.items()))
        return ",".join([*mysql, *mariadb])

    def holds(self, other: GtidSet) -> bool:
        """Whether all of the other's are in it, MariaDB's by domain and server."""
        return not other - self

    @property
    def size(self) -> int:
        """How many there are, by which a set that holds another comes after it."""
        numbers = sum(end - first + 1 for found in self.intervals.values() for first, end in found)
        return numbers + sum(self._ends().values())

    def is_foreign_to(self, other: GtidSet) -> bool:
        """Whether both have some, and of no server the same: MySQL's UUID, MariaDB's domain."""
        return bool(self and other) and not self._origins() & other._origins()

    def lacking(self, wanted: GtidSet) -> str:
        """What of `wanted` is not in the set, in words; empty if all is.

        MariaDB's are compared by domain, since a server that was set up from another one's copy
        does not know which servers its domain had before.
        """
        mysql = str(GtidSet(wanted.intervals) - self)
        ends = self._ends()
        mariadb = (
            f"{domain}-{server}-{number} and what is before it in domain {domain}"
            f" ({'from the start' if domain not in ends else f'after number {ends[domain]}'})"
            for (domain, server), number in sorted(wanted.last.items())
            if number > ends.get(domain, 0) and number == wanted._ends()[domain]
        )
        return ",".join(filter(None, [mysql, *mariadb]))

    def lacking_of_servers(self, wanted: GtidSet) -> str:
        """The same, but MariaDB's are compared by domain and server, as `in` does."""
        return str(wanted - self)

    def of_servers_in(self, other: GtidSet) -> GtidSet:
        """MariaDB's of the domains and servers that the other has any of."""
        return GtidSet(last={p: number for p, number in self.last.items() if p in other.last})

    def passed_unnamed_in(self, other: GtidSet) -> GtidSet:
        """MariaDB's of servers of which the other has none, in domains that have come as far there
        with servers that it has: those a server that was set up from a copy may have without
        knowing whose they were."""
        ends = other._ends()
        return GtidSet(
            last={
                place: number
                for place, number in self.last.items()
                if place not in other.last and number <= ends.get(place[0], 0)
            }
        )

    def no_further_than(self, other: GtidSet) -> GtidSet:
        """MariaDB's that are no further than their domain is in the other."""
        ends = other._ends()
        return GtidSet(last={p: n for p, n in self.last.items() if n <= ends.get(p[0], 0)})

    def not_reached_by(self, other: GtidSet) -> GtidSet:
        """What the other one lacks of it, MariaDB's by domain, as `lacking` tells it."""
        ends = other._ends()
        last = {place: n for place, n in self.last.items() if n > ends.get(place[0], 0)}
        return GtidSet((self - other).intervals, last)

    def last_of_domains(self) -> GtidSet:
        """MariaDB's last of each domain, with the server that it is of."""
        ends = self._ends()
        return GtidSet(last={place: n for place, n in self.last.items() if n == ends[place[0]]})

    def has_any_of(self, server_uuid: str, server_id: int) -> bool:
        """Whether some are of one server's own: of its UUID, or of MariaDB's of its id."""
        own = server_uuid.lower()
        uuids = {source.partition(":")[0] for source in self.intervals}
        return (bool(own) and own in uuids) or any(server == server_id for _, server in self.last)

    def outside_domains_of(self, other: GtidSet) -> GtidSet:
        """MariaDB's of domains that the other does not have."""
        ends = other._ends()
        return GtidSet(last={p: n for p, n in self.last.items() if p[0] not in ends})

    def of_server(self, server_id: int) -> GtidSet:
        """MariaDB's of one server."""
        return GtidSet(last={p: number for p, number in self.last.items() if p[1] == server_id})

    def from_first_of(self, shown: GtidSet) -> GtidSet:
        """Without MySQL's numbers that are before the first one that `shown` has of their source:
        a server that logs number 5 of another one had those before it already."""
        kept = {
            source: tuple(
                (max(first, shown.intervals[source][0][0]), end)
                for first, end in found
                if end >= shown.intervals[source][0][0]
            )
            if source in shown.intervals
            else found
            for source, found in self.intervals.items()
        }
        return GtidSet({source: found for source, found in kept.items() if found}, self.last)

    def _origins(self) -> set[str]:
        uuids = {source.partition(":")[0] for source in self.intervals}
        return uuids | {str(domain) for domain, _ in self.last}

    def _ends(self) -> dict[int, int]:
        """MariaDB's last number of every domain."""
        ends: dict[int, int] = {}
        for (domain, _), number in self.last.items():
            ends[domain] = max(number, ends.get(domain, 0))
        return ends


NO_GTIDS = GtidSet()


def _read_mysql(entry: str, intervals: defaultdict[str, list[Interval]]) -> None:
    uuid, *fields = (part.strip().lower() for part in entry.split(":"))
    source = uuid
    for part in fields:
        if not part:
            raise ValueError(f"{entry!r} is no set of GTIDs")
        if part[0].isdigit():
            first, _, last = part.partition("-")
            intervals[source].append((int(first), int(last or first)))
        else:
            source = f"{uuid}:{part}"


def _joined(intervals: Iterable[Interval]) -> Intervals:
    """In order, with those that touch as one."""
    joined: list[Interval] = []
    for first, last in sorted(intervals):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def _common(some: Intervals, others: Intervals) -> Iterator[Interval]:
    """What is in both; each side is in order."""
    at = 0
    for first, last in some:
        while at < len(others) and others[at][1] < first:
            at += 1
        for begin, end in others[at:]:
            if begin > last:
                break
            yield max(first, begin), min(last, end)


def _subtract(wanted: Intervals, known: Intervals) -> Iterator[Interval]:
    """What is left of the first without the others."""
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


def _print(intervals: Intervals) -> str:
    return ":".join(f"{a}-{b}" if b > a else f"{a}" for a, b in intervals)
