"""Files that runs which died have left in the lake's scratch space, and that nobody will remove."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from pipeline.lake import Lake, stores

KEEP = timedelta(days=7)
"""Longer than any batch takes: what is younger may be written, or be about to be committed."""


def abandoned_scratch(lake: Lake, now: datetime) -> Iterator[str]:
    """The folders: of one run or commit each, some of them by source."""
    before = now.astimezone(timezone.utc) - KEEP
    for folder in _in(lake.staging):
        if _is_older(folder, before):
            yield folder
        else:
            yield from (inner for inner in _in(folder) if _is_older(inner, before))


def remove_abandoned_scratch(lake: Lake, now: datetime) -> int:
    """How many were removed."""
    removed = 0
    for folder in abandoned_scratch(lake, now):
        stores.remove(folder)
        removed += 1
    return removed


def _in(folder: str) -> Iterator[str]:
    return (f"{folder}/{name}" for name in stores.names_in(folder))


def _is_older(folder: str, before: datetime) -> bool:
    written = stores.last_modified(folder)
    return written is not None and written < before
