"""A log's rows as silver has them, named and typed by the catalog: without Spark or a lake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from decoder import SegmentDecoder, TypeOptions
from decoder.model.results import Changes
from decoder.stream.segment_decoder import Segment
from pipeline.catalog import Timeline
from pipeline.catalog.timeline.timeline import CatalogOptions
from pipeline.silver.decode.decode import Survey
from pipeline.silver.plan.survey import Surveyed, in_log_order

_SEGMENT = Segment("binlog.000001", 1)


def surveyed(log: bytes, options: CatalogOptions) -> Surveyed:
    """What the catalog makes of a whole log."""
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
    found = survey(iter([pa.RecordBatch.from_pydict(segment)]))
    rows = [row for batch in found for row in batch.to_pylist()]
    return in_log_order(rows, Timeline((), options))


def changes(log: bytes, of: Surveyed, types: TypeOptions) -> Iterator[Changes]:
    """The log's changes, under the definitions that the catalog knows. Raises the first fault."""
    unit = SegmentDecoder(_SEGMENT, types, names=of.names)
    for result in unit.decode([log]):
        if isinstance(result, Changes):
            yield result
        elif unit.first_fault is not None:
            raise unit.first_fault


def reasons(of: Surveyed) -> Mapping[str, str]:
    """Why tables are held, by name."""
    return {name: fault["reason"] for fault in of.faults for name in fault["tables"] or ("",)}
