"""Seeds that no run will take any more: refused ones, and those that were never finished.

Seeds that silver has taken stay, whatever came behind them: gold that is built anew passes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from pipeline.lake import Lake, stores
from pipeline.silver.plan.seeds import begun_at, is_refused, read_seed, seed_ids

KEEP = timedelta(days=7)
"""So long a refused seed can be looked at, and one that is being filled is left alone."""


def abandoned_seeds(lake: Lake, source: str, now: datetime) -> Iterator[str]:
    """Their ids. Raises SeedUnreadableError."""
    for seed in seed_ids(lake, source):
        begun = begun_at(seed)
        if begun is None or begun > now.astimezone(timezone.utc) - KEEP:
            continue
        if is_refused(lake, source, seed) or read_seed(lake, source, seed) is None:
            yield seed


def remove_abandoned_seeds(lake: Lake, source: str, now: datetime) -> int:
    """How many were removed; another run may have been quicker with some."""
    removed = 0
    # Each is looked at right before: while others go, which may take minutes, one may be finished.
    for seed in abandoned_seeds(lake, source, now):
        stores.remove(f"{lake.seeds(source)}/{seed}")
        removed += 1
    return removed
