"""Which transactions a landed file tells of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from decoder.events.format_description import FormatDescriptionEvent
from decoder.framer import Framer
from decoder.head import read_description
from decoder.segments import Segmenter
from decoder.tally import Tally
from pipeline.bronze.gtids import GtidSet
from pipeline.bronze.listing import find_binlogs
from pipeline.bronze.logs import has_gtids

_WINDOW = 8 << 20
_SEGMENT = 64 << 20
"""Bytes behind which a place between transactions is noted; the last one is in any case."""


def gtids_of(path: Path) -> GtidSet | None:
    """Those of its whole transactions, and of all before it (PREVIOUS_GTIDS, or MariaDB's
    GTID_LIST). One whose end is not there is not among them. None where it is only begun, so that
    it tells nothing of what is before it."""
    listing = find_binlogs(str(path))
    if not listing.binlogs:
        return None
    (found,) = listing.binlogs
    segmenter = Segmenter(target=_SEGMENT, limit=_SEGMENT)
    for window in _windows(path):
        segmenter.feed(window)
    segmenter.finish()
    own = _tallied(path, segmenter.boundary.position)
    return GtidSet.of(found.head.previous_gtids, own)


def begins_with_gtids(path: Path) -> bool:
    """Whether all that its first events tell of transactions has GTIDs. A server that turns them on
    or off goes on in a new file."""
    return all(map(has_gtids, find_binlogs(str(path)).binlogs))


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
