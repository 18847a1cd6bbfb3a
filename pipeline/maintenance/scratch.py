"""Remove files that interrupted runs have left in the lake's scratch space."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from pipeline.lake import Lake, stores

KEEP = timedelta(days=7)
"""Longer than any batch takes: younger files may still be written, or be about to be committed."""


def abandoned_scratch(lake: Lake, now: datetime) -> Iterator[str]:
    """Yield the abandoned folders, each of one run or commit; some are inside a source's folder."""
    before = now.astimezone(timezone.utc) - KEEP
    for folder in _in(lake.staging):
        if _is_older(folder, before):
            yield folder
        else:
            yield from (inner for inner in _in(folder) if _is_older(inner, before))


def remove_abandoned_scratch(lake: Lake, now: datetime) -> int:
    """Remove the abandoned folders; return their number."""
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
