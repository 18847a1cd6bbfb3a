"""Count the values per column that silver does not have as they were logged."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import pyarrow as pa

from decoder.model.results import Changes

LOSSY = "lossy"
"""The target of rows with these counts."""

COUNTS = pa.schema(
    [
        # schema.table
        pa.field("table", pa.string()),
        pa.field("column", pa.string()),
        pa.field("values", pa.int64()),
    ]
)

LossyCounts = Mapping[str, Mapping[str, int]]
"""`schema.table` to column to the number of values replaced, in before and after images."""


def lossy_counts(changes: Changes) -> pa.RecordBatch:
    """Return a row of `COUNTS` per lossy column and image."""
    return pa.RecordBatch.from_pylist(
        [
            {"table": str(changes.definition), "column": lossy.column, "values": len(lossy.rows)}
            for lossy in changes.lossy
            if len(lossy.rows)
        ],
        schema=COUNTS,
    )


def summed(rows: pa.Table) -> LossyCounts:
    """Return a batch's sums of rows of `COUNTS`."""
    sums = rows.group_by(["table", "column"]).aggregate([("values", "sum")])
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for row in sums.sort_by([("table", "ascending"), ("column", "ascending")]).to_pylist():
        found[row["table"]][row["column"]] = row["values_sum"]
    return dict(found)


def sentences(lossy: LossyCounts) -> Iterator[str]:
    """Yield one sentence per column."""
    for table, columns in lossy.items():
        for column, values in columns.items():
            yield (
                f"{table}, column {column}: {values:,} values are not stored as logged. Zero"
                " and impossible dates became null (zero_dates: string keeps them, in a new"
                " lake), bytes that are invalid in the column's charset became U+FFFD."
            )
