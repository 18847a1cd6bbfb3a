"""The table `bronze/files`: one row per file, with its ingested size and its fault, if any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import pyarrow as pa

from pipeline.bronze.tables import FILES, FileRow, files_table, segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of


def read_files(spark: Spark, lake: Lake, source: str) -> list[FileRow]:
    """Return the source's files, in order of ordinals."""
    rows = tables_of(spark, lake).read(files_table(lake), equal("source", source))
    return sorted((FileRow(**row) for row in rows.to_pylist()), key=lambda row: row.ordinal)


def write_files(
    spark: Spark, lake: Lake, source: str, rows: Iterable[FileRow], *, batch: int
) -> None:
    """Replace the source's rows, as a step of the batch."""
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=FILES)
    step = Step(f"bronze/{source}/files", batch)
    tables_of(spark, lake).replace(files_table(lake), equal("source", source), table, step)


def stored_ordinals(spark: Spark, lake: Lake, source: str) -> set[int]:
    """Return the ordinals of files with bytes in bronze: maintenance may have removed others'."""
    rows = tables_of(spark, lake).read(segments_table(lake), equal("source", source), ["ordinal"])
    return set(rows.column("ordinal").unique().to_pylist())
