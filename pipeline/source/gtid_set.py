"""GTID sets of MySQL and MariaDB, and the algebra on them.

MySQL writes intervals per source UUID and optional tag, `uuid:1-5:7:tag:1` (MySQL manual, "GTID
Sets"; tags since 8.3). MariaDB numbers the transactions of a domain in sequence across servers: its
set is the last number per domain and server, `0-1-5,0-2-7`, as in GTID_LIST and
`gtid_binlog_state` (MariaDB, "Global Transaction ID"); all numbers up to it belong to the set.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

Interval = tuple[int, int]
"""First and last number, inclusive."""
Intervals = tuple[Interval, ...]
"""Sorted, disjoint and not adjacent."""
DomainAndServer = tuple[int, int]
"""MariaDB's domain id and server id."""


@dataclass(frozen=True, slots=True)
class GtidSet:
    """A set of GTIDs: MySQL's intervals by source (`uuid` or `uuid:tag`), MariaDB's last numbers.

    Supports `bool` (not empty), `in` (for the text of one GTID), `|`, `&` and `-`. `str` returns
    the server's notation.
    """

    intervals: Mapping[str, Intervals] = field(default_factory=dict)
    last: Mapping[DomainAndServer, int] = field(default_factory=dict)

    @classmethod
    def of(cls, *texts: str | None) -> GtidSet:
        """Parse sets in text form and return their union. Raises ValueError if one is malformed."""
        intervals: defaultdict[str, list[Interval]] = defaultdict(list)
        last: dict[DomainAndServer, int] = {}
        for entry in ",".join(filter(None, texts)).replace("\n", "").split(","):
            entry = entry.strip()
            if ":" in entry:
                _read_mysql(entry, intervals)
            elif entry:
                domain, server, number = map(int, entry.split("-"))
                last[domain, server] = max(number, last.get((domain, server), 0))
        return cls({source: _merged(found) for source, found in intervals.items()}, last)

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
            source: _merged((*self.intervals.get(source, ()), *other.intervals.get(source, ())))
            for source in sources
        }
        places = {**self.last, **other.last}
        return GtidSet(both, {p: max(self.last.get(p, 0), other.last.get(p, 0)) for p in places})

    def __and__(self, other: GtidSet) -> GtidSet:
        both = {
            source: tuple(_intersection(found, other.intervals[source]))
            for source, found in self.intervals.items()
            if source in other.intervals
        }
        places = self.last.keys() & other.last.keys()
        return GtidSet(
            {source: found for source, found in both.items() if found},
            {p: min(self.last[p], other.last[p]) for p in places},
        )

    def __sub__(self, other: GtidSet) -> GtidSet:
        """Return the GTIDs that `other` lacks.

        If any of a MariaDB domain and server remain, all up to the last number remain: MariaDB's
        sets have no first number.
        """
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
        """Return True if `other` is a subset; MariaDB's compare by domain and server."""
        return not other - self

    @property
    def size(self) -> int:
        """Number of transactions; a superset always sorts after its subsets by it."""
        numbers = sum(end - first + 1 for found in self.intervals.values() for first, end in found)
        return numbers + sum(self._ends().values())

    def shares_no_origin_with(self, other: GtidSet) -> bool:
        """Return True if neither set is empty and they share no MySQL UUID or MariaDB domain."""
        return bool(self and other) and not self._origins() & other._origins()

    def lacking(self, wanted: GtidSet) -> str:
        """Describe the GTIDs of `wanted` that this set lacks; empty if it lacks none.

        MariaDB's compare by domain: a server restored from another server's backup does not know
        which servers wrote to its domain before.
        """
        mysql = str(GtidSet(wanted.intervals) - self)
        ends = self._ends()
        mariadb = (
            f"{domain}-{server}-{number} and earlier in domain {domain}"
            f" ({'from the start' if domain not in ends else f'after number {ends[domain]}'})"
            for (domain, server), number in sorted(wanted.last.items())
            if number > ends.get(domain, 0) and number == wanted._ends()[domain]
        )
        return ",".join(filter(None, [mysql, *mariadb]))

    def missing_by_server(self, wanted: GtidSet) -> str:
        """Do the same as `lacking`, but compare MariaDB's by domain and server, as `in` does."""
        return str(wanted - self)

    def restricted_to_servers_of(self, other: GtidSet) -> GtidSet:
        """Return MariaDB's GTIDs whose domain and server also occur in `other`."""
        return GtidSet(last={p: number for p, number in self.last.items() if p in other.last})

    def passed_unnamed_in(self, other: GtidSet) -> GtidSet:
        """Return MariaDB's GTIDs of servers missing in `other` whose domain has reached them there.

        A server restored from a backup may have these without knowing which server wrote them.
        """
        ends = other._ends()
        return GtidSet(
            last={
                place: number
                for place, number in self.last.items()
                if place not in other.last and number <= ends.get(place[0], 0)
            }
        )

    def no_further_than(self, other: GtidSet) -> GtidSet:
        """Return MariaDB's GTIDs up to the last number of their domain in `other`."""
        ends = other._ends()
        return GtidSet(last={p: n for p, n in self.last.items() if n <= ends.get(p[0], 0)})

    def not_reached_by(self, other: GtidSet) -> GtidSet:
        """Return the GTIDs that `other` lacks; MariaDB's compare by domain, as in `lacking`."""
        ends = other._ends()
        last = {place: n for place, n in self.last.items() if n > ends.get(place[0], 0)}
        return GtidSet((self - other).intervals, last)

    def last_of_domains(self) -> GtidSet:
        """Return MariaDB's last GTID of each domain."""
        ends = self._ends()
        return GtidSet(last={place: n for place, n in self.last.items() if n == ends[place[0]]})

    def includes_server(self, server_uuid: str, server_id: int) -> bool:
        """Return True if the server with this UUID (MySQL) or id (MariaDB) wrote any of them."""
        own = server_uuid.lower()
        uuids = {source.partition(":")[0] for source in self.intervals}
        return (bool(own) and own in uuids) or any(server == server_id for _, server in self.last)

    def outside_domains_of(self, other: GtidSet) -> GtidSet:
        """Return MariaDB's GTIDs of domains that `other` does not have."""
        ends = other._ends()
        return GtidSet(last={p: n for p, n in self.last.items() if p[0] not in ends})

    def of_server(self, server_id: int) -> GtidSet:
        """Return MariaDB's GTIDs of one server."""
        return GtidSet(last={p: number for p, number in self.last.items() if p[1] == server_id})

    def without_numbers_before_first_of(self, shown: GtidSet) -> GtidSet:
        """Return the set without MySQL's numbers below the first that `shown` has of their source.

        A server that logs another server's number 5 already had the numbers below it.
        """
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
        """Return MariaDB's last number of every domain."""
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
            raise ValueError(f"{entry!r} is not a GTID set")
        if part[0].isdigit():
            first, _, last = part.partition("-")
            intervals[source].append((int(first), int(last or first)))
        else:
            source = f"{uuid}:{part}"


def _merged(intervals: Iterable[Interval]) -> Intervals:
    """Return the intervals sorted, with overlapping and adjacent ones merged."""
    joined: list[Interval] = []
    for first, last in sorted(intervals):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return tuple(joined)


def _intersection(some: Intervals, others: Intervals) -> Iterator[Interval]:
    """Yield the intersection; both sides are sorted."""
    at = 0
    for first, last in some:
        while at < len(others) and others[at][1] < first:
            at += 1
        for begin, end in others[at:]:
            if begin > last:
                break
            yield max(first, begin), min(last, end)


def _subtract(wanted: Intervals, known: Intervals) -> Iterator[Interval]:
    """Yield the parts of `wanted` that are not in `known`."""
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
