"""Counting values that are not in silver as they were logged, per column of each table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyspark.sql import functions as sf

from decoder.results import Changes
from pipeline.silver.staging import Staging

LOSSY = "lossy"
"""The target of blobs with these counts."""

COUNTS = pa.schema(
    [
        # schema.table
        pa.field("table", pa.string()),
        pa.field("column", pa.string()),
        pa.field("values", pa.int64()),
    ]
)

LossyCounts = Mapping[str, Mapping[str, int]]
"""`schema.table` to column to values that were replaced, in before and after images."""


def lossy_counts(changes: Changes) -> pa.RecordBatch:
    """A row of `COUNTS` for each image's column that has some."""
    return pa.RecordBatch.from_pylist(
        [
            {"table": str(changes.definition), "column": lossy.column, "values": len(lossy.rows)}
            for lossy in changes.lossy
            if len(lossy.rows)
        ],
        schema=COUNTS,
    )


def read_lossy(staging: Staging, counts: Mapping[str, int]) -> LossyCounts:
    """The sums over a batch; `counts` are the staging's rows by target."""
    if not counts.get(LOSSY):
        return {}
    rows = staging.unpacked(LOSSY, COUNTS).groupBy("table", "column").agg(sf.sum("values"))
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for table, column, values in sorted(tuple(row) for row in rows.collect()):
        found[table][column] = values
    return dict(found)


def sentences(lossy: LossyCounts) -> Iterator[str]:
    """One for each column."""
    for table, columns in lossy.items():
        for column, values in columns.items():
            yield (
                f"{table}, column {column}: {values:,} values could not be kept as they are. Zero"
                " and impossible dates became null (zero_dates: string keeps them, in a new"
                " lake), bytes that are no text in the column's charset became U+FFFD."
            )
