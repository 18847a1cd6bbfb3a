"""Remove leftovers of interrupted runs: files in the scratch space, and seeds that no run loads.

Seeds that silver has taken are kept forever, since rebuilding gold from scratch needs them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone

from pipeline.lake import Lake, stores
from pipeline.silver.plan.stored_seeds import begun_at, is_refused, read_seed, seed_ids

KEEP = timedelta(days=7)
"""Longer than any batch takes: younger files may still be written, or be about to be committed. A
refused seed is kept that long for inspection, and an unfinished one may still be filled."""


def abandoned_scratch(lake: Lake, now: datetime) -> Iterator[str]:
    """Yield the abandoned folders, each of one run or commit; some are inside a source's folder."""
    before = now.astimezone(timezone.utc) - KEEP
    for folder in _in(lake.staging):
        if _is_older(folder, before):
            yield folder
        else:
            yield from (inner for inner in _in(folder) if _is_older(inner, before))


def abandoned_seeds(lake: Lake, source: str, now: datetime) -> Iterator[str]:
    """Yield the folders of refused and unfinished seeds. Raises SeedUnreadableError."""
    for seed in seed_ids(lake, source):
        begun = begun_at(seed)
        if begun is None or begun > now.astimezone(timezone.utc) - KEEP:
            continue
        if is_refused(lake, source, seed) or read_seed(lake, source, seed) is None:
            yield f"{lake.seeds(source)}/{seed}"


def remove(folders: Iterable[str]) -> int:
    """Remove folders; return their number.

    Each is found just before it is removed: removing the others may take minutes, in which a run
    may finish a seed.
    """
    removed = 0
    for folder in folders:
        stores.remove(folder)
        removed += 1
    return removed


def _in(folder: str) -> Iterator[str]:
    return (f"{folder}/{name}" for name in stores.names_in(folder))


def _is_older(folder: str, before: datetime) -> bool:
    written = stores.last_modified(folder)
    return written is not None and written < before
