"""Gold's job: apply the changes in silver to gold's tables and publish a snapshot.

A published snapshot has all tables as of one commit (`pipeline.gold.plan.publication`).

spark-submit pipeline/gold/job.py --source NAME --lake DIR [--conf FILE]
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pipeline.gold.carry_out import Applied, carry_out
from pipeline.gold.changes.drift import sentences
from pipeline.gold.next_batch import Planned, plan_next
from pipeline.gold.plan.rebuild import (
    WAITS,
    beginning_state,
    is_resumed,
    is_stale,
    not_rebuilt,
    require_all_of_silver,
)
from pipeline.gold.plan.table_inspection import signed_session
from pipeline.gold.plan.table_refresh import named, refreshed_in
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.table.incomplete import incomplete_after_seed
from pipeline.gold.table.state import NO_LSN, GoldState
from pipeline.lake import Ledger
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.layer import Batches, LayerRun
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.silver.plan.progress import require_same_types, silver_progress, silver_progress_ahead

LAYER: Layer = "gold"


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if any, then apply silver's new changes.

    Held tables are reported as faults in every run until they are released. Rebuild gold after a
    full refresh of silver, and resume a full refresh of gold that is in progress.
    """
    return _run(spark, settings, progress)


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Do the same as `run`, and retry the changes that could not be applied."""
    return _run(spark, settings, progress, again=True)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Rebuild every table from silver, or only those in `settings.refresh_tables`.

    Resume a full refresh that is already in progress. Raise RefreshRefusedError without changing
    anything if silver no longer has all changes.
    """
    refresh_some = bool(settings.refresh_tables)
    return _run(spark, settings, progress, rebuild_all=not refresh_some, refresh_some=refresh_some)


def _run(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    again: bool = False,
    rebuild_all: bool = False,
    refresh_some: bool = False,
) -> LayerReport:
    """Run in a session whose commits are signed; `refresh_some`: rebuild the tables in settings."""
    with signed_session(spark) as session:
        layer = LayerRun.begin(session, settings, progress)
        batches = Batches(LAYER, layer, carry_out)
        require_same_types(layer.ledger, settings)
        drifted = _drift(layer.ledger)
        _begin(layer, batches, rebuild_all=rebuild_all)
        built = GoldState.of(layer.ledger).rebuild.under_way
        planned = _catch_up(layer, batches, again=again, refresh_some=refresh_some)
        state = GoldState.of(layer.ledger)
        rebuilt = built and not state.rebuild.under_way
        return batches.report(
            faults=(
                *state.held(),
                *incomplete_after_seed(layer.lake, layer.source, state, settings.wanted),
            ),
            notes=(
                *sentences(drifted, _drift(layer.ledger)),
                *([f"Gold stops at {settings.until}: later transactions wait."] * planned.waits),
                *([WAITS] * planned.awaits_silver),
                *(not_rebuilt(settings, state) if rebuilt else ()),
            ),
        )


def _begin(run: LayerRun, batches: Batches[Applied], *, rebuild_all: bool) -> None:
    """Finish the open batch; begin a full refresh if due, or if requested and not in progress."""
    ledger, settings = run.ledger, run.settings
    begun = ledger.last(LAYER) is not None
    rebuild_all = rebuild_all and begun and not is_resumed(ledger, settings)
    if rebuild_all:
        require_all_of_silver(ledger)
    if rebuild_all or _is_due(ledger):
        _require_until(run)
    done = batches.finish_open(partial(carry_out, rebuild_all=rebuild_all))
    rebuild_all = rebuild_all and not (done and done.set_aside)
    while rebuild_all or _is_due(ledger):
        _require_until(run)
        done = batches.propose(beginning_state(settings, ledger).to_body())
        rebuild_all = rebuild_all and not done.set_aside


def _catch_up(
    run: LayerRun, batches: Batches[Applied], *, again: bool, refresh_some: bool
) -> Planned:
    """Plan and apply batches until nothing is left to apply; return the last plan."""
    asked = named(run.settings, GoldState.of(run.ledger)) if refresh_some else set()
    tried: GoldState | None = None
    while True:
        planned = plan_next(run, again=again, refresh=asked)
        again = False
        if planned.following is None or planned.following == tried:
            return planned
        tried = planned.following
        done = batches.propose(tried.to_body(), partial(carry_out, seen=planned.seen))
        state = GoldState.from_body(done.plan.body)
        asked -= refreshed_in(state, done.plan.batch)
        # If another run planned the batch first, changes remain to be applied; a table that was
        # refused is held now, and can be applied up to that point.
        if state == tried and not (done.set_aside or done.refused or planned.partly):
            return planned


def _is_due(ledger: Ledger) -> bool:
    """Return True if a finished full refresh of silver requires gold to be rebuilt."""
    return is_stale(ledger) and not silver_progress_ahead(ledger).refresh.under_way


def _require_until(run: LayerRun) -> None:
    """Raise SettingsError if silver does not have the position in `until`.

    Checked before gold is rebuilt, since a rebuild that cannot reach it would publish no snapshot.
    """
    silver = silver_progress(run.ledger).plan
    if silver is not None:
        last_wanted(run, run.settings.until, NO_LSN, silver.last_lsn)


def _drift(ledger: Ledger) -> Mapping[str, Any]:
    """Return the drift found so far, by table."""
    found: Mapping[str, Any] = (ledger.record(LAYER) or {}).get("drift", {})
    return found


if __name__ == "__main__":
    from pipeline.cli import main

    main("apply")
