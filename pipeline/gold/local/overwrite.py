"""Replacement of a small gold table's columns and rows, without Spark's writer.

An ALTER TABLE that changes values, and a table that is created again, are one commit: metadata,
clustering, and all files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable, Schema
from pyspark.sql import types as st

from pipeline.gold.local.table import (
    LeftToSparkError,
    SmallTable,
    change_without_spark,
    counted,
    require_usual,
    small_table,
)
from pipeline.gold.table.gold_table import Write
from pipeline.lake.delta_log.column_features import COLUMN_MAPPING
from pipeline.lake.delta_log.delta_rs import plain
from pipeline.lake.delta_log.metadata_commit import replaced_columns
from pipeline.lake.delta_log.spark_types import spark_schema
from pipeline.lake.delta_log.table_log import features_of
from pipeline.lake.delta_step import Step
from pipeline.lake.locks.lock import local_path
from pipeline.settings.settings import MIB

_MOST_ROWS, _MOST_BYTES = 1024, 4 * MIB
"""Limits on the rows to convert, and their size: Spark has them all, with the new values, in memory
at once. The longest of these, padded VECTORs and BINARYs, have at most 64 KiB."""
_NEW_BYTES = 16 * MIB
"""Limit on the size of the values that `HeldRows.added` counts."""
_STATISTICS_COLUMNS = "delta.dataSkippingStatsColumns"
"""A property that names columns, which may go."""


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The rows of a table's version, which `converted` returns with the columns of another table,
    or of a later version; `added`: bytes of new values in each row, of any length."""

    reference: str
    version: int
    converted: Callable[[pa.Table], pa.Table]
    added: int = 0

    def read(self, columns: pa.Schema) -> pa.Table:
        """Return the converted rows; raise LeftToSparkError if they are many."""
        folder = local_path(self.reference)
        if folder is None:
            raise LeftToSparkError(f"{self.reference} is elsewhere")
        opened = DeltaTable(folder, version=self.version)
        kept = small_table(opened, folder, spark_schema(plain(opened.schema())).fields, {})
        rows = kept.joined(found for _, found in kept.files())
        most = min(_MOST_ROWS, _NEW_BYTES // max(self.added, 1))
        if len(rows) > most or rows.nbytes > _MOST_BYTES:
            raise LeftToSparkError(f"it has {len(rows)} rows, {rows.nbytes} bytes, to convert")
        found = self.converted(rows)
        if not {*columns.names} <= {*found.column_names}:
            raise LeftToSparkError(f"{self.reference} lacks columns")
        return found.select(columns.names).cast(columns)


def overwrite_without_spark(
    write: Write, schema: st.StructType, clustering: Sequence[str], held: HeldRows | None
) -> bool:
    """Replace a gold table's columns and rows, with none if None, as one step; return False, with
    nothing committed, if it is left to Spark.

    The table is on this machine, and has the features that its new columns need.
    """

    def overwrite(opened: DeltaTable, folder: str, step: Step) -> bool:
        files = pa.table(opened.get_add_actions()).select(["path", "size_bytes"])
        require_usual(opened, files)
        if COLUMN_MAPPING in features_of(opened):
            raise LeftToSparkError("its new columns need other names in files")
        if _STATISTICS_COLUMNS in opened.metadata().configuration:
            raise LeftToSparkError("it names the columns with statistics")
        columns = plain(Schema.from_json(schema.json()))
        rows = columns.empty_table() if held is None else held.read(columns)
        target = SmallTable(opened, counted(folder, columns), columns, files)
        actions = replaced_columns(opened, schema.json(), clustering)
        metrics = {"numOutputRows": len(rows)}
        return target.replace(files.to_pylist(), rows, step, "WRITE", metrics, actions)

    return change_without_spark(write, overwrite)
