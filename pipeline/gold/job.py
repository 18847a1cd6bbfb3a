"""Gold's job: applies what silver has, and publishes the cut.

spark-submit pipeline/gold/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from pipeline.gold.batch import execute
from pipeline.gold.drift import sentences
from pipeline.gold.planning import plan_next
from pipeline.gold.state import GoldState
from pipeline.interpreted import looking
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.report import LayerReport
from pipeline.settings import Settings
from pipeline.silver.planning import require_same_types


def run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then apply everything that is new in silver.

    What is held is told as a fault every time, until it is taken up.
    """
    return _run(spark, settings, progress, again=False)


def retry(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """The same, and what could not be applied is tried again."""
    return _run(spark, settings, progress, again=True)


def _run(
    spark: SparkSession, settings: Settings, progress: Progress, *, again: bool
) -> LayerReport:
    with looking(spark) as session:
        ledger = Ledger(session, settings.layout, settings.source)
        return _apply(spark, settings, progress, ledger, again=again)


def _apply(
    spark: SparkSession, settings: Settings, progress: Progress, ledger: Ledger, *, again: bool
) -> LayerReport:
    started = time.monotonic()
    require_same_types(ledger, settings)
    drifted = _drift(ledger)
    counts: Counter[str] = Counter()
    batches = []
    tried: GoldState | None = None
    if plan := ledger.take_up("gold"):
        counts.update(execute(spark, settings, ledger, plan, progress).changes)
        batches.append(plan.batch)
    while True:
        planned = plan_next(spark, settings, ledger, again=again)
        again = False
        state = planned.previous
        if planned.following is None or planned.following == tried:
            break
        tried = planned.following
        plan = ledger.propose("gold", planned.following.to_body())
        executed = execute(spark, settings, ledger, plan, progress, planned.seen)
        counts.update(executed.changes)
        batches.append(plan.batch)
        state = GoldState.from_body(plan.body)
        if state == planned.following and not (planned.partly or executed.refused):
            break
        # Another run's plan came first: what this run saw may be more than that. Or a table was
        # refused: it is held now, and can go on as far as that.
    return LayerReport(
        layer="gold",
        batches=tuple(batches),
        counts={name: count for name, count in counts.items() if count},
        faults=tuple(state.held()),
        notes=(
            *(sentences(drifted, _drift(ledger)) if batches else ()),
            *([f"It goes no further than {settings.until}: what is behind waits."] * planned.waits),
        ),
        seconds=time.monotonic() - started,
    )


def _drift(ledger: Ledger) -> Mapping[str, Any]:
    """What the runs until now have found of each table."""
    found: Mapping[str, Any] = (ledger.record("gold") or {}).get("drift", {})
    return found


if __name__ == "__main__":
    from pipeline.cli import main

    main("apply")
