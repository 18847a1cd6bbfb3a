"""Compare what the survey finds in segments' excerpts in bronze with what it finds in their
bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from decoder import Segment, TypeOptions
from pipeline.bronze.ingest import PlannedSegment, segment_rows
from pipeline.bronze.scan import ScanTask, scan
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.plan.survey import Survey
from tests.support.bronze.bronze_rows import file_row

Row = dict[str, Any]
SURVEY = Survey(TypeOptions(), lambda _schema, _table: True)
ONE_SEGMENT = 1 << 40


def segments(file: Path, target: int, part_size: int | None = None) -> Iterator[list[Row]]:
    """Return the rows of each segment of a file; part 0 first.

    A segment ends once it holds `target` bytes, inside of transactions twice as many.
    """
    scanned = scan(ScanTask(str(file), file.name, None, None, True, target, 2 * target))
    row = file_row(file.name, 3, path=str(file))
    for bounds in scanned.segments:
        segments = [PlannedSegment(row, bounds, False, part_size, 1)]
        rows = [one for batch in segment_rows(segments) for one in batch.to_pylist()]
        yield sorted(rows, key=lambda one: one["part"])


def in_bytes(rows: list[Row]) -> list[Row]:
    """Return what the survey finds in the bytes of each segment it reads."""
    columns = {name: [row[name] for row in rows] for name in SEGMENT_COLUMNS}
    columns["transaction_pos"] = pa.array(columns["transaction_pos"], pa.int64())
    listed: list[Row] = SURVEY([pa.RecordBatch.from_pydict(columns)]).to_pylist()
    return listed


def in_excerpt(rows: list[Row]) -> list[Row] | None:
    """Return what it finds in the segment's excerpt, if there is one."""
    first = rows[0]
    if first["excerpt"] is None:
        return None
    names = ("file", "ordinal", "start_pos", "transaction_pos", "preamble")
    segment = Segment(*(first[name] for name in names))
    return SURVEY.of_excerpt(segment, [(e["position"], e["event"]) for e in first["excerpt"]])


def require_same(file: Path, target: int) -> int:
    """Compare both for each segment of a file; return how many segments have an excerpt."""
    excerpts = 0
    for rows in segments(file, target):
        found = in_excerpt(rows)
        if found is not None:
            excerpts += 1
            assert found == in_bytes(rows), (file.name, target, rows[0]["start_pos"])
    return excerpts
