"""Reads of silver's transactions of one source, in slices that fit into memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import Condition, compare, equal, missing
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.silver.decode.silver_tables import transactions_table

SLICE_ROWS = 500_000
"""Some 150 MB, including GTIDs and table counts."""
NEW = missing("seen_before") | equal("seen_before", False)
"""Transactions that the lake did not have before: others are not applied again or waited for."""

_ENTRIES = pa.list_(pa.struct([pa.field("key", pa.string(), False), ("value", pa.int64())]))


def slices(
    spark: Spark,
    lake: Lake,
    source: str,
    low: int,
    high: int,
    columns: Sequence[str],
    where: Condition | None = NEW,
) -> Iterator[pa.Table]:
    """Yield the transactions in (`low`, `high`] that match `where`, in slices in log order.

    Rows within a slice are unordered. All rows of one LSN are in one slice; no slice is empty.
    """
    tables, table = tables_of(spark, lake), transactions_table(lake)
    chosen = equal("source", source) if where is None else equal("source", source) & where
    within = chosen & compare("__lsn", ">", low) & compare("__lsn", "<=", high)
    lsns = np.sort(tables.read(table, within, ["__lsn"]).column("__lsn").to_numpy())
    if not len(lsns):
        return
    ends = np.unique([*lsns[SLICE_ROWS - 1 :: SLICE_ROWS], lsns[-1]]).tolist()
    for begin, end in pairwise([low, *ends]):
        part = chosen & compare("__lsn", ">", begin) & compare("__lsn", "<=", end)
        if len(rows := tables.read(table, part, columns)):
            yield rows


def chosen_rows(
    spark: Spark, lake: Lake, source: str, where: Condition, columns: Sequence[str]
) -> pa.Table:
    """Return the transactions that match `where`, expected to be few, unordered."""
    found = equal("source", source) & NEW & where
    return tables_of(spark, lake).read(transactions_table(lake), found, columns)


def entries(rows: pa.Table) -> pa.ListArray:
    """Return, for each transaction, the number of rows by table."""
    return rows.column("rows").combine_chunks().cast(_ENTRIES)


def have_rows_of(rows: pa.Table, names: Collection[str]) -> pa.BooleanArray:
    """Return which transactions have rows of any of these tables (`schema.table`)."""
    listed = entries(rows)
    keys = pc.struct_field(listed.flatten(), "key")
    known = pc.is_in(keys, value_set=pa.array(list(names), pa.string()))
    numbers = pa.array(range(len(rows)), pa.int64())
    return pc.is_in(numbers, value_set=pc.list_parent_indices(listed).filter(known))
