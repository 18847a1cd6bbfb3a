"""Bronze's job: ingest new bytes of the input files.

spark-submit pipeline/bronze/job.py --source NAME --binlogs PATH_OR_GLOB --lake DIR [--conf FILE]
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from pipeline.bronze.carry_out import Done, carry_out
from pipeline.bronze.continuity import accepted, gaps
from pipeline.bronze.copies import Committed, commits
from pipeline.bronze.files import FileRow, read_files
from pipeline.bronze.order import place
from pipeline.bronze.planning import next_body
from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import removed
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.lake.ledger.refill import position_before_refresh
from pipeline.lake.starting import Spark
from pipeline.observe import LayerReport, Progress
from pipeline.settings import Settings
from pipeline.source import find_binlogs
from pipeline.source.logs.encrypted import read_keys
from pipeline.source.logs.kept_statements import copy_captured_readings
from pipeline.source.logs.listing import Listing
from pipeline.spark.warm_kernels import warm_kernels

LAYER: Layer = "bronze"


def run(spark: Spark, settings: Settings, progress: Progress) -> LayerReport:
    """Finish the open batch, if there is one, then ingest everything new."""
    began = time.monotonic()
    warm_kernels(spark, progress)
    lake = settings.layout
    ledger = Ledger(spark, lake, settings.source)
    committed, removed_until = _lookup(spark, settings, ledger)
    done: list[Done] = []
    if plan := ledger.resume_open(LAYER):
        done.append(carry_out(spark, settings, ledger, plan, progress))
    while True:
        known = read_files(spark, lake, settings.source)
        listing = find_binlogs(settings.binlogs, read_keys(settings.encryption))
        order = place(listing.binlogs, known, _reached(ledger), committed, removed_until)
        _require_something(settings, listing, known)
        body = next_body(spark, settings, order.placed, known, ledger.last(LAYER), progress)
        if body is None:
            break
        plan = ledger.propose(LAYER, body)
        done.append(carry_out(spark, settings, ledger, plan, progress))
        known = list(done[-1].files)
        if plan.body == body and not body["more"]:
            break
    problems = copy_captured_readings(lake, settings.source, settings.binlogs, _begun(known))
    counts: Counter[str] = Counter()
    for batch in done:
        counts.update(batch.counts)
    return LayerReport(
        layer=LAYER,
        batches=tuple(batch.number for batch in done),
        counts=dict(counts),
        faults=(*listing.faults, *order.faults, *(row.fault for row in known if row.fault)),
        gaps=tuple(gaps(known, settings.given_up)),
        notes=(*listing.notes, *order.notes, *problems, *_accepted_gaps(known, settings)),
        seconds=time.monotonic() - began,
    )


def _lookup(spark: Spark, settings: Settings, ledger: Ledger) -> tuple[Committed, int]:
    """Return the lookup of the lake's transactions in silver, and until when silver's history was
    removed (see `order.place`); an empty lookup during a full refresh of silver."""
    if position_before_refresh(ledger) is not None:
        return (lambda _: None), 0
    return commits(spark, settings.layout, settings.source), removed(ledger).committed_at


def _reached(ledger: Ledger) -> int:
    """Return the ordinal of the last file that silver has reached, or had before a full refresh."""
    plan = ledger.open("silver") or ledger.last("silver")
    before, _ = position_before_refresh(ledger) or (0, 0)
    return max(int(plan.body["to"][0]), before) if plan else 0


def _begun(known: Sequence[FileRow]) -> int:
    """Return when the server began the first file, by its clock, in seconds since 1970."""
    return known[0].begun if known else 0


def _accepted_gaps(known: Sequence[FileRow], settings: Settings) -> list[str]:
    """Report accepted gaps in every run, since tables may differ from the source."""
    return [
        f"the gap after {row.file} (number {row.ordinal}) is accepted by given_up in conf: {gap}"
        for row, gap in accepted(known, settings.given_up)
    ]


def _require_something(settings: Settings, listing: Listing, known: Sequence[FileRow]) -> None:
    if not (known or listing.binlogs or listing.faults or listing.begun):
        raise SettingsError(
            f"no binary log found at {settings.inputs}.",
            key="binlogs",
            remedy=" ".join(listing.notes),
        )


if __name__ == "__main__":
    from pipeline.cli import main

    main("ingest")
