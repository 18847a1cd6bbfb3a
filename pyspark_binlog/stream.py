"""Streams over a folder into which a capture lands a server's log.

The rows between two offsets never change, so a micro-batch that is repeated has the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType
from typing_extensions import override

from pyspark_binlog.committed_rows import CommittedRows
from pyspark_binlog.log_ranges import LogRange, divided, lsn_at, part_of
from pyspark_binlog.log_survey import SurveyedFile
from pyspark_binlog.options import ReadOptions
from pyspark_binlog.read_plan import LogInput, RangeReader
from pyspark_binlog.stream_offsets import (
    LostLogError,
    StreamOffset,
    StreamPosition,
    end_of,
    outcomes,
    parts_between,
    reach,
)


@dataclass(frozen=True)
class StreamRange(InputPartition):
    """A range of the log and its decoder; tasks get nothing else of the plan."""

    read: LogRange
    rows: CommittedRows


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Planner of micro-batches beside the driver, and reader of their ranges in tasks."""

    def __init__(self, options: ReadOptions, schema: StructType, *, exact: bool = False) -> None:
        self._options = options
        self._schema = schema
        self._exact = exact
        self._log: LogInput | None = None
        self._files: Sequence[SurveyedFile] = ()
        self._target: StreamPosition | None = None

    @override
    def initialOffset(self) -> dict[str, Any]:
        """Return the place before the first file."""
        return StreamOffset().to_dict()

    @override
    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit that the options set for each micro-batch."""
        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        if self._options.max_files_per_trigger is not None:
            return ReadMaxFiles(self._options.max_files_per_trigger)
        return ReadAllAvailable()

    @override
    def prepareForTriggerAvailableNow(self) -> None:
        """End the query at the log's current end."""
        self._target = end_of(self._survey())

    @override
    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next micro-batch ends: between transactions, within the limit."""
        begin = StreamOffset.from_dict(start)
        files = self._survey()
        begin.require_log(files)
        place = reach(files, begin.place, limit)
        if self._target is not None:
            place = max(begin.place, min(place, self._target))
        return begin.after(files, place).to_dict() if place > begin.place else start

    @override
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the ranges between two offsets, and XA transactions that are committed there."""
        begin, stop = StreamOffset.from_dict(start), StreamOffset.from_dict(end)
        files = self._files if stop.place <= end_of(self._files) else self._survey()
        begin.require_log(files)
        stop.require_log(files)
        log = self._input()
        definitions = log.definitions(files)
        rows, names = log.rows(definitions), definitions.names
        xa = outcomes(files, begin, stop.place)
        found = []
        for number, first, last in begin.prepared.values():
            if lsn_at(number, first) in xa.commits:
                file = _file_of(files, number)
                found.append(part_of(file, first, last, names, xa))
        for file, first, last in parts_between(files, begin.place, stop.place):
            for next_one in divided(file, first, last, self._options.segment_bytes):
                found.append(part_of(file, first, next_one, names, xa))
                first = next_one
        return [StreamRange(read, rows) for read in found]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a range."""
        if isinstance(partition, StreamRange):
            read = RangeReader.of(partition.rows, self._schema, self._options, exact=self._exact)
            yield from read(partition.read)

    def _input(self) -> LogInput:
        """Return the log. Only the planning process opens it, as it has the settings' keys."""
        self._log = self._log or LogInput(self._options)
        return self._log

    def _survey(self) -> Sequence[SurveyedFile]:
        self._files = self._input().files()
        return self._files


def _file_of(files: Sequence[SurveyedFile], number: int) -> SurveyedFile:
    found = next((file for file in files if file.ordinal == number), None)
    if found is None:
        raise LostLogError(
            f"the log has no file number {number}, which has the rows of an XA transaction that was"
            " committed later.",
            remedy="Put the file back.",
        )
    return found
