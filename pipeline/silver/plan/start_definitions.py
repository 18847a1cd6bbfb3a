"""Where in the log the tables that conf defines are declared, and in which batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.catalog.timeline.start import Start, read_start
from pipeline.settings import Settings
from pipeline.silver.decode.segments import Mark, log_number, lsn_of


@dataclass(frozen=True, slots=True)
class Beginning:
    """Tables as conf or a server defines them, from `lsn` on.

    `server` is the version of the server that printed them, if it is not the log's.
    """

    lsn: int
    start: Start
    server: str = ""


def beginning(
    settings: Settings, ordinals: Mapping[str, int], begin: Mark, end: Mark, *, first: bool
) -> Beginning | None:
    """Return the definitions to declare in the batch [`begin`, `end`), or None.

    They are declared in the log's `first` batch or, if the dump has a later position, in the batch
    that contains it. `ordinals` are those of the existing files, by name.
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
    """Return the dump's position; None if it is before all files, or not recorded."""
    if start.place is None or not ordinals:
        return None
    file, position = start.place
    if file in ordinals:
        return ordinals[file], position
    number = log_number(file)
    last = max(ordinals, key=lambda name: ordinals[name])
    offset = number - log_number(last)
    return None if offset < 0 else (ordinals[last] + offset, position)
