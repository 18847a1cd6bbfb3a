"""`bronze/files`: one row per file, saying how far it is ingested and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Literal

import pyarrow as pa
from pyspark.sql import SparkSession, functions as sf

from decoder.large_event import Mark
from pipeline import delta
from pipeline.bronze.tables import FILES
from pipeline.lake import Lake

State = Literal["open", "complete", "faulty"]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of `bronze/files`; the columns are told in `tables.FILES`."""

    source: str
    file: str
    incarnation: str
    ordinal: int
    path: str
    size: int
    modified: str
    state: State
    complete: bool
    fault: str | None
    ingested_upto: int
    crc32: int
    sha256: str | None
    in_use: bool
    server_version: str
    server_id: int
    checksum: str
    previous_gtids: str | None
    gtids: str | None
    begun: int
    restarted: bool
    batch: int

    @property
    def stored(self) -> Mark:
        """The end of what bronze holds of it."""
        return Mark(self.ingested_upto, self.crc32)


def read_files(spark: SparkSession, lake: Lake, source: str) -> list[FileRow]:
    """The source's files, in order of ordinals."""
    if not delta.exists(spark, lake.files):
        return []
    names = [field.name for field in fields(FileRow)]
    rows = delta.read(spark, lake.files).where(sf.col("source") == source).select(*names)
    return sorted(
        (FileRow(**row.asDict()) for row in rows.coalesce(1).collect()),
        key=lambda row: row.ordinal,
    )


def write_files(
    spark: SparkSession, lake: Lake, source: str, rows: Iterable[FileRow], *, batch: int
) -> None:
    """Replace the source's rows, as a step of the batch."""
    table = pa.Table.from_pylist([asdict(row) for row in rows], schema=FILES)
    delta.replace_once(
        spark.createDataFrame(table).coalesce(1),
        lake.files,
        where=f"source = '{source}'",
        app=f"bronze/{source}/files",
        version=batch,
        partition_by=["source"],
    )
