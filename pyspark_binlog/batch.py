"""Batch reads: a partition for each file, or for each segment."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from typing_extensions import override

from decoder import BinlogError
from pyspark_binlog.log_ranges import LogRange
from pyspark_binlog.pushdown import Pushed, is_supported
from pyspark_binlog.read_plan import BatchPlan, RangeReader

_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class BatchReader(DataSourceReader):
    """Reader of the ranges of a plan. Raises BinlogError if the log was cut short."""

    def __init__(self, plan: BatchPlan, read: RangeReader) -> None:
        if plan.cut_short is not None:
            raise BinlogError(plan.cut_short)
        self._ranges = plan.ranges
        self._read = read
        self._pushed = Pushed()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the ranges: every task gets the reader, and a range of its own."""
        return {**self.__dict__, "_ranges": ()}

    @override
    def partitions(self) -> Sequence[InputPartition]:
        """Return the ranges that may have rows which meet the pushed filters."""
        return [one for one in self._ranges if self._pushed.allows(one)]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range. Without ranges, Spark passes a partition that has none."""
        if isinstance(partition, LogRange):
            yield from self._read(partition, self._pushed)


class FilteringReader(BatchReader):
    """A reader that evaluates the filters that `Pushed` supports."""

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Return the filters that Spark has to evaluate."""
        self._pushed = Pushed(tuple(filter(is_supported, filters)))
        return [one for one in filters if not is_supported(one)]


def batch_reader(plan: BatchPlan, read: RangeReader) -> BatchReader:
    """Return the reader, which takes filters only if Spark has some for it.

    With `spark.sql.python.filterPushdown.enabled`, Spark plans reads with filters in a worker
    program of their own. Without it, Spark refuses a reader that takes any.
    """
    main = getattr(sys.modules["__main__"], "__spec__", None)
    has_filters = _PUSHDOWN_WORKER in (*sys.modules, getattr(main, "name", None))
    return (FilteringReader if has_filters else BatchReader)(plan, read)
