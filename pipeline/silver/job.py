"""Silver's job: decode bronze's segments up to the first gap.

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
from pipeline.silver.full_refresh import beginning_plan, require_refreshable, resumes_refresh
from pipeline.silver.plan.progress import require_same_types, silver_progress_ahead
from pipeline.silver.planning import next_plan, retry_plan
from pipeline.spark.warm_kernels import warm_kernels


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish an open batch, then decode everything new in bronze.

    A full refresh in progress is continued.
    """
    started = time.monotonic()
    warm_kernels(spark, progress)
    ledger = Ledger(spark, settings.layout, settings.source)
    require_same_types(ledger, settings)
    done = _finish_open(spark, settings, ledger, progress)
    return _decode(spark, settings, ledger, progress, done, started)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Decode everything again from bronze, or resume a refresh in progress with the same settings.

    Raises RefreshRefusedError if bronze no longer has everything; nothing is changed then.
    """
    started = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    if resumes_refresh(ledger, settings) or ledger.last("silver") is None:
        return run(spark, settings, progress)
    require_refreshable(spark, settings, ledger)
    warm_kernels(spark, progress)
    done = _finish_open(spark, settings, ledger, progress)
    started_refresh = False
    while not started_refresh and (body := beginning_plan(spark, settings, ledger)):
        plan = ledger.propose("silver", body.to_body())
        done.append(execute(spark, settings, ledger, plan, progress))
        # A concurrent run's plan may have come first.
        started_refresh = plan.body.get("begins") is not None
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
        # A concurrent run's plan came first, and may cover less than this run has seen. Or a full
        # refresh decodes the log one part at a time.
    return _report(done, found.gaps, started, found.notes, tuple(refused))


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish an open batch, then decode quarantined segments again and add what can now be decoded.

    A full refresh in progress decodes everything again anyway.
    """
    started = time.monotonic()
    ledger = Ledger(spark, settings.layout, settings.source)
    if silver_progress_ahead(ledger).refresh.under_way:
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
    plan = ledger.resume_open("silver")
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
