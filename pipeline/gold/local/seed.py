"""Load of a small seed into a gold table, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyspark.sql import types as st

from pipeline.gold.changes.small_batch import SMALL_BYTES
from pipeline.gold.local.table import (
    LeftToSparkError,
    change_without_spark,
    held_rows,
    small_table,
)
from pipeline.gold.table.gold_table import Write
from pipeline.gold.table.names import COMMITTED_AT, LSN, OWN_COLUMNS
from pipeline.lake.delta_log.spark_written import local_folder
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.locks.lock import local_path


def load_without_spark(
    spark: Spark,
    write: Write,
    columns: Sequence[st.StructField],
    folders: Sequence[str],
    *,
    lsn: int,
    count: int,
) -> bool:
    """Replace all rows of a gold table with these columns by a seed's, as one step; return False,
    with nothing committed, if the table is not on this machine, or it or the seed is left to Spark.

    `folders` have the seed's Parquet files (see `stored_seeds`); `lsn`: its position in the log;
    `count`: the number of its rows.
    """

    def load(opened: DeltaTable, folder: str, step: Step) -> bool:
        target = small_table(opened, folder, columns, {})
        rows = _rows(folders, target.schema, lsn, count)
        removed = target.entries.to_pylist()
        return target.replace(removed, rows, step, "WRITE", {"numOutputRows": len(rows)})

    return local_folder(spark, write.table) is not None and change_without_spark(write, load)


def _rows(folders: Sequence[str], schema: pa.Schema, lsn: int, count: int) -> pa.Table:
    """Return the seed's rows with the columns of gold."""
    kinds = [field.type for field in schema if field.name not in OWN_COLUMNS]
    stored = pa.schema([(f"c{n}", kind) for n, kind in enumerate(kinds)])
    fragments = [
        fragment
        for folder in folders
        for fragment in ds.dataset(local_path(folder), stored, "parquet").get_fragments()
    ]
    size = sum(Path(fragment.path).stat().st_size for fragment in fragments)
    if size > SMALL_BYTES:
        raise LeftToSparkError(f"its initial snapshot has {size} bytes")
    if any(fragment.physical_schema.names != stored.names for fragment in fragments):
        raise LeftToSparkError("its initial snapshot has other columns")
    rows = pa.concat_tables([stored.empty_table(), *held_rows(fragments, stored)])
    if len(rows) != count:
        raise LeftToSparkError(f"its initial snapshot has {len(rows)} of {count} rows")
    own = {LSN: pa.scalar(lsn, pa.int64()), COMMITTED_AT: pa.scalar(None, pa.null())}
    found = [
        *rows.columns,
        *(pa.repeat(own[name], len(rows)) for name in schema.names[len(kinds) :]),
    ]
    return pa.table(found, names=schema.names).cast(schema)
