"""Silver's job: decodes what bronze has, up to the first gap.

spark-submit pipeline/silver/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter

from pipeline.lake import Ledger
from pipeline.lake.starting import Spark
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.silver.carry_out import Done, execute
from pipeline.silver.full_refresh import beginning_plan, goes_on, require_refreshable
from pipeline.silver.plan.progress import require_same_types, silver_to_be
from pipeline.silver.planning import next_plan, retry_plan
from pipeline.spark.warm_kernels import warm_kernels


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then decode everything that is new in bronze.

    A full refresh that is under way goes on with that.
    """
    started = time.monotonic()
    warm_kernels(spark, progress)
    ledger = Ledger(spark, settings.layout, settings.source)
    require_same_types(ledger, settings)
    done = _finish_open(spark, settings, ledger, progress)
    return _decode(spark, settings, ledger, progress, done, started)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Decode everything anew, or go on with that if it is under way with these settings.

    Raises RefreshRefusedError where bronze does not have everything any more: nothing is touched.
    """
    started = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    if goes_on(ledger, settings) or ledger.last("silver") is None:
        return run(spark, settings, progress)
    require_refreshable(spark, settings, ledger)
    warm_kernels(spark, progress)
    done = _finish_open(spark, settings, ledger, progress)
    begun = False
    while not begun and (body := beginning_plan(spark, settings, ledger)):
        plan = ledger.propose("silver", body.to_body())
        done.append(execute(spark, settings, ledger, plan, progress))
        # Another run's plan may have come first.
        begun = plan.body.get("begins") is not None
    return _decode(spark, settings, ledger, progress, done, started)


def _decode(
    spark: Spark,
    settings: Settings,
    ledger: Ledger,
    progress: Progress,
    done: list[Done],
    started: float,
) -> LayerReport:
    refused: dict[str, None] = {}
    while True:
        found = next_plan(spark, settings, ledger, progress)
        refused |= dict.fromkeys(found.faults)
        if found.plan is None:
            break
        body = found.plan.to_body()
        plan = ledger.propose("silver", body)
        done.append(execute(spark, settings, ledger, plan, progress))
        if plan.body == body and not found.more:
            break
        # Another run's plan came first: what this run saw may be more than that. Or a full refresh
        # takes a part of the log at a time.
    return _report(done, found.gaps, started, found.notes, tuple(refused))


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, then decode again what faults hold, and give what now decodes.

    A full refresh that is under way decodes everything again anyway.
    """
    started = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    if silver_to_be(ledger).refresh.under_way:
        return run(spark, settings, progress)
    warm_kernels(spark, progress)
    require_same_types(ledger, settings)
    done = _finish_open(spark, settings, ledger, progress)
    body, gaps = retry_plan(spark, settings, ledger, progress)
    if body is not None:
        plan = ledger.propose("silver", body.to_body())
        done.append(execute(spark, settings, ledger, plan, progress))
    return _report(done, gaps, started)


def _finish_open(
    spark: Spark, settings: Settings, ledger: Ledger, progress: Progress
) -> list[Done]:
    plan = ledger.take_up("silver")
    return [execute(spark, settings, ledger, plan, progress)] if plan else []


def _report(
    done: list[Done],
    gaps: tuple[str, ...],
    started: float,
    notes: tuple[str, ...] = (),
    refused: tuple[str, ...] = (),
) -> LayerReport:
    counts: Counter[str] = Counter()
    for batch in done:
        counts.update(batch.counts)
    return LayerReport(
        layer="silver",
        batches=tuple(batch.batch for batch in done),
        counts=dict(counts),
        faults=(*(sentence for batch in done for sentence in batch.faults), *refused),
        gaps=gaps,
        notes=(*(sentence for batch in done for sentence in batch.notes), *notes),
        seconds=time.monotonic() - started,
    )


if __name__ == "__main__":
    from pipeline.cli import main

    main("decode")
