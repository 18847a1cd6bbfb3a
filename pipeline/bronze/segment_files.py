"""A task of bronze: planned stretches of the input become Parquet files of `bronze/segments`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.bronze.rows import Stretch, segment_batches
from pipeline.lake_tables.data_files import DataFileWriter
from pipeline.lake_tables.table import DataFile, LakeTable

FILE_BYTES = 128 << 20
"""About as many bytes of the log go into one file, at most."""
_LEAST_FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """The output of a task; `rest`: rows that are too few for a file of their own."""

    files: tuple[DataFile, ...]
    rest: pa.Table | None


def write_segments(folder: str, table: LakeTable, stretches: Sequence[Stretch]) -> Written:
    """Write the segments to files in `folder`, a row group at a time.

    Raises OSError or BinlogError where a file is no longer as it was planned.
    """
    files: list[DataFile] = []
    rest: list[pa.RecordBatch] = []
    writer: DataFileWriter | None = None
    size = 0
    try:
        for batch in segment_batches(stretches):
            if writer is not None and size + batch.nbytes > FILE_BYTES:
                files.append(writer.close())
                writer, size = None, 0
            if writer is None and batch.nbytes < _LEAST_FILE_BYTES:
                rest.append(batch)
                continue
            writer = writer or DataFileWriter(folder, table)
            writer.write(pa.Table.from_batches([batch]))
            size += batch.nbytes
        if writer is not None:
            files.append(writer.close())
    except BaseException:
        if writer is not None:
            writer.abandon()
        raise
    return Written(tuple(files), pa.Table.from_batches(rest) if rest else None)
