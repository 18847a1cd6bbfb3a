"""Tables that are not complete although they were seeded: each run, and the status, report them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.gold.table.state import GoldState
from pipeline.lake import Lake
from pipeline.silver.plan.seeds import refusals
from pipeline.silver.plan.take_seeds import NEEDLESS, not_taken


def incomplete_after_seed(
    lake: Lake, source: str, state: GoldState, wanted: Callable[[str, str], bool]
) -> Iterator[str]:
    """Give a sentence for each of the wanted tables whose seed was refused, or did not make it
    complete, with what to do. One that is held is reported as that.

    Raises SeedUnreadableError.
    """
    whole = [name for name, table in state.tables.items() if table.complete]
    refused = refusals(lake, source, but=whole)
    for name, reason in sorted(refused.items()):
        if wanted(name.schema, name.table) and reason != NEEDLESS:
            yield not_taken(name, reason)
    for name, table in sorted(state.tables.items()):
        if table.complete or table.dropped or not table.seed or state.holds(table):
            continue
        if name not in refused and wanted(name.schema, name.table):
            yield f"{name} is not complete after its seed: {table.reason}"
