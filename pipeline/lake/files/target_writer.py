"""Writer of Parquet files for many of bronze's or silver's tables in one task.

A task of silver produces rows of many tables at once. Invariant: the memory for all of them
together is bounded, and a file is opened only for a table with enough rows for a row group. Rows
that do not fit in memory before that are spilled to the local disk, so that neither a thousand
files are open nor row groups get small. Rows that are too few for a file at the end are returned:
in memory, or in one scratch file for all tables.
"""

from __future__ import annotations

import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from types import TracebackType
from typing import IO

import pyarrow as pa

from pipeline.lake import stores
from pipeline.lake.delta_log.model import DataFile, LakeTable
from pipeline.lake.files.data_files import DataFileWriter

MIB = 1 << 20
GROUP_BYTES = 16 * MIB
"""Bytes of rows, before compression, at which a row group is written."""
GROUP_ROWS = 100_000
"""Rows at which a row group is written."""

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a task."""

    group_bytes: int = GROUP_BYTES
    group_rows: int = GROUP_ROWS
    open_bytes: int = 48 * MIB
    """Bytes of rows that a task holds in memory; beyond that the largest table's are spilled."""
    file_bytes: int = 128 * MIB
    """Bytes, as written, at which a file is finished."""
    small: int = 1 * MIB
    """Bytes of rows, before compression, below which a table gets no file of its own."""
    rest_bytes: int = 1 * MIB
    """Bytes of rows that a task returns in memory; the rest goes to a scratch file."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Destination of a target's rows: files in `folder`, with `constants` as extra columns."""

    folder: str
    table: LakeTable
    constants: Mapping[str, object] = field(default_factory=dict)

    def rows(self, batches: list[pa.RecordBatch]) -> pa.Table:
        """Return batches as rows with the table's schema."""
        rows = pa.Table.from_batches(batches)
        for name, value in self.constants.items():
            kind = self.table.schema.field(name)
            rows = rows.append_column(kind, pa.repeat(pa.scalar(value, kind.type), len(rows)))
        return rows.select(self.table.schema.names).cast(self.table.schema)


@dataclass(slots=True)
class Written:
    """The output of a task, by target: uncommitted files, rows that are too few for a file (with
    their table's schema), and row counts.

    `rest`: those rows in memory; `places`: offset and length in the `scratch` file of the others.
    """

    files: dict[str, list[DataFile]] = field(default_factory=dict)
    rest: dict[str, pa.Table] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    scratch: str = ""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def rests(self) -> Iterator[tuple[str, list[pa.RecordBatch]]]:
        """Yield all rows that are not in a table's file, with their targets."""
        for name, rows in self.rest.items():
            yield name, rows.to_batches()
        if self.places:
            with stores.readable(self.scratch) as file:
                for name, (start, size) in self.places.items():
                    file.seek(start)
                    yield name, list(_unpacked(file.read(size)))


@dataclass(slots=True)
class _Target:
    batches: list[pa.RecordBatch] = field(default_factory=list)
    held: int = 0
    spilled: list[tuple[int, int]] = field(default_factory=list)
    waiting: int = 0
    """Bytes that are in memory or spilled; `rows`: the number of these rows."""
    rows: int = 0
    writer: DataFileWriter | None = None


class TargetWriter:
    """Writer of batches by target. Rows of targets without a destination are all returned.

    `scratch`: the folder for rows that are too few for a file, but too many to return in memory;
    without one, these are written to files too.

    A context manager: if the task fails, unfinished files are removed.
    """

    def __init__(
        self,
        destinations: Mapping[str, Destination],
        limits: Limits | None = None,
        scratch: str | None = None,
    ) -> None:
        self._scratch = scratch
        self._destinations = destinations
        self._limits = limits or Limits()
        self._targets: dict[str, _Target] = {}
        self._held = 0
        self._open_files = ExitStack()
        self._spill = _Spill(self._open_files)
        self._written = Written()

    def __enter__(self) -> TargetWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with ExitStack() as ending:
            ending.enter_context(self._open_files)
            for target in self._targets.values():
                if target.writer is not None:
                    ending.callback(target.writer.abandon)

    @property
    def held(self) -> int:
        """Bytes of rows in memory."""
        return self._held

    def add(self, name: str, batch: pa.RecordBatch) -> None:
        """Add a batch; all batches of a target must have the same schema."""
        if not batch.num_rows:
            return
        target = self._targets.setdefault(name, _Target())
        size = batch.nbytes
        target.batches.append(batch)
        target.held += size
        target.waiting += size
        target.rows += batch.num_rows
        self._held += size
        self._written.counts[name] += batch.num_rows
        enough = (
            target.waiting >= self._limits.group_bytes or target.rows >= self._limits.group_rows
        )
        if enough and name in self._destinations:
            self._write(name)
        while self._held > self._limits.open_bytes:
            self._spill_target(max(self._targets.values(), key=lambda one: one.held))

    def finish(self) -> Written:
        """Write the remaining rows, except those too few for a file; call it only once."""
        small = []
        for name, target in self._targets.items():
            if name not in self._destinations:
                self._written.rest[name] = _own(pa.Table.from_batches(self._taken(target)))
            elif target.writer is not None or target.waiting >= self._limits.small:
                self._end(name)
            elif target.rows:
                small.append(name)
        small.sort(key=lambda name: self._targets[name].waiting)
        sizes = accumulate(self._targets[name].waiting for name in small)
        given = sum(size <= self._limits.rest_bytes for size in sizes)
        for name in small[:given]:
            self._written.rest[name] = _own(self._small(name))
        self._write_scratch(small[given:])
        return self._written

    def _small(self, name: str) -> pa.Table:
        return self._destinations[name].rows(self._taken(self._targets[name]))

    def _write_scratch(self, names: list[str]) -> None:
        """Write rows that are too few for files, but too many to return in memory."""
        if self._scratch is None:
            for name in names:
                self._end(name)
        elif names:
            self._written.scratch = f"{self._scratch}/{uuid.uuid4().hex}.arrows"
            with stores.binary(self._written.scratch) as file:
                end = 0
                for name in names:
                    packed = _packed(self._small(name).to_batches())
                    file.write(packed)
                    self._written.places[name] = end, packed.size
                    end += packed.size

    def _end(self, name: str) -> None:
        target = self._targets[name]
        if target.rows:
            self._write(name)
        if target.writer is not None:
            self._close(name)

    def _write(self, name: str) -> None:
        """Write a target's waiting rows as a row group."""
        target, destination = self._targets[name], self._destinations[name]
        if target.writer is None:
            target.writer = DataFileWriter(destination.folder, destination.table)
        target.writer.write(destination.rows(self._taken(target)))
        if target.writer.size >= self._limits.file_bytes:
            self._close(name)

    def _close(self, name: str) -> None:
        target = self._targets[name]
        assert target.writer is not None
        self._written.files.setdefault(name, []).append(target.writer.close())
        target.writer = None

    def _spill_target(self, target: _Target) -> None:
        target.spilled.append(self._spill.put(target.batches))
        self._held -= target.held
        target.batches, target.held = [], 0

    def _taken(self, target: _Target) -> list[pa.RecordBatch]:
        """Remove and return a target's waiting batches, in order."""
        batches = [batch for place in target.spilled for batch in self._spill.get(place)]
        batches += target.batches
        self._held -= target.held
        target.batches, target.held, target.spilled = [], 0, []
        target.waiting = target.rows = 0
        return batches


class _Spill:
    """Spilled batches, in a temporary file on the local disk that ends with its process."""

    def __init__(self, open_files: ExitStack) -> None:
        self._open_files = open_files
        self._file: IO[bytes] | None = None
        self._end = 0

    def put(self, batches: list[pa.RecordBatch]) -> tuple[int, int]:
        """Write batches; return their offset and length in the file."""
        packed = _packed(batches)
        place = self._end, packed.size
        file = self._opened()
        file.seek(self._end)
        file.write(packed)
        self._end += packed.size
        return place

    def get(self, place: tuple[int, int]) -> Iterator[pa.RecordBatch]:
        """Read the batches that `put` wrote."""
        start, size = place
        file = self._opened()
        file.seek(start)
        yield from _unpacked(file.read(size))

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            with ExitStack() as opening:
                self._file = opening.enter_context(tempfile.TemporaryFile(prefix="binlake-"))
                self._open_files.push(opening.pop_all())
        return self._file


def _packed(batches: list[pa.RecordBatch]) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema, options=_COMPRESSED) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def _unpacked(packed: bytes) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(packed) as reader:
        yield from reader


def _own(rows: pa.Table) -> pa.Table:
    """Copy rows, so that they do not keep the larger buffers alive that they are slices of."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    with pa.ipc.open_stream(sink.getvalue()) as reader:
        table: pa.Table = reader.read_all()
        return table
