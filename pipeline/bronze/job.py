"""Bronze's job: ingests what is new among the input files.

spark-submit pipeline/bronze/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time

from pyspark.sql import SparkSession

from pipeline.bronze.batch import carry_out
from pipeline.bronze.files import gaps, read_files
from pipeline.bronze.listing import find_binlogs
from pipeline.bronze.order import place
from pipeline.bronze.planning import next_body
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.ledger import Layer, Ledger
from pipeline.progress import Progress
from pipeline.report import LayerReport
from pipeline.settings import Settings

LAYER: Layer = "bronze"


def run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then ingest everything that is new."""
    began = time.monotonic()
    lake = Lake(settings.lake)
    ledger = Ledger(spark, lake, settings.source)
    batches: list[int] = []
    counts: dict[str, int] = {}
    plan = ledger.open(LAYER)
    while True:
        if plan is not None:
            for name, number in carry_out(spark, lake, ledger, plan, progress).items():
                counts[name] = counts.get(name, 0) + number
            batches.append(plan.batch)
        known = read_files(spark, lake, settings.source)
        listing = find_binlogs(settings.binlogs)
        order = place(listing.binlogs, known)
        if not (known or order.placed or listing.faults):
            raise SettingsError(
                f"there is no binary log at {settings.binlogs}.",
                key="binlogs",
                remedy="; ".join((*listing.notes, *order.notes)),
            )
        body = next_body(spark, settings, order.placed, known, ledger.last(LAYER), progress)
        if body is None:
            break
        plan = ledger.propose(LAYER, body)
    damaged = tuple(row.fault for row in known if row.fault is not None)
    return LayerReport(
        layer=LAYER,
        batches=tuple(batches),
        counts=counts,
        faults=(*listing.faults, *order.faults, *damaged),
        gaps=tuple(gaps(known)),
        notes=(*listing.notes, *order.notes),
        seconds=time.monotonic() - began,
    )


if __name__ == "__main__":
    from pipeline.cli import main

    main("ingest")
