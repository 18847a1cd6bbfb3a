"""Gold's job: applies what silver has, and publishes the cut.

spark-submit pipeline/gold/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.gold.carry_out import execute
from pipeline.gold.changes.drift import sentences
from pipeline.gold.plan.inspection import signing
from pipeline.gold.plan.rebuild import WAITS, begin, goes_on, is_stale, require_all_of_silver, told
from pipeline.gold.plan.table_refresh import named, refreshed_in
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.planning import plan_next
from pipeline.gold.table.incomplete import incomplete_after_seed
from pipeline.gold.table.state import NO_LSN, GoldState
from pipeline.lake import Ledger
from pipeline.lake.starting import Spark, started
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.silver.plan.progress import require_same_types, silver_standing, silver_to_be


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then apply everything that is new in silver.

    What is held is told as a fault every time, until it is taken up. Where silver was decoded anew,
    gold is built anew; a full refresh that is under way goes on with that.
    """
    return _run(spark, settings, progress)


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """The same, and what could not be applied is tried again."""
    return _run(spark, settings, progress, again=True)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Build every table anew from silver, or go on with that if it is under way; or those tables
    alone that settings name.

    Raises RefreshRefusedError where silver does not have everything any more: nothing is touched.
    """
    some = bool(settings.refresh_tables)
    return _run(spark, settings, progress, anew=not some, some=some)


def _run(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    again: bool = False,
    anew: bool = False,
    some: bool = False,
) -> LayerReport:
    with signing(spark) as session:
        return _signed(session, settings, progress, again=again, anew=anew, some=some)


def _signed(
    spark: Spark,
    settings: Settings,
    progress: Progress,
    *,
    again: bool,
    anew: bool,
    some: bool,
) -> LayerReport:
    """`anew`: make all again, `some`: the tables that settings name."""
    began = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    require_same_types(ledger, settings)
    anew = anew and ledger.last("gold") is not None and not goes_on(ledger, settings)
    if anew:
        require_all_of_silver(ledger)
    if anew or _is_due(ledger):
        _require_until(spark, settings, ledger)
    drifted = _drift(ledger)
    counts: Counter[str] = Counter()
    batches = []
    tried: GoldState | None = None
    if plan := ledger.take_up("gold"):
        executed = execute(started(spark), settings, ledger, plan, progress, anew=anew)
        counts.update(executed.changes)
        batches.append(plan.batch)
        anew = anew and not executed.set_aside
    while anew or _is_due(ledger):
        _require_until(spark, settings, ledger)
        plan = begin(settings, ledger)
        executed = execute(started(spark), settings, ledger, plan, progress)
        counts.update(executed.changes)
        batches.append(plan.batch)
        anew = anew and not executed.set_aside
    built = GoldState.of(ledger).rebuild.under_way
    asked = named(settings, GoldState.of(ledger)) if some else set()
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
        # Another run's plan came first: what this run saw may be more than that. Or a table was
        # refused: it is held now, and can go on as far as that.
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
            *([f"It goes no further than {settings.until}: what is behind waits."] * planned.waits),
            *([WAITS] * planned.behind_silver),
            *(told(settings, state) if built and not state.rebuild.under_way else ()),
        ),
        seconds=time.monotonic() - began,
    )


def _is_due(ledger: Ledger) -> bool:
    """Whether gold is to be built anew since silver was decoded anew."""
    return is_stale(ledger) and not silver_to_be(ledger).refresh.under_way


def _require_until(spark: Spark, settings: Settings, ledger: Ledger) -> None:
    """Raise SettingsError for a place to stop at that silver does not have: before gold is begun
    anew, which could come to no cut then."""
    silver = silver_standing(ledger).plan
    if settings.until is not None and silver is not None:
        last_wanted(spark, settings, NO_LSN, silver.cut_lsn)


def _drift(ledger: Ledger) -> Mapping[str, Any]:
    """What the runs until now have found of each table."""
    found: Mapping[str, Any] = (ledger.record("gold") or {}).get("drift", {})
    return found


if __name__ == "__main__":
    from pipeline.cli import main

    main("apply")
