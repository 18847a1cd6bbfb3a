"""Preview of silver's next run, by bronze's records: nothing is decoded."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.layer import LayerRun
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.silver.plan import take_seeds as seeding
from pipeline.silver.plan.new_segments import new_segments
from pipeline.silver.plan.progress import silver_progress
from pipeline.silver.plan.survey import tables_named


@dataclass(frozen=True, slots=True)
class SilverPreview:
    """The work of silver's next run.

    `open_batch`: the batch that an earlier run left unfinished, which is finished first; its
    segments count as not decoded. `segments`, `bytes`, `transactions`: the totals that bronze has
    and silver lacks, up to the first of `gaps`; `transactions` is None if bronze has not counted
    them. `tables` have rows there, by bronze's excerpts; `unnamed_segments` have no excerpt. The
    number of rows is unknown until they are decoded. `seeds`: tables whose initial snapshot has
    been read but not loaded.
    """

    open_batch: int | None
    segments: int
    bytes: int
    transactions: int | None
    tables: tuple[str, ...]
    unnamed_segments: int
    seeds: tuple[str, ...]
    gaps: tuple[str, ...]


def preview(run: LayerRun) -> SilverPreview:
    """Return what a run would decode; writes nothing."""
    of_source, open_plan = (run.spark, run.lake, run.source), run.ledger.open("silver")
    before = silver_progress(run.ledger).plan
    new = new_segments(*of_source, before, run.settings.given_up)
    counts = [ref.transactions for ref in new.segments]
    names, unnamed = tables_named(run, new.segments)
    waiting = seeding.waiting(run.settings, read_items(*of_source))
    return SilverPreview(
        open_batch=open_plan.batch if open_plan else None,
        segments=len(new.segments),
        bytes=sum(ref.size for ref in new.segments),
        transactions=None if None in counts else sum(filter(None, counts)),
        tables=tuple(sorted(map(str, names))),
        unnamed_segments=unnamed,
        seeds=tuple(sorted(str(seed.name) for seed in waiting)),
        gaps=new.gaps,
    )
