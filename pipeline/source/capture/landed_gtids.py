"""The GTIDs in a landed file, and of the transactions before it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from decoder import Framer, Segmenter
from decoder.events import FormatDescriptionEvent
from decoder.segments import EventStatistics, read_description
from pipeline.source.gtid_set import NO_GTIDS, GtidSet
from pipeline.source.logs.listing import Binlog, find_binlogs
from pipeline.source.logs.server_logs import has_gtids, is_only_begun
from pipeline.source.logs.storage import read_windows

_SEGMENT = 64 << 20
"""Bytes after which a boundary between transactions is recorded; the last one always is."""


def gtids_of(path: Path) -> GtidSet | None:
    """Return the GTIDs of a file's complete transactions, and of all before it.

    The latter are in PREVIOUS_GTIDS, or MariaDB's GTID_LIST. None if the file was only just
    created and does not contain them yet.
    """
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
    """Return the GTIDs of the transactions before a file, as far as it records them.

    If MariaDB's GTID_LIST lacks the domain of the file's first transaction, all up to that one's
    number are included: the server may have been restored from a backup.
    """
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
    """Return True if a file's first events have GTIDs.

    A server that turns GTIDs on or off begins a new file.
    """
    found = _begun(path)
    return found is not None and has_gtids(found)


def has_previous_gtids(path: Path) -> bool:
    """Return True if a file is complete enough that the files before it are not needed."""
    return _begun(path) is not None


def _begun(path: Path) -> Binlog | None:
    """Return a file as bronze lists it; None if it was only just created.

    MariaDB's may end between FORMAT_DESCRIPTION and GTID_LIST, and are listed nevertheless.
    """
    found = next(iter(find_binlogs(str(path)).binlogs), None)
    return None if found is None or is_only_begun(found) else found


def _tallied(path: Path, end: int) -> str:
    framer, tally = Framer(verify=False), EventStatistics()
    description: FormatDescriptionEvent | None = None
    for window in _windows(path, end):
        description = description or read_description(window)
        tally.add(framer.feed(window), description)
    return tally.gtid_text


def _windows(path: Path, end: int | None = None) -> Iterator[bytes]:
    with path.open("rb") as log:
        yield from read_windows(log, end)
