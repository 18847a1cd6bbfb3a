"""Read bronze's excerpts of segments: only the events that the survey of definitions needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decoder import Segment
from decoder.stream.excerpt import Events
from pipeline.bronze.tables import segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.silver.decode.segments import SegmentRef

_COLUMNS = ("file", "ordinal", "start_pos", "transaction_pos", "preamble", "excerpt")
_AT_ONCE = 256
"""Excerpts in memory at once, of at most `decoder.stream.excerpt.LIMIT` bytes each."""


def excerpts(
    spark: Spark, lake: Lake, source: str, refs: Sequence[SegmentRef]
) -> Iterator[tuple[Segment, Events]]:
    """Yield the segments that have an excerpt, with it, in no order; `refs` are in order."""
    for start in range(0, len(refs), _AT_ONCE):
        yield from _excerpts(spark, lake, source, refs[start : start + _AT_ONCE])


def _excerpts(
    spark: Spark, lake: Lake, source: str, refs: Sequence[SegmentRef]
) -> Iterator[tuple[Segment, Events]]:
    wanted = {ref.place for ref in refs}
    (first, begin), (last, end) = min(wanted), max(wanted)
    where = equal("source", source) & equal("part", 0)
    where &= compare("ordinal", ">", first) | (
        equal("ordinal", first) & compare("start_pos", ">=", begin)
    )
    where &= compare("ordinal", "<", last) | (
        equal("ordinal", last) & compare("start_pos", "<=", end)
    )
    rows = tables_of(spark, lake).read(segments_table(lake), where, _COLUMNS)
    for row in rows.to_pylist():
        if row["excerpt"] is not None and (row["ordinal"], row["start_pos"]) in wanted:
            segment = Segment(
                row["file"],
                row["ordinal"],
                row["start_pos"],
                row["transaction_pos"],
                row["preamble"] or b"",
            )
            yield segment, [(one["position"], one["event"]) for one in row["excerpt"]]
