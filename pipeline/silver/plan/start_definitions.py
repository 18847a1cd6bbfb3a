"""Where in the log the tables that conf defines are declared, and in which batch that is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.catalog.timeline.start import Start, read_start
from pipeline.settings import Settings
from pipeline.silver.decode.segments import Mark, log_number, lsn_of


@dataclass(frozen=True, slots=True)
class Beginning:
    """The tables that conf or a server defines, as they are from `lsn` on; `server` is the version
    of the one that printed them, where that is not the log's."""

    lsn: int
    start: Start
    server: str = ""


def beginning(
    settings: Settings, ordinals: Mapping[str, int], begin: Mark, end: Mark, *, first: bool
) -> Beginning | None:
    """What is declared in the batch [`begin`, `end`), if anything is.

    That is the log's `first` one, or, where the dump names a place behind that, the one that comes
    over it. `ordinals`: of the files there are, by name.
    """
    if settings.definitions is None:
        return None
    start = read_start(settings.definitions)
    place = _place(start, ordinals)
    if first and (place is None or place <= begin):
        return Beginning(lsn_of(begin), start)
    if place is not None and begin < place <= end:
        return Beginning(lsn_of(place), start)
    return None


def _place(start: Start, ordinals: Mapping[str, int]) -> Mark | None:
    """Where the dump was taken; None for a place before all files, or if it does not tell."""
    if start.place is None or not ordinals:
        return None
    file, position = start.place
    if file in ordinals:
        return ordinals[file], position
    number = log_number(file)
    last = max(ordinals, key=lambda name: ordinals[name])
    behind = number - log_number(last)
    return None if behind < 0 else (ordinals[last] + behind, position)
