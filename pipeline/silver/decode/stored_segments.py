"""Read segments from bronze's data files, without Spark.

The parts of a segment are yielded in order, wherever they are stored: maintenance may have
rewritten the files. One row is held in memory at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import ConcurrentRunError
from pipeline.lake.files.data_files import opened
from pipeline.observe.interruption import raise_if_cancelled
from pipeline.silver.decode.decode import SEGMENT_COLUMNS
from pipeline.silver.decode.splitter import Place

_SMALL = ("source", "ordinal", "start_pos", "part", "incomplete")
"""The columns that decide whether a row is wanted."""


@dataclass(frozen=True, slots=True)
class StoredSegments:
    """Segments of a source to decode in order, and the files that contain them."""

    source: str
    places: tuple[Place, ...]
    files: tuple[str, ...]

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield rows of `SEGMENT_COLUMNS`, one per batch.

        Raises ConcurrentRunError if the files no longer contain all of the segments: a missing
        segment must not be taken for one without changes.
        """
        files = [_File(path) for path in self.files]
        wanted = frozenset(self.places)
        found = [
            row
            for number, file in enumerate(files)
            for row in file.index(number, self.source, wanted)
        ]
        if missing := wanted.difference((row.ordinal, row.start_pos) for row in found):
            ordinal, position = min(missing)
            raise ConcurrentRunError(
                f"bronze lacks file number {ordinal} of {self.source} from byte {position} on,"
                " which it had when the batch was planned.",
                remedy="Another program may have changed bronze. Run again; nothing was decoded.",
            )
        return _in_order(files, sorted(row for row in found if not row.incomplete))


class _Row(NamedTuple):
    """A row of bronze: its key, then its location.

    `incomplete`: the tail that a crashed server left; it is part of the log's file but of no
    transaction, and is skipped.
    """

    ordinal: int
    start_pos: int
    part: int
    file: int
    group: int
    at: int
    incomplete: bool


class _File:
    """A data file of bronze, open only while it is read: a task may have thousands."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._footer: pq.FileMetaData | None = None

    @contextmanager
    def opened(self) -> Iterator[pq.ParquetFile]:
        """Open the file; its footer is read once."""
        with opened(self._path, self._footer) as file:
            self._footer = file.metadata
            yield file

    def index(self, number: int, source: str, wanted: Collection[Place]) -> Iterator[_Row]:
        """Yield the wanted rows."""
        with self.opened() as file:
            for group in range(file.num_row_groups):
                columns = file.read_row_group(group, columns=list(_SMALL)).to_pydict()
                rows = zip(*(columns[name] for name in _SMALL), strict=True)
                for index, (of, ordinal, start_pos, part, incomplete) in enumerate(rows):
                    if of == source and (ordinal, start_pos) in wanted:
                        yield _Row(ordinal, start_pos, part, number, group, index, bool(incomplete))


def _in_order(files: Sequence[_File], rows: Iterable[_Row]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in order; consecutive rows of a row group are read in one pass."""
    for number, of_file in groupby(rows, key=lambda row: row.file):
        with files[number].opened() as file:
            for group, of_group in groupby(of_file, key=lambda row: row.group):
                yield from _of_group(file, group, of_group)


def _of_group(file: pq.ParquetFile, group: int, rows: Iterable[_Row]) -> Iterator[pa.RecordBatch]:
    reached = 0
    batches: Iterator[pa.RecordBatch] = iter(())
    for row in rows:
        raise_if_cancelled()
        if row.at < reached or not reached:
            batches, reached = _batches(file, group), 0
        yield next(islice(batches, row.at - reached, None))
        reached = row.at + 1


def _batches(file: pq.ParquetFile, group: int) -> Iterator[pa.RecordBatch]:
    found: Iterator[pa.RecordBatch] = file.iter_batches(
        batch_size=1, row_groups=[group], columns=list(SEGMENT_COLUMNS)
    )
    return found
