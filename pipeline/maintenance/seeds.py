"""Remove seeds that no run will load: refused and unfinished ones.

Seeds that silver has taken are kept forever, since rebuilding gold from scratch needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

from pipeline.lake import Lake, stores
from pipeline.silver.plan.seeds import begun_at, is_refused, read_seed, seed_ids

KEEP = timedelta(days=7)
"""How long a refused seed is kept for inspection, and an unfinished one may still be filled."""


def abandoned_seeds(lake: Lake, source: str, now: datetime) -> Iterator[str]:
    """Yield the ids of abandoned seeds. Raises SeedUnreadableError."""
    for seed in seed_ids(lake, source):
        begun = begun_at(seed)
        if begun is None or begun > now.astimezone(timezone.utc) - KEEP:
            continue
        if is_refused(lake, source, seed) or read_seed(lake, source, seed) is None:
            yield seed


def remove_abandoned_seeds(lake: Lake, source: str, now: datetime) -> int:
    """Remove abandoned seeds; return their number."""
    removed = 0
    # Check each just before removing it: removing the others may take minutes, in which a run may
    # finish it.
    for seed in abandoned_seeds(lake, source, now):
        stores.remove(f"{lake.seeds(source)}/{seed}")
        removed += 1
    return removed
