"""Bronze's next plan: scan the input, and decide what to do with every file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.bronze.batch_plan import expected_size, plan_file, tasks, to_body
from pipeline.bronze.files import FileRow
from pipeline.bronze.order import Placed
from pipeline.bronze.scan import scan_all
from pipeline.bronze.verdict import Successor
from pipeline.layer import LayerRun
from pipeline.spark.engine import engine_of


def next_body(
    run: LayerRun, placed: Sequence[Placed], known: Sequence[FileRow]
) -> dict[str, Any] | None:
    """Return the body of the layer's next plan; None if nothing is new."""
    settings, last = run.settings, run.ledger.last("bronze")
    batch = last.batch + 1 if last else 1
    successors = {
        row.ordinal - 1: Successor(row.file, row.restarted, row.previous_gtids) for row in known
    }
    successors |= {
        file.ordinal - 1: Successor(
            file.binlog.stored.name, file.binlog.head.restarted, file.binlog.head.previous_gtids
        )
        for file in placed
    }
    to_read, more = tasks(placed, settings.segments, succeeded=set(successors))
    engine = engine_of(run.spark, settings, sum(expected_size(file) for file, _ in to_read))
    with run.progress.task("bronze: reading files", len(to_read), "files") as task:
        scans = scan_all(engine, [scan_task for _, scan_task in to_read], task)
    planned = (
        plan_file(settings.source, file, scans[index], successors.get(file.ordinal), batch=batch)
        for index, (file, _) in enumerate(to_read)
        if index in scans
    )
    files = [file for file in planned if file is not None]
    if not files:
        return None
    part_size, limit = int(settings.segments.target), int(settings.segments.limit)
    return to_body(files, part_size=part_size, limit=limit, more=more)
