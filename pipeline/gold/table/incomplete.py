"""Tables that are not complete although they were seeded: reported by each run and the status."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.gold.table.state import GoldState
from pipeline.lake import Lake
from pipeline.silver.plan.stored_seeds import refusals
from pipeline.silver.plan.take_seeds import SEED_NOT_NEEDED, refused_seed


def incomplete_after_seed(
    lake: Lake, source: str, state: GoldState, wanted: Callable[[str, str], bool]
) -> Iterator[str]:
    """Yield a sentence with the remedy for each wanted table that its seed did not complete.

    Held tables are reported elsewhere.

    Raises SeedUnreadableError.
    """
    whole = [name for name, table in state.tables.items() if table.complete]
    refused = refusals(lake, source, but=whole)
    for name, reason in sorted(refused.items()):
        if wanted(name.schema, name.table) and reason != SEED_NOT_NEEDED:
            yield refused_seed(name, reason)
    for name, table in sorted(state.tables.items()):
        if table.complete or table.dropped or not table.seed or state.holds(table):
            continue
        if name not in refused and wanted(name.schema, name.table):
            yield f"{name} is incomplete although it has an initial snapshot: {table.reason}"
