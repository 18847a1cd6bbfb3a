"""The table `bronze/files`: one row per file, with its ingested size and its fault, if any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

import pyarrow as pa

from decoder.framing.large_event import Mark
from pipeline.bronze.tables import FILES, files_table, segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.delta_log.table import Step
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of

State = Literal["open", "complete", "faulty"]


@dataclass(frozen=True, slots=True)
class FileRow:
    """A row of `bronze/files`; the columns are documented in `tables.FILES`."""

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
        """The end of the file's bytes in bronze."""
        return Mark(self.ingested_upto, self.crc32)


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
