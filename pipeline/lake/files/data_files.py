"""Parquet files of a lake's tables, written where their rows are: in a task, without Java.

A file has a name that nobody else uses, and is part of its table once a commit names it: one of a
task that died is never read, and maintenance removes it. How the files are written, and why:
docs/contributing/decisions/0024.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.lake import stores
from pipeline.lake.delta_log.table import DataFile, LakeTable
from pipeline.lake.locks.lock import local_path

_LONGEST = 64
"""Characters of a string that is kept as a statistic; with a longer one the column has none."""
_PAGE_BYTES = 1 << 20
_PAGE_ROWS = 100_000


class DataFileWriter:
    """One file of a table, written a row group at a time; nothing of it is kept in memory.

    `folder`: where the table's files are written (`Tables.folder`). Raises ValueError for rows or
    partitions that the table may not have: Delta itself checks no file that a commit names.
    """

    def __init__(
        self, folder: str, table: LakeTable, partition: Mapping[str, str | None] | None = None
    ) -> None:
        self._folder = folder.rstrip("/")
        self._partition = dict(partition or {})
        if sorted(self._partition) != sorted(table.partition_by) or "" in self._partition.values():
            raise ValueError(f"{table.reference} has no partition {self._partition}")
        fields = [field for field in table.schema if field.name not in table.partition_by]
        self._schema = pa.schema(fields)
        self._name = f"part-{uuid.uuid4()}.zstd.parquet"
        self._path = f"{self._folder}/{self._name}"
        counted = [name for name in table.statistics if name not in table.partition_by]
        self._statistics = _Statistics(self._schema, counted)
        self._rows = 0
        self._open = ExitStack()
        self._writer: pq.ParquetWriter | None = None
        self._sink: Any = None

    @property
    def rows(self) -> int:
        """How many rows were written."""
        return self._rows

    @property
    def size(self) -> int:
        """How many bytes the file has, as far as it is written."""
        return 0 if self._sink is None else int(self._sink.tell())

    def write(self, rows: pa.Table) -> None:
        """Write one row group: rows with the table's columns."""
        if not len(rows):
            return
        typed = rows.select(self._schema.names).cast(self._schema)
        if self._writer is None:
            self._writer = self._begin()
        self._writer.write_table(typed, len(typed))
        self._statistics.add(typed)
        self._rows += len(typed)

    def close(self) -> DataFile:
        """End the file; what a commit needs to name it."""
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
        """Give the file up where its task fails: no commit will name it."""
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
        return writer


@contextmanager
def opened(path: str, footer: pq.FileMetaData | None = None) -> Iterator[pq.ParquetFile]:
    """A Parquet file that is read in places; `footer`: its own, if it was read already."""
    local = local_path(path)
    with ExitStack() as resources:
        source = local or resources.enter_context(stores.readable(path))
        file = pq.ParquetFile(source, metadata=footer, pre_buffer=local is None)
        yield resources.enter_context(file)


def row_groups(file: DataFile) -> Iterator[pa.Table]:
    """The rows of a file that was written, a row group at a time."""
    with opened(f"{file.folder}/{file.name}") as parquet:
        for group in range(parquet.num_row_groups):
            yield parquet.read_row_group(group)


def write_rows(folder: str, table: LakeTable, rows: pa.Table) -> list[DataFile]:
    """Write rows that are in memory: one file for each of their partitions, none without rows."""
    written = []
    for partition, part in _partitions(table, rows):
        written += write_groups(folder, table, partition, [part])
    return written


def write_groups(
    folder: str, table: LakeTable, partition: Mapping[str, str | None], groups: Iterable[pa.Table]
) -> list[DataFile]:
    """Write row groups to one file; none without rows. What was begun when it fails is ended."""
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
    """As Delta's log has them: of strings, integers and dates."""
    return {name: None if value is None else str(value) for name, value in values.items()}


class _Statistics:
    """The least and greatest values of some columns, and how many nulls they have."""

    def __init__(self, schema: pa.Schema, columns: Sequence[str]) -> None:
        for name in columns:
            kind = schema.field(name).type
            if not (pa.types.is_integer(kind) or pa.types.is_string(kind)):
                raise TypeError(f"{name}: of {kind} there are no statistics")
        self.columns = tuple(columns)
        self._least: dict[str, Any] = {}
        self._greatest: dict[str, Any] = {}
        self._nulls: Counter[str] = Counter(dict.fromkeys(columns, 0))

    def add(self, rows: pa.Table) -> None:
        """Take in a row group."""
        for name in self.columns:
            column = rows.column(name)
            self._nulls[name] += column.null_count
            ends = pc.min_max(column)
            least, greatest = ends["min"].as_py(), ends["max"].as_py()
            if least is not None:
                self._least[name] = min(least, self._least.get(name, least))
                self._greatest[name] = max(greatest, self._greatest.get(name, greatest))

    def values(self) -> dict[str, dict[str, Any]]:
        """As Delta's log has them."""
        short = [name for name in self._least if self._is_short(name)]
        return {
            "minValues": {name: self._least[name] for name in short},
            "maxValues": {name: self._greatest[name] for name in short},
            "nullCount": dict(self._nulls),
        }

    def _is_short(self, name: str) -> bool:
        ends = (self._least[name], self._greatest[name])
        return not any(isinstance(end, str) and len(end) > _LONGEST for end in ends)
