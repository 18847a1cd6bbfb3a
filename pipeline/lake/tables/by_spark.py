"""A lake's tables by Spark: tables in a catalog, or that this process cannot access.

Tasks write their files to the lake's scratch space, and Spark appends them. Every commit is made by
`pipeline.lake.delta`, so that Delta itself skips a step that is already committed.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import and_

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window, functions as sf

from pipeline.lake import delta, stores
from pipeline.lake.child_sessions import child_session
from pipeline.lake.delta_log import spark_written
from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.model import Commit, DataFile, DeltaState, LakeTable
from pipeline.lake.delta_log.spark_types import local_frame, spark_schema, spark_type
from pipeline.lake.delta_step import Step
from pipeline.lake.files.compaction import SMALL_BYTES, TARGET_BYTES
from pipeline.lake.layout import Lake
from pipeline.lake.sql_text import in_sql, quoted
from pipeline.lake.tables.tables import FILE, NewValue

BIG_ROWS = {
    # By default Parquet checks the memory in use only after a number of rows.
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
    # The vectorized reader reads 4096 rows at once, which may be a whole file.
    "spark.sql.parquet.enableVectorizedReader": "false",
}
"""Settings of a session that writes rows of 16 MiB or more, or reads them without Python."""
WRITING = {
    **BIG_ROWS,
    # The same format as in pipeline.lake.files.data_files (decision 0024).
    "spark.sql.parquet.compression.codec": "zstd",
    "parquet.enable.dictionary": "false",
    "parquet.page.row.count.limit": "100000",
}
"""Settings of the session that appends files to a table."""
UPKEEP = {
    "spark.databricks.delta.optimize.maxFileSize": str(TARGET_BYTES),
    "spark.databricks.delta.optimize.minFileSize": str(SMALL_BYTES),
    # Record VACUUM's removals in the table's history.
    "spark.databricks.delta.vacuum.logging.enabled": "true",
    # VACUUM lists folders in this many tasks, by default 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
"""Settings of the session that maintains tables."""
_FILE = r"\.(parquet|bin)$"
"""Data files and deletion vectors."""
_RANK = "__rank"

_WALL_CLOCKS = "'delta.feature.timestampNtz' = 'supported'"


@dataclass(frozen=True, slots=True)
class SparkTables:
    """The tables of a lake by Spark. See `pipeline.lake.tables.tables`."""

    spark: SparkSession
    lake: Lake

    def exists(self, table: LakeTable) -> bool:
        """Return True if the table has a commit."""
        return delta.exists(self.spark, table.reference)

    def read(
        self,
        table: LakeTable,
        where: Condition | None = None,
        columns: Sequence[str] | None = None,
        *,
        with_file: bool = False,
    ) -> pa.Table:
        """Return the current rows; see `NativeTables.read`."""
        names = table.schema.names if columns is None else list(columns)
        schema = pa.schema([table.schema.field(name) for name in names])
        if with_file:
            schema = schema.append(pa.field(FILE, pa.string()))
        if not self.exists(table):
            return schema.empty_table()
        rows = _with_all_columns(delta.read(self.spark, table.reference), table.schema)
        if where is not None:
            rows = rows.where(where.sql)
        files = [sf.col("_metadata.file_name").alias(FILE)] if with_file else []
        return rows.select(*map(quoted, names), *files).toArrow().cast(schema)

    def last(
        self, table: LakeTable, by: str, each: Sequence[str], count: int, where: Condition
    ) -> pa.Table:
        """Return the last rows of each group; see `NativeTables.last`."""
        if not self.exists(table):
            return table.schema.empty_table()
        rows = _with_all_columns(delta.read(self.spark, table.reference), table.schema)
        groups = Window.partitionBy(*map(quoted, each)).orderBy(sf.col(quoted(by)).desc())
        there = [sf.col(quoted(name)).isNotNull() for name in (*each, by)]
        ranked = rows.where(where.sql).where(reduce(and_, there))
        last = ranked.withColumn(_RANK, sf.dense_rank().over(groups)).where(sf.col(_RANK) <= count)
        return last.select(*map(quoted, table.schema.names)).toArrow().cast(table.schema)

    def count(self, table: LakeTable, where: Condition) -> int:
        """Return the number of matching rows; see `NativeTables.count`."""
        if not self.exists(table):
            return 0
        return delta.read(self.spark, table.reference).where(where.sql).count()

    def folder(self, table: LakeTable) -> str:
        """Return a new folder in the lake's scratch space."""
        return f"{self.lake.staging}/{uuid.uuid4().hex}"

    def append(
        self,
        table: LakeTable,
        rows: pa.Table | None,
        step: Step | None,
        files: Sequence[DataFile] = (),
    ) -> bool:
        """Append rows and files, and remove the files' folder; see `NativeTables.append`."""
        given = table.schema.empty_table() if rows is None else rows
        if not files:
            if not len(given) and self.exists(table):
                return False
            self._append(self._frame(self.spark, table, given), table, step)
            return True
        session = child_session(self.spark, WRITING)
        parts = _read_files(session, table, files)
        if len(given):
            parts.append(self._frame(session, table, given))
        try:
            self._append(reduce(DataFrame.unionByName, parts), table, step)
        finally:
            for folder in {file.folder for file in files}:
                stores.remove(folder)
        return True

    def replace(self, table: LakeTable, where: Condition, rows: pa.Table, step: Step) -> bool:
        """Replace rows; see `NativeTables.replace`."""
        delta.replace_once(
            self._frame(self.spark, table, rows),
            table.reference,
            step,
            where=where.sql,
            partition_by=table.partition_by,
            options=table.properties,
        )
        return True

    def delete(self, table: LakeTable, where: Condition, step: Step) -> bool:
        """Delete rows; see `NativeTables.delete`."""
        if not self.count(table, where):
            return False  # Spark would make an empty commit
        return self._execute(f"DELETE FROM {in_sql(table.reference)}", table, where, step)

    def update(
        self, table: LakeTable, where: Condition, changes: Sequence[NewValue], step: Step
    ) -> bool:
        """Update rows; see `NativeTables.update`."""
        values = ", ".join(f"{quoted(change.column)} = {change.sql}" for change in changes)
        return self._execute(f"UPDATE {in_sql(table.reference)} SET {values}", table, where, step)

    def clear(self, table: LakeTable, step: Step) -> bool:
        """Remove all rows; see `NativeTables.clear`."""
        if self.exists(table):
            self._allow_wall_clocks(table, step)
        delta.overwrite_once(
            self._frame(self.spark, table, table.schema.empty_table()),
            table.reference,
            step,
            partition_by=table.partition_by,
            options=table.properties,
        )
        return True

    def claim(self, table: LakeTable, step: Step) -> bool:
        """Commit a step without rows; see `NativeTables.claim`."""
        none = self._frame(self.spark, table, table.schema.empty_table())
        self._append(none, table, step)
        return True

    def state(self, table: LakeTable) -> DeltaState | None:
        """Return the table's state by its log; see `NativeTables.state`."""
        return spark_written.state(self.spark, table.reference)

    def history(self, table: LakeTable, limit: int | None) -> Sequence[Commit]:
        """Return the last commits, latest first."""
        if not self.exists(table):
            return []
        return spark_written.history(self.spark, table.reference, limit)

    def old_files(self, table: LakeTable) -> int:
        """Return the number of files that VACUUM would remove.

        Its dry run also lists folders, which it leaves if their files are removed but not old.
        """
        if not self.exists(table):
            return 0
        session = self._session(table, None)
        paths = session.sql(f"VACUUM {in_sql(table.reference)} DRY RUN")
        return paths.where(sf.col("path").rlike(_FILE)).count()

    def compact(self, table: LakeTable, note: str) -> bool:
        """Compact small files; see `NativeTables.compact`."""
        return self.keep(table, note, f"OPTIMIZE {in_sql(table.reference)}")

    def vacuum(self, table: LakeTable, note: str) -> bool:
        """Remove old files; see `NativeTables.vacuum`. A VACUUM without any would still commit."""
        return bool(self.old_files(table)) and self.keep(
            table, note, f"VACUUM {in_sql(table.reference)}"
        )

    def keep(self, table: LakeTable, note: str, statement: str) -> bool:
        """Run a maintenance statement that changes no rows, if the table exists."""
        if not self.exists(table):
            return False
        session = self._session(table, note)
        delta.commit(lambda: session.sql(statement).collect(), table.reference)
        return True

    def _session(self, table: LakeTable, note: str | None) -> SparkSession:
        """Return a session for maintenance, whose commits carry a note."""
        big = any(pa.types.is_binary(field.type) for field in table.schema)
        return _session(self.spark, note, big_rows=big)

    def _allow_wall_clocks(self, table: LakeTable, step: Step) -> None:
        """Enable the feature for TIMESTAMP_NTZ, which Delta requires before adding such columns."""
        statement = f"ALTER TABLE {in_sql(table.reference)} SET TBLPROPERTIES ({_WALL_CLOCKS})"
        delta.commit(lambda: self.spark.sql(statement), table.reference, step)

    def _append(self, rows: DataFrame, table: LakeTable, step: Step | None) -> None:
        # A cleared table may get new columns with its first rows.
        options = {**table.properties, "mergeSchema": "true"}
        name, parts = table.reference, table.partition_by
        if step is None:
            delta.append(rows, name, partition_by=parts, options=options)
        else:
            delta.append_once(rows, name, step, partition_by=parts, options=options)

    def _execute(self, statement: str, table: LakeTable, where: Condition, step: Step) -> bool:
        if not self.exists(table):
            return False
        delta.execute_once(
            self._session(table, step.note) if step.note else self.spark,
            f"{statement} WHERE {where.sql}",
            table.reference,
            step,
        )
        return True

    def _frame(self, spark: SparkSession, table: LakeTable, rows: pa.Table) -> DataFrame:
        return local_frame(spark, rows.select(table.schema.names).cast(table.schema))


@lru_cache(maxsize=4)
def _session(spark: SparkSession, note: str | None, *, big_rows: bool) -> SparkSession:
    """Return a cached session: with Spark Connect each one stays open until the program ends."""
    noted = {} if note is None else {delta.USER_METADATA: note}
    return child_session(spark, {**UPKEEP, **(BIG_ROWS if big_rows else {}), **noted})


def _with_all_columns(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """Add columns that the table lacks as null: it may have been cleared with fewer columns."""
    there = set(rows.columns)
    missing = {
        field.name: sf.lit(None).cast(spark_type(field.type))
        for field in schema
        if field.name not in there
    }
    return rows.withColumns(missing) if missing else rows


def _read_files(
    session: SparkSession, table: LakeTable, files: Sequence[DataFile]
) -> list[DataFrame]:
    """Return a DataFrame per partition; the files themselves do not have the partition columns."""
    fields = [field for field in table.schema if field.name not in table.partition_by]
    paths = defaultdict(list)
    for file in files:
        values = tuple(file.partition.get(name) for name in table.partition_by)
        paths[values].append(f"{file.folder}/{file.name}")
    frames = []
    for values, named in paths.items():
        rows = session.read.schema(spark_schema(pa.schema(fields))).parquet(*named)
        constants = {
            name: sf.lit(value).cast(spark_type(table.schema.field(name).type))
            for name, value in zip(table.partition_by, values, strict=True)
        }
        frames.append(rows.withColumns(constants).select(*map(quoted, table.schema.names)))
    return frames
