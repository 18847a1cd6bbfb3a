"""Decode a log under the timeline's definitions, as silver does, without Spark or a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from decoder import SegmentDecoder, TypeOptions
from decoder.model.results import Changes
from decoder.model.segment import Segment
from pipeline.schema_history import Timeline
from pipeline.schema_history.timeline.timeline import TimelineOptions
from pipeline.silver.plan.survey import Survey, Surveyed, in_log_order

_SEGMENT = Segment("binlog.000001", 1)


def surveyed(log: bytes, options: TimelineOptions) -> Surveyed:
    """Return the survey and timeline of a whole log."""
    survey = Survey(options.types, options.wanted)
    segment = {
        "file": [_SEGMENT.file],
        "ordinal": [_SEGMENT.ordinal],
        "start_pos": [0],
        "part": [0],
        "transaction_pos": pa.array([None], pa.int64()),
        "preamble": [b""],
        "content": [log],
    }
    rows = survey(iter([pa.RecordBatch.from_pydict(segment)])).to_pylist()
    return in_log_order(rows, Timeline((), options))


def changes(log: bytes, of: Surveyed, types: TypeOptions) -> Iterator[Changes]:
    """Yield the log's changes under the timeline's definitions; raise the first fault."""
    unit = SegmentDecoder(_SEGMENT, types, names=of.names)
    for result in unit.decode([log]):
        if isinstance(result, Changes):
            yield result
        elif unit.first_fault is not None:
            raise unit.first_fault


def reasons(of: Surveyed) -> Mapping[str, str]:
    """Return the reason for each held table, by table name."""
    return {name: fault["reason"] for fault in of.faults for name in fault["tables"] or ("",)}
