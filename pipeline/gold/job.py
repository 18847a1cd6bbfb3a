"""Gold's job: apply the changes in silver to gold's tables and publish a cut.

A cut is a consistent snapshot of all tables as of one commit (`pipeline.gold.plan.cut`).

spark-submit pipeline/gold/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.gold.carry_out import execute
from pipeline.gold.changes.drift import sentences
from pipeline.gold.plan.inspection import signed_session
from pipeline.gold.plan.rebuild import (
    WAITS,
    begin,
    is_resumed,
    is_stale,
    not_rebuilt,
    require_all_of_silver,
)
from pipeline.gold.plan.table_refresh import named, refreshed_in
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.planning import plan_next
from pipeline.gold.table.incomplete import incomplete_after_seed
from pipeline.gold.table.state import NO_LSN, GoldState
from pipeline.lake import Ledger
from pipeline.lake.starting import Spark, started
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.silver.plan.progress import require_same_types, silver_progress, silver_progress_ahead


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if any, then apply everything that is new in silver.

    Held tables are reported as faults in every run until they are released. Rebuild gold after a
    full refresh of silver, and resume a full refresh of gold that is under way.
    """
    return _run(spark, settings, progress)


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Do the same as `run`, and retry the changes that could not be applied."""
    return _run(spark, settings, progress, again=True)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Rebuild every table from silver, or only those in `settings.refresh_tables`.

    Resume a full refresh that is already under way. Raise RefreshRefusedError, and touch nothing,
    if silver no longer has all changes.
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
    with signed_session(spark) as session:
        return _signed(
            session,
            settings,
            progress,
            again=again,
            rebuild_all=rebuild_all,
            refresh_some=refresh_some,
        )


def _signed(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    again: bool,
    rebuild_all: bool,
    refresh_some: bool,
) -> LayerReport:
    """Run in a session whose commits are signed; `refresh_some`: rebuild the tables in settings."""
    began = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    require_same_types(ledger, settings)
    rebuild_all = (
        rebuild_all and ledger.last("gold") is not None and not is_resumed(ledger, settings)
    )
    if rebuild_all:
        require_all_of_silver(ledger)
    if rebuild_all or _is_due(ledger):
        _require_until(spark, settings, ledger)
    drifted = _drift(ledger)
    counts: Counter[str] = Counter()
    batches = []
    tried: GoldState | None = None
    if plan := ledger.resume_open("gold"):
        executed = execute(
            started(spark), settings, ledger, plan, progress, rebuild_all=rebuild_all
        )
        counts.update(executed.changes)
        batches.append(plan.batch)
        rebuild_all = rebuild_all and not executed.set_aside
    while rebuild_all or _is_due(ledger):
        _require_until(spark, settings, ledger)
        plan = begin(settings, ledger)
        executed = execute(started(spark), settings, ledger, plan, progress)
        counts.update(executed.changes)
        batches.append(plan.batch)
        rebuild_all = rebuild_all and not executed.set_aside
    built = GoldState.of(ledger).rebuild.under_way
    asked = named(settings, GoldState.of(ledger)) if refresh_some else set()
    while True:
        planned = plan_next(spark, settings, ledger, again=again, refresh=asked)
        again = False
        state = planned.previous
        if planned.following is None or planned.following == tried:
            break
        tried = planned.following
        plan = ledger.propose("gold", planned.following.to_body())
        executed = execute(started(spark), settings, ledger, plan, progress, planned.seen)
        counts.update(executed.changes)
        batches.append(plan.batch)
        asked -= refreshed_in(GoldState.from_body(plan.body), plan.batch)
        if executed.set_aside:
            continue
        state = GoldState.from_body(plan.body)
        if state == planned.following and not (planned.partly or executed.refused):
            break
        # Another run planned the batch first, so there may be more to apply. Or a table was
        # refused: it is held now, and can be applied up to that point.
    return LayerReport(
        layer="gold",
        batches=tuple(batches),
        counts={name: count for name, count in counts.items() if count},
        faults=(
            *state.held(),
            *incomplete_after_seed(settings.layout, settings.source, state, settings.wanted),
        ),
        notes=(
            *(sentences(drifted, _drift(ledger)) if batches else ()),
            *([f"Gold stops at {settings.until}: later transactions wait."] * planned.waits),
            *([WAITS] * planned.awaits_silver),
            *(not_rebuilt(settings, state) if built and not state.rebuild.under_way else ()),
        ),
        seconds=time.monotonic() - began,
    )


def _is_due(ledger: Ledger) -> bool:
    """Return True if a finished full refresh of silver requires gold to be rebuilt."""
    return is_stale(ledger) and not silver_progress_ahead(ledger).refresh.under_way


def _require_until(spark: Spark, settings: Settings, ledger: Ledger) -> None:
    """Raise SettingsError if silver does not have the position in `until`.

    Checked before gold is rebuilt, since a rebuild that cannot reach it would publish no cut.
    """
    silver = silver_progress(ledger).plan
    if settings.until is not None and silver is not None:
        last_wanted(spark, settings, NO_LSN, silver.cut_lsn)


def _drift(ledger: Ledger) -> Mapping[str, Any]:
    """Return the drift found so far, by table."""
    found: Mapping[str, Any] = (ledger.record("gold") or {}).get("drift", {})
    return found


if __name__ == "__main__":
    from pipeline.cli import main

    main("apply")
