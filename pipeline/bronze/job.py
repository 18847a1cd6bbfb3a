"""Bronze's job: ingests what is new among the input files.

spark-submit pipeline/bronze/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from pyspark.sql import SparkSession

from pipeline.bronze.batch import Done, carry_out
from pipeline.bronze.continuity import accepted, gaps
from pipeline.bronze.copies import commits
from pipeline.bronze.encrypted import read_keys
from pipeline.bronze.files import FileRow, read_files
from pipeline.bronze.listing import Listing, find_binlogs
from pipeline.bronze.order import place
from pipeline.bronze.planning import next_body
from pipeline.errors import SettingsError
from pipeline.interpreted import looking
from pipeline.kernels import warm_kernels
from pipeline.ledger import Layer, Ledger
from pipeline.progress import Progress
from pipeline.removed import removed
from pipeline.report import LayerReport
from pipeline.settings import Settings

LAYER: Layer = "bronze"


def run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then ingest everything that is new."""
    # Rows are few in all that bronze does: Python reads the files, and a row is a segment.
    with looking(spark) as session:
        return _run(session, settings, progress)


def _run(spark: SparkSession, settings: Settings, progress: Progress) -> LayerReport:
    began = time.monotonic()
    warm_kernels(spark, progress)
    lake = settings.layout
    ledger = Ledger(spark, lake, settings.source)
    gone_until = removed(ledger).committed_at
    done: list[Done] = []
    if plan := ledger.take_up(LAYER):
        done.append(carry_out(spark, lake, ledger, plan, progress, settings.encryption))
    while True:
        known = read_files(spark, lake, settings.source)
        listing = find_binlogs(settings.binlogs, read_keys(settings.encryption))
        committed = commits(spark, lake, settings.source)
        order = place(listing.binlogs, known, _reached(ledger), committed, gone_until)
        _require_something(settings, listing, known)
        body = next_body(spark, settings, order.placed, known, ledger.last(LAYER), progress)
        if body is None:
            break
        plan = ledger.propose(LAYER, body)
        done.append(carry_out(spark, lake, ledger, plan, progress, settings.encryption))
        known = list(done[-1].files)
        if plan.body == body and not body["more"]:
            break
    counts: Counter[str] = Counter()
    for batch in done:
        counts.update(batch.counts)
    return LayerReport(
        layer=LAYER,
        batches=tuple(batch.number for batch in done),
        counts=dict(counts),
        faults=(*listing.faults, *order.faults, *(row.fault for row in known if row.fault)),
        gaps=tuple(gaps(known, settings.given_up)),
        notes=(*listing.notes, *order.notes, *_given_up(known, settings)),
        seconds=time.monotonic() - began,
    )


def _reached(ledger: Ledger) -> int:
    """The ordinal of the file that silver has come to."""
    plan = ledger.open("silver") or ledger.last("silver")
    return int(plan.body["to"][0]) if plan else 0


def _given_up(known: Sequence[FileRow], settings: Settings) -> list[str]:
    """What conf accepts is told every time, since tables may not be as the source's."""
    return [
        f"what is missing behind {row.file} (number {row.ordinal}) was given up: {gap}"
        for row, gap in accepted(known, settings.given_up)
    ]


def _require_something(settings: Settings, listing: Listing, known: Sequence[FileRow]) -> None:
    if not (known or listing.binlogs or listing.faults or listing.begun):
        raise SettingsError(
            f"there is no binary log at {settings.binlogs}.",
            key="binlogs",
            remedy=" ".join(listing.notes),
        )


if __name__ == "__main__":
    from pipeline.cli import main

    main("ingest")
