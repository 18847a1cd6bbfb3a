"""Which transactions a landed file tells of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from decoder import Framer, Segmenter
from decoder.events.format_description import FormatDescriptionEvent
from decoder.segments.log_header import read_description
from decoder.segments.statistics import Tally
from pipeline.source.gtid_set import NO_GTIDS, GtidSet
from pipeline.source.logs.listing import Binlog, find_binlogs
from pipeline.source.logs.server_logs import has_gtids, is_only_begun

_WINDOW = 8 << 20
_SEGMENT = 64 << 20
"""Bytes behind which a place between transactions is noted; the last one is in any case."""


def gtids_of(path: Path) -> GtidSet | None:
    """Those of its whole transactions, and of all before it (PREVIOUS_GTIDS, or MariaDB's
    GTID_LIST). One whose end is not there is not among them. None where it is only begun, so that
    it tells nothing of what is before it."""
    found = _begun(path)
    if found is None:
        return None
    segmenter = Segmenter(target=_SEGMENT, limit=_SEGMENT)
    for window in _windows(path):
        segmenter.feed(window)
    segmenter.finish()
    own = _tallied(path, segmenter.boundary.position)
    return GtidSet.of(found.head.previous_gtids, own)


def gtids_before(path: Path | None) -> GtidSet:
    """Of the transactions before a file, as far as it tells. Where MariaDB's GTID_LIST does not
    have the domain of the file's first transaction, those are all up to that one's number: its
    server may have been set up from a copy."""
    found = None if path is None else _begun(path)
    if found is None:
        return NO_GTIDS
    listed, first = GtidSet.of(found.head.previous_gtids), found.head.first
    if first is None or first.gtid is None or ":" in first.gtid:
        return listed
    domain, server, number = map(int, first.gtid.split("-"))
    if any(known == domain for known, _ in listed.last):
        return listed
    return listed | GtidSet.of(f"{domain}-{server}-{number - 1}")


def begins_with_gtids(path: Path) -> bool:
    """Whether all that its first events tell of transactions has GTIDs. A server that turns them on
    or off goes on in a new file."""
    found = _begun(path)
    return found is not None and has_gtids(found)


def tells_what_is_before(path: Path) -> bool:
    """Whether so much of a file is there that those before it are not asked any more."""
    return _begun(path) is not None


def _begun(path: Path) -> Binlog | None:
    """A file as bronze lists it. None where it is no more than begun: MariaDB's may end between
    FORMAT_DESCRIPTION and GTID_LIST, and are logs all the same."""
    found = next(iter(find_binlogs(str(path)).binlogs), None)
    return None if found is None or is_only_begun(found) else found


def _tallied(path: Path, end: int) -> str:
    framer, tally = Framer(verify=False), Tally()
    description: FormatDescriptionEvent | None = None
    for window in _windows(path, end):
        description = description or read_description(window)
        tally.add(framer.feed(window), description)
    return tally.gtid_text


def _windows(path: Path, end: int | None = None) -> Iterator[bytes]:
    left = path.stat().st_size if end is None else end
    with path.open("rb") as log:
        while data := log.read(min(_WINDOW, left)):
            left -= len(data)
            yield data
