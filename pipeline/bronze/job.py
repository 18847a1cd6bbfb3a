"""Bronze's job: ingest new bytes of the input files.

spark-submit pipeline/bronze/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone

from pipeline.bronze.batch_plan import next_plan
from pipeline.bronze.carry_out import carry_out
from pipeline.bronze.continuity import accepted, gaps
from pipeline.bronze.inputs import earlier_transactions, find_input
from pipeline.bronze.newest_file import InputAge
from pipeline.bronze.tables import FileRow
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.layer import Batches, LayerRun
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.source.logs.kept_statements import copy_captured_readings
from pipeline.spark.warm_kernels import warm_kernels

LAYER: Layer = "bronze"


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then ingest everything new."""
    layer = LayerRun.begin(spark, settings, progress)
    batches = Batches(LAYER, layer, carry_out)
    warm_kernels(spark, progress)
    earlier = earlier_transactions(layer)
    batches.finish_open()
    while True:
        found = find_input(layer, earlier)
        known, listing, order = found.known, found.listing, found.order
        plan = next_plan(layer, order.placed, known)
        if plan is None:
            break
        body = plan.to_body()
        done = batches.propose(body)
        known = done.files
        if done.plan.body == body and not plan.more:
            break
    problems = copy_captured_readings(layer.lake, layer.source, settings.binlogs, _begun(known))
    freshness = InputAge.of(listing, settings.stale)
    report = batches.report(
        faults=(*listing.faults, *order.faults, *(row.fault for row in known if row.fault)),
        gaps=gaps(known, settings.given_up),
        notes=(*listing.notes, *order.notes, *problems, *_accepted_gaps(known, settings)),
    )
    return _with_freshness(report, freshness)


def _with_freshness(report: LayerReport, freshness: InputAge) -> LayerReport:
    """Return the report with the newest file; without anything new, a stale one is a fault."""
    report = replace(report, newest=freshness.newest)
    if report.worked:
        return report
    return replace(
        report,
        faults=(*report.faults, *freshness.faults(datetime.now(timezone.utc))),
        notes=(*report.notes, *freshness.notes()),
    )


def _begun(known: Sequence[FileRow]) -> int:
    """Return when the server began the first file, by its clock, in seconds since 1970."""
    return known[0].begun if known else 0


def _accepted_gaps(known: Sequence[FileRow], settings: Settings) -> list[str]:
    """Report accepted gaps in every run, since tables may differ from the source."""
    return [
        f"the gap after {row.file} (number {row.ordinal}) is accepted by given_up in the settings:"
        f" {gap}"
        for row, gap in accepted(known, settings.given_up)
    ]


if __name__ == "__main__":
    from pipeline.cli import main

    main("ingest")
