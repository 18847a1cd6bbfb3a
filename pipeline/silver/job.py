"""Silver's job: decode bronze's segments up to the first gap.

spark-submit pipeline/silver/job.py --source NAME --lake DIR [--conf FILE]
"""

from __future__ import annotations

from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.layer import Batches, Done, LayerRun
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.silver.carry_out import carry_out
from pipeline.silver.full_refresh import beginning_plan, require_refreshable, resumes_refresh
from pipeline.silver.next_batch import next_plan, retry_plan
from pipeline.silver.plan.progress import require_same_types, silver_progress_ahead
from pipeline.spark.warm_kernels import warm_kernels

LAYER: Layer = "silver"


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish an open batch, then decode everything new in bronze.

    A full refresh in progress is continued.
    """
    layer = LayerRun.begin(spark, settings, progress)
    batches = Batches(LAYER, layer, carry_out)
    warm_kernels(spark, progress)
    require_same_types(layer.ledger, settings)
    batches.finish_open()
    return _decode_new(layer, batches)


def refresh(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Decode everything again from bronze, or resume a refresh in progress with the same settings.

    Raises RefreshRefusedError if bronze no longer has everything; nothing is changed then.
    """
    layer = LayerRun.begin(spark, settings, progress)
    batches = Batches(LAYER, layer, carry_out)
    if resumes_refresh(layer) or layer.ledger.last(LAYER) is None:
        return run(spark, settings, progress)
    require_refreshable(layer)
    warm_kernels(spark, progress)
    batches.finish_open()
    while beginning := beginning_plan(layer):
        # A concurrent run's plan may come first.
        if batches.propose(beginning.to_body()).plan.body.get("begins") is not None:
            break
    return _decode_new(layer, batches)


def _decode_new(layer: LayerRun, batches: Batches[Done]) -> LayerReport:
    refused: dict[str, None] = {}
    while True:
        found = next_plan(layer)
        refused |= dict.fromkeys(found.faults)
        if found.plan is None:
            break
        body = found.plan.to_body()
        if batches.propose(body).plan.body == body and not found.more:
            break
        # A concurrent run's plan came first, and may cover less than this run has seen. Or a full
        # refresh decodes the log one part at a time.
    return batches.report(faults=refused, gaps=found.gaps, notes=found.notes)


def retry(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish an open batch, then decode quarantined segments again and add what can now be decoded.

    A full refresh in progress decodes everything again anyway.
    """
    layer = LayerRun.begin(spark, settings, progress)
    batches = Batches(LAYER, layer, carry_out)
    if silver_progress_ahead(layer.ledger).refresh.under_way:
        return run(spark, settings, progress)
    warm_kernels(spark, progress)
    require_same_types(layer.ledger, settings)
    batches.finish_open()
    plan, gaps = retry_plan(layer)
    if plan is not None:
        batches.propose(plan.to_body())
    return batches.report(gaps=gaps)


if __name__ == "__main__":
    from pipeline.cli import main

    main("decode")
