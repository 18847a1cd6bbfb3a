"""The format `binlog` without Spark: what Spark's workers do with it, in this process."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import Filter, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from pipeline.lake.delta_log.spark_types import spark_schema
from pyspark_binlog import DefaultSource
from pyspark_binlog.batch import FilteringReader
from pyspark_binlog.options import read_options
from pyspark_binlog.read_plan import LogInput, RangeReader
from pyspark_binlog.stream import StreamReader

PLACE = ("__lsn", "__pos", "__row")
Row = Mapping[str, Any]


def rows_of(path: Path | str, **options: str) -> list[dict[str, Any]]:
    """Return all rows that a DataFrame has, in the order of the log."""
    source = DefaultSource({"path": str(path), **options})
    reader = source.reader(source.schema())
    return in_order(rows_in(reader.partitions(), reader.read))


def filtered(
    path: Path | str, *filters: Filter, **options: str
) -> tuple[list[dict[str, Any]], int, list[Filter]]:
    """Return the rows of a read to which Spark pushes filters down, the number of its partitions,
    and the filters that Spark has to evaluate."""
    chosen = read_options({"path": str(path), **options})
    log = LogInput(chosen)
    files = log.files()
    definitions = log.definitions(files)
    plan = log.batch(files, definitions)
    read = RangeReader.of(plan.rows, spark_schema(log.schema(definitions)), chosen)
    reader = FilteringReader(plan, read)
    left = [*reader.pushFilters([*filters])]
    parts = reader.partitions()
    return in_order(rows_in(parts, reader.read)), len(parts), left


def rows_in(
    parts: Iterable[InputPartition], read: Callable[[Any], Iterator[Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of partitions as a task reads them."""
    for part in parts:
        for batch in read(pickle.loads(pickle.dumps(part))):
            yield from batch.to_pylist()


def in_order(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows in the order of the log."""
    return sorted(rows, key=lambda row: tuple(row[name] for name in PLACE))


def replayed(rows: Iterable[Row], key: str = "id") -> list[dict[str, Any]]:
    """Return the table that the changes lead to, in order of its key."""
    table: dict[Any, dict[str, Any]] = {}
    for row in rows:
        if row["before"] is not None:
            del table[row["before"][key]]
        if row["after"] is not None:
            table[row["after"][key]] = row["after"]
    return [table[value] for value in sorted(table)]


class PlayedStream:
    """A stream's micro-batches, planned and read one by one, over a folder that grows."""

    def __init__(self, path: Path | str, schema: StructType | None = None, **options: str) -> None:
        self._source = DefaultSource({"path": str(path), **options})
        self._schema = schema or self._source.schema()
        self.restart()
        self.offset: dict[str, Any] = self._reader.initialOffset()

    def restart(self) -> None:
        """Plan with a new process, which knows only the offset."""
        self._reader = self._new_reader()

    def until_now(self) -> None:
        """Let the query end where the log ends now, as the trigger AvailableNow does."""
        self._reader.prepareForTriggerAvailableNow()

    def next(self, *, limited: bool = True) -> list[dict[str, Any]]:
        """Return the rows of the next micro-batch, and continue after it."""
        limit = self._reader.getDefaultReadLimit() if limited else ReadAllAvailable()
        start, self.offset = self.offset, self._reader.latestOffset(self.offset, limit)
        return self.between(start, self.offset)

    def between(self, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the rows between two offsets, which a task reads without the planning reader."""
        task = self._new_reader()
        return in_order(rows_in(self._reader.partitions(start, end), task.read))

    def _new_reader(self) -> StreamReader:
        """Return a reader as another process gets it: Spark pickles the source."""
        reader: StreamReader = pickle.loads(pickle.dumps(self._source)).streamReader(self._schema)
        return reader
