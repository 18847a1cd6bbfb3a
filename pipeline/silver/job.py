"""Silver's job: decodes what bronze has, up to the first gap.

spark-submit pipeline/silver/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter

from pyspark.sql import SparkSession

from pipeline.interpreted import looking
from pipeline.kernels import warm_kernels
from pipeline.ledger import Ledger
from pipeline.progress import Progress
from pipeline.report import LayerReport
from pipeline.settings import Settings
from pipeline.silver.batch import Done, execute
from pipeline.silver.planning import next_plan, require_same_types, retry_plan


def run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then decode everything that is new in bronze."""
    started = time.monotonic()
    warm_kernels(spark, progress)
    with looking(spark) as session:
        ledger = Ledger(session, settings.layout, settings.source)
        require_same_types(ledger, settings)
        done = _finish_open(spark, settings, ledger, progress)
        while True:
            wanted, gaps = next_plan(session, settings, ledger, progress)
            if wanted is None:
                break
            body = wanted.to_body()
            plan = ledger.propose("silver", body)
            done.append(execute(spark, settings, ledger, plan, progress))
            if plan.body == body:
                break
            # Another run's plan came first: what this run saw may be more than that.
    return _report(done, gaps, started)


def retry(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, then decode again what faults hold, and give what now decodes."""
    started = time.monotonic()
    warm_kernels(spark, progress)
    ledger = Ledger(spark, settings.layout, settings.source)
    require_same_types(ledger, settings)
    done = _finish_open(spark, settings, ledger, progress)
    body, gaps = retry_plan(spark, settings, ledger, progress)
    if body is not None:
        plan = ledger.propose("silver", body.to_body())
        done.append(execute(spark, settings, ledger, plan, progress))
    return _report(done, gaps, started)


def _finish_open(
    spark: SparkSession, settings: Settings, ledger: Ledger, progress: Progress
) -> list[Done]:
    plan = ledger.take_up("silver")
    return [execute(spark, settings, ledger, plan, progress)] if plan else []


def _report(done: list[Done], gaps: tuple[str, ...], started: float) -> LayerReport:
    counts: Counter[str] = Counter()
    for batch in done:
        counts.update(batch.counts)
    return LayerReport(
        layer="silver",
        batches=tuple(batch.batch for batch in done),
        counts=dict(counts),
        faults=tuple(sentence for batch in done for sentence in batch.faults),
        gaps=gaps,
        notes=tuple(sentence for batch in done for sentence in batch.notes),
        seconds=time.monotonic() - started,
    )


if __name__ == "__main__":
    from pipeline.cli import main

    main("decode")
