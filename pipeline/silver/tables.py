"""Writing silver's tables of changes: each by a job of its own, several at a time."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from decoder import schemas
from decoder.columns.registry import row_type
from pipeline import delta
from pipeline.interpreted import FEW, interpreted
from pipeline.lake import Lake
from pipeline.progress import Task
from pipeline.settings import Settings
from pipeline.silver.decode import table_target
from pipeline.silver.plan import PlannedTable, SilverPlan, by_table_id
from pipeline.silver.staging import Staging

PROPERTIES = {
    # MySQL's names may hold spaces and signs that Parquet's may not.
    "delta.columnMapping.mode": "name",
    # What gold reads by; statistics of every column of both images would cost more than they give.
    "delta.dataSkippingStatsColumns": "__lsn,__pos",
}
"""Of every table of changes, from its first commit on."""

WRITING = {
    # Images of changed rows repeat little: to look for what does takes a fifth of the time, and
    # zstd finds the rest, the more of it in pages of more than 20,000 rows. (Not with Parquet's
    # second version, of which Spark cannot skip rows: docs/decisions/0024.)
    "parquet.enable.dictionary": "false",
    "parquet.page.row.count.limit": "100000",
}
"""Settings of the session in which silver's tables are written."""


def write_tables(
    staging: Staging,
    lake: Lake,
    settings: Settings,
    plan: SilverPlan,
    batch: int,
    counts: Mapping[str, int],
    task: Task,
) -> dict[str, int]:
    """Append the batch's changes to every table that has some; rows by `schema.table`."""
    touched = {
        table_id: table
        for table_id, table in by_table_id(plan.tables).items()
        if counts.get(table_target(table_id))
    }

    few = sum(counts[table_target(table_id)] for table_id in touched) <= FEW
    if few:
        staging = replace(staging, spark=interpreted(staging.spark))
    merging = "true" if plan.refresh.batch else "false"

    def write(table: PlannedTable) -> None:
        _append(staging, lake, settings, table, batch, merging)
        task.advance()

    with ThreadPoolExecutor(max(1, min(settings.parallel_tables, len(touched)))) as pool:
        # list() so that the first error of any of them is raised
        list(pool.map(write, touched.values()))
    rows: dict[str, int] = {}
    for table_id, table in touched.items():
        name = str(table.definition)
        rows[name] = rows.get(name, 0) + counts[table_target(table_id)]
    return rows


def _append(
    staging: Staging,
    lake: Lake,
    settings: Settings,
    table: PlannedTable,
    batch: int,
    merging: str,
) -> None:
    definition = table.definition
    schema = schemas.changes(row_type(definition, settings.type_options))
    rows = staging.unpacked(table_target(table.table_id), schema)
    name = f"{definition.schema}/{definition.table}/v{table.version}"
    reference = lake.changes(definition.schema, definition.table, table.version)

    def append(merging: str) -> None:
        delta.append_once(
            rows,
            reference,
            app=f"silver/{settings.source}/{name}",
            version=batch,
            # A full refresh has left the table without the columns of its images.
            options={**PROPERTIES, "compression": "zstd", "mergeSchema": merging},
        )

    try:
        append(merging)
    except AnalysisException:
        # So has another source's, which had the table and has it no more.
        if not _lacks_images(staging.spark, reference):
            raise
        append("true")


def _lacks_images(spark: SparkSession, reference: str) -> bool:
    return delta.exists(spark, reference) and "after" not in delta.read(spark, reference).columns
