"""Writing of a lake's Parquet files in the task that has their rows, without Java.

A file has a unique name, and is part of its table only once it is committed: the file of a failed
task is never read, and maintenance removes it. For the format and its reasons see
decision 0024.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.lake import stores
from pipeline.lake.delta_log.column_statistics import ColumnStatistics
from pipeline.lake.delta_log.model import DataFile, LakeTable
from pipeline.lake.locks.lock import local_path

_CALENDAR = {"org.apache.spark.version": "4.0.0"}
"""Without it, Spark 3 refuses old dates, since they might be in the Julian calendar."""
_PAGE_BYTES = 1 << 20
_PAGE_ROWS = 100_000


class DataFileWriter:
    """Writer of one file of a table, a row group at a time, without keeping rows in memory.

    `folder`: where the table's files are written (`Tables.folder`). Raises ValueError for rows or
    partitions that the table must not have: Delta does not check the files of a commit.
    """

    def __init__(
        self, folder: str, table: LakeTable, partition: Mapping[str, str | None] | None = None
    ) -> None:
        self._folder = folder.rstrip("/")
        self._partition = dict(partition or {})
        if sorted(self._partition) != sorted(table.partition_by) or "" in self._partition.values():
            raise ValueError(f"not a partition of {table.reference}: {self._partition}")
        fields = [field for field in table.schema if field.name not in table.partition_by]
        self._schema = pa.schema(fields)
        self._name = f"part-{uuid.uuid4()}.zstd.parquet"
        self._path = f"{self._folder}/{self._name}"
        counted = [name for name in table.statistics if name not in table.partition_by]
        self._statistics = ColumnStatistics(self._schema, counted)
        self._rows = 0
        self._open = ExitStack()
        self._writer: pq.ParquetWriter | None = None
        self._sink: Any = None

    @property
    def rows(self) -> int:
        """The number of rows written."""
        return self._rows

    @property
    def size(self) -> int:
        """The number of bytes written so far."""
        return 0 if self._sink is None else int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Write one row group of rows with the table's columns."""
        if not len(rows):
            return
        typed = rows.select(self._schema.names).cast(self._schema)
        if self._writer is None:
            self._writer = self._begin()
        self._writer.write_table(typed, len(typed))
        self._statistics.add(typed)
        self._rows += len(typed)

    def close(self) -> DataFile:
        """Finish the file, and return what a commit needs to add it."""
        if self._writer is None:
            self._writer = self._begin()
        self._open.close()
        return DataFile(
            self._folder,
            self._name,
            stores.size(self._path),
            self._rows,
            self._statistics.values(),
            self._partition,
        )

    def abandon(self) -> None:
        """Close and remove the file of a failed task."""
        self._open.close()
        if self._writer is not None:
            stores.remove(self._path)

    def _begin(self) -> pq.ParquetWriter:
        local = local_path(self._path)
        if local is None:
            self._sink = self._open.enter_context(stores.binary(self._path))
        else:
            stores.make_folder(self._path.rpartition("/")[0])
            self._sink = self._open.enter_context(pa.OSFile(local, "wb"))
        writer = pq.ParquetWriter(
            self._sink,
            self._schema,
            compression="zstd",
            use_dictionary=False,
            store_schema=False,
            coerce_timestamps="us",
            store_decimal_as_integer=True,
            data_page_size=_PAGE_BYTES,
            max_rows_per_page=_PAGE_ROWS,
            write_statistics=list(self._statistics.columns) or False,
        )
        self._open.enter_context(writer)
        writer.add_key_value_metadata(_CALENDAR)
        return writer


@contextmanager
def opened(path: str, footer: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file for random reads; `footer`: the file's own, if it was read before."""
    local = local_path(path)
    with ExitStack() as resources:
        source = local or resources.enter_context(stores.readable(path))
        file = pq.ParquetFile(source, metadata=footer, pre_buffer=local is None)
        yield resources.enter_context(file)


def row_groups(file: DataFile) -> Iterator[pa.Table]:
    """Yield the row groups of a written file."""
    with opened(f"{file.folder}/{file.name}") as parquet:
        for group in range(parquet.num_row_groups):
            yield parquet.read_row_group(group)


def write_rows(folder: str, table: LakeTable, rows: pa.Table) -> list[DataFile]:
    """Write rows to one file per partition; no file without rows."""
    written = []
    for partition, part in _partitions(table, rows):
        written += write_groups(folder, table, partition, [part])
    return written


def write_groups(
    folder: str, table: LakeTable, partition: Mapping[str, str | None], groups: Iterable[pa.Table]
) -> list[DataFile]:
    """Write row groups to one file; no file without rows. If it fails, the file is removed."""
    writer = DataFileWriter(folder, table, partition)
    try:
        for group in groups:
            writer.write(group)
    except BaseException:
        writer.abandon()
        raise
    return [writer.close()] if writer.rows else []


def _partitions(
    table: LakeTable, rows: pa.Table
) -> Iterator[tuple[Mapping[str, str | None], pa.Table]]:
    if not table.partition_by:
        if len(rows):
            yield {}, rows
        return
    names = list(table.partition_by)
    for values in rows.select(names).group_by(names).aggregate([]).to_pylist():
        chosen = pc.scalar(True)
        for name, value in values.items():
            same = pc.field(name).is_null() if value is None else pc.field(name) == value
            chosen = chosen & same
        yield partition_values(values), rows.filter(chosen)


def partition_values(values: Mapping[str, Any]) -> dict[str, str | None]:
    """Return partition values (strings, integers and dates) in the form of Delta's log."""
    return {name: None if value is None else str(value) for name, value in values.items()}
