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
from pipeline.bronze.copies import Committed, commits
from pipeline.bronze.files import read_files
from pipeline.bronze.newest_file import Freshness
from pipeline.bronze.order import place
from pipeline.bronze.tables import FileRow
from pipeline.errors import SettingsError
from pipeline.lake import Ledger
from pipeline.lake.ledger.history_removed import position_before_refresh, removed
from pipeline.lake.ledger.ledger_table import Layer
from pipeline.lake.starting import Spark
from pipeline.layer import Batches, LayerRun
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
    layer = LayerRun.begin(spark, settings, progress)
    batches = Batches(LAYER, layer, carry_out)
    warm_kernels(spark, progress)
    committed, removed_until = _lookup(layer)
    batches.finish_open()
    while True:
        known: Sequence[FileRow] = read_files(spark, layer.lake, layer.source)
        listing = find_binlogs(settings.binlogs, read_keys(settings.encryption))
        order = place(listing.binlogs, known, _reached(layer.ledger), committed, removed_until)
        _require_something(settings, listing, known)
        plan = next_plan(layer, order.placed, known)
        if plan is None:
            break
        body = plan.to_body()
        done = batches.propose(body)
        known = done.files
        if done.plan.body == body and not plan.more:
            break
    problems = copy_captured_readings(layer.lake, layer.source, settings.binlogs, _begun(known))
    freshness = Freshness.of(listing, settings.stale)
    report = batches.report(
        faults=(*listing.faults, *order.faults, *(row.fault for row in known if row.fault)),
        gaps=gaps(known, settings.given_up),
        notes=(*listing.notes, *order.notes, *problems, *_accepted_gaps(known, settings)),
    )
    return _with_freshness(report, freshness)


def _with_freshness(report: LayerReport, freshness: Freshness) -> LayerReport:
    """Return the report with the newest file; without anything new, a stale one is a fault."""
    report = replace(report, newest=freshness.newest)
    if report.worked:
        return report
    return replace(
        report,
        faults=(*report.faults, *freshness.faults(datetime.now(timezone.utc))),
        notes=(*report.notes, *freshness.notes()),
    )


def _lookup(run: LayerRun) -> tuple[Committed, int]:
    """Return the lookup of the lake's transactions in silver, and until when silver's history was
    removed (see `order.place`); an empty lookup during a full refresh of silver."""
    if position_before_refresh(run.ledger) is not None:
        return (lambda _: None), 0
    return commits(run.spark, run.lake, run.source), removed(run.ledger).committed_at


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
