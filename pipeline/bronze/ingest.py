"""Ingestion of the planned segments of the input as rows of `bronze/segments`."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np
import pyarrow as pa

from decoder import BinlogError, Framer
from decoder.constants import EventFlag
from decoder.encryption import StreamCipher
from decoder.events import FormatDescriptionEvent
from decoder.segments import (
    FLAGS_POSITION,
    EventStatistics,
    SegmentBounds,
    has_in_use_flag,
    read_description,
)
from decoder.stream import Excerpt
from pipeline.bronze.batch_plan import BronzePlan, FilePlan
from pipeline.bronze.tables import SEGMENTS, FileRow, segments_table
from pipeline.lake.dealing import dealt
from pipeline.lake.delta_log.conditions import among, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.files.target_writer import Destination, TargetWriter, Written
from pipeline.lake.tables.tables import NewValue, Tables
from pipeline.observe.progress import Task
from pipeline.source.logs.archive import ArchiveError
from pipeline.source.logs.storage import (
    WINDOW,
    ResumedFile,
    opened,
    read_windows,
    read_with_retries,
)
from pipeline.spark.engine import Engine

Ciphers = Mapping[str, StreamCipher]
"""Ciphers of encrypted files, by path."""

TARGET = "segments"
"""The only target of the tasks' writers."""
_CONTENT = SEGMENTS.get_field_index("content")


def write_all(
    engine: Engine,
    folder: str,
    table: LakeTable,
    segments: Iterable[PlannedSegment],
    progress: Task,
) -> list[Written]:
    """Write the planned segments, in tasks, to uncommitted files in `folder`.

    Fails as a whole if a file has changed since it was planned.
    """
    size = attrgetter("size")
    tasks = list(dealt(list(segments), size, engine.tasks, _of_one_archive))
    sizes = [sum(map(size, task)) for task in tasks]
    written = engine.run(partial(write_segments, folder, table), tasks, progress, sizes)
    return [result for _, result in sorted(written, key=itemgetter(0))]


def commit_segments(tables: Tables, source: str, batch: int, written: Sequence[Written]) -> None:
    """Commit what tasks have written to `bronze/segments`, as one step of the batch."""
    files = [file for one in written for file in one.files.get(TARGET, ())]
    rests = [one.rest[TARGET] for one in written if TARGET in one.rest]
    if files or rests:
        rest = pa.concat_tables(rests) if rests else None
        step = Step(f"bronze/{source}/segments", batch)
        tables.append(segments_table(tables.lake), rest, step, files)


def planned_segments(plan: BronzePlan, batch: int, ciphers: Ciphers) -> Iterator[PlannedSegment]:
    """Yield the planned segments of all files, with the values for their rows."""
    for file in plan.files:
        for bounds in file.segments:
            large = bounds.end.position - bounds.start.position > plan.limit
            tail = file.tail and bounds is file.segments[-1]
            size = plan.part_size if large else None
            cipher = ciphers.get(file.row.path)
            yield PlannedSegment(file.row, bounds, tail, size, batch, cipher, file.codec)


def _of_one_archive(before: PlannedSegment, after: PlannedSegment) -> bool:
    """Return True for two segments of one compressed file: every task reads it from its start."""
    return after.codec is not None and before.row.path == after.row.path


def write_segments(folder: str, table: LakeTable, segments: Sequence[PlannedSegment]) -> Written:
    """Write the segments of one task to files in `folder`; rows too few for a file are returned.

    Raises OSError or BinlogError if a file has changed since it was planned.
    """
    with TargetWriter({TARGET: Destination(folder, table)}) as writer:
        for row in segment_rows(segments):
            writer.add(TARGET, row)
        return writer.finish()


def still_as_planned(engine: Engine, files: Sequence[FilePlan], ciphers: Ciphers) -> list[FilePlan]:
    """Return the files whose planned bytes can still be read and have not changed."""
    with_cipher = [(file, ciphers.get(file.row.path)) for file in files]
    checked = dict(engine.run(_is_as_planned, with_cipher))
    return [file for index, file in enumerate(files) if checked[index]]


def _is_as_planned(planned: tuple[FilePlan, StreamCipher | None]) -> bool:
    file, cipher = planned
    try:
        return not file.segments or read_with_retries(partial(_has_planned_bytes, file, cipher))
    except (OSError, ArchiveError):
        return False


def _has_planned_bytes(file: FilePlan, cipher: StreamCipher | None) -> bool:
    start, end = file.segments[0].start, file.segments[-1].end
    crc = start.crc
    with opened(file.row.path, cipher, file.codec) as stream:
        stream.seek(start.position)
        position = start.position
        for window in read_windows(stream, end.position - start.position):
            crc = zlib.crc32(masked(window, position), crc)
            position += len(window)
    return crc == end.crc


def clear_in_use_flags(
    tables: Tables, source: str, files: Sequence[FilePlan], *, batch: int
) -> None:
    """Clear the in-use flag in bronze's bytes of files that the server has closed since."""
    closed = [file.row for file in files if file.clear_in_use]
    if not closed:
        return
    first = equal("source", source) & equal("start_pos", 0) & equal("part", 0)
    mine = among("file", [row.file for row in closed])
    mine &= among("incarnation", [row.incarnation for row in closed])
    tables.update(
        segments_table(tables.lake), first & mine, _CLEARING, Step(f"bronze/{source}/in_use", batch)
    )


_AT = FLAGS_POSITION + 1
_FLAGS = f"CAST(conv(hex(substring(content, {_AT}, 1)), 16, 10) AS INT)"
_CLEARED = f"overlay(content PLACING unhex(lpad(hex({_FLAGS} & 254), 2, '0')) FROM {_AT} FOR 1)"


def _cleared(rows: pa.Table) -> list[bytes]:
    return [masked(content, 0) for content in rows.column("content").to_pylist()]


def _contents(rows: pa.Table) -> pa.Array:
    return pa.array(_cleared(rows), pa.binary())


def _digests(rows: pa.Table) -> pa.Array:
    return pa.array(
        [hashlib.sha256(content).hexdigest() for content in _cleared(rows)], pa.string()
    )


_CLEARING = (
    NewValue("content", _CLEARED, _contents),
    NewValue("sha256", f"sha2({_CLEARED}, 256)", _digests),
)
"""Idempotent changes: each is computed from the row before the update."""


# --- the rows of segments -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """A segment of a file to ingest, with the values for its rows.

    `incomplete`: the segment is not made of whole transactions. `part_size`: the size of the parts
    that it is split into; None for a single row.
    """

    row: FileRow
    bounds: SegmentBounds
    incomplete: bool
    part_size: int | None
    batch: int
    cipher: StreamCipher | None = None
    codec: str | None = None

    @property
    def size(self) -> int:
        """The segment's size in bytes."""
        return self.bounds.end.position - self.bounds.start.position


def segment_rows(segments: Iterable[PlannedSegment]) -> Iterator[pa.RecordBatch]:
    """Yield each row as a batch of its own, without copying the bytes read."""
    for _, of_one_file in groupby(segments, key=lambda segment: segment.row.path):
        for row in _rows_of_file(list(of_one_file)):
            content = pa.py_buffer(row["content"])
            offsets = pa.py_buffer(np.array([0, content.size], np.int32))
            cell = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content])
            batch = pa.RecordBatch.from_pylist([row | {"content": b""}], schema=SEGMENTS)
            yield batch.set_column(_CONTENT, SEGMENTS.field(_CONTENT), cell)


def _rows_of_file(segments: Sequence[PlannedSegment]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one file, opened once: a compressed file is read from its beginning."""
    one = segments[0]
    with ResumedFile(one.row.path, one.cipher, one.codec) as log:
        for segment in segments:
            yield from _rows(log, segment)


def _rows(log: ResumedFile, segment: PlannedSegment) -> Iterator[dict[str, Any]]:
    """Yield the rows of one segment; part 0 comes last, since it has the totals of all parts."""
    bounds, row = segment.bounds, segment.row
    first: dict[str, Any] | None = None
    statistics = _SegmentStatistics(segment)
    crc = bounds.start.crc
    for part, content in enumerate(_parts(log, segment)):
        if part == 0:
            crc = zlib.crc32(masked(content, bounds.start.position), crc)
            content = masked(content, bounds.start.position, in_use=row.in_use)
        else:
            crc = zlib.crc32(content, crc)
        statistics.add(content)
        values = _values(segment, part, content)
        if part:
            yield values
        else:
            first = values
    if crc != bounds.end.crc or first is None:
        raise BinlogError(
            "the bytes from here on have changed since they were planned",
            file=row.file,
            position=bounds.start.position,
        )
    yield first | statistics.values()


def _parts(log: ResumedFile, segment: PlannedSegment) -> Iterator[bytes]:
    """Yield the segment's bytes, whole or in parts, as far as the log has them."""
    end = segment.bounds.end.position
    size = segment.part_size or segment.size
    for position in range(segment.bounds.start.position, end, size):
        if content := log.read(position, min(size, end - position)):
            yield content


def masked(content: bytes, position: int, *, in_use: bool = False) -> bytes:
    """Return the bytes from `position` of a file with the file's in-use flag cleared (or set)."""
    if position or not has_in_use_flag(content[: FLAGS_POSITION + 1]):
        return content
    changed = bytearray(content)
    cleared = changed[FLAGS_POSITION] & (0xFF ^ EventFlag.BINLOG_IN_USE)
    changed[FLAGS_POSITION] = cleared | (EventFlag.BINLOG_IN_USE if in_use else 0)
    return bytes(changed)


class _SegmentStatistics:
    """A segment's event counts and its excerpt; both empty for an incomplete tail."""

    def __init__(self, segment: PlannedSegment) -> None:
        self._segment = segment
        self._tally = EventStatistics()
        self._excerpt = Excerpt()
        self._framer = Framer(verify=False)
        bounds = segment.bounds
        self._description: FormatDescriptionEvent | None = None
        if bounds.start.position and not segment.incomplete:
            self._framer.resume(bounds.start, bounds.preamble, bounds.transaction_pos)
            self._description = read_description(bounds.preamble)

    def add(self, content: bytes) -> None:
        if self._segment.incomplete:
            return
        if self._description is None:
            self._description = read_description(content)
        for start in range(0, len(content), WINDOW):
            for window in self._framer.feed(content[start : start + WINDOW]):
                self._tally.add([window], self._description)
                self._excerpt.add(window)

    def values(self) -> dict[str, Any]:
        tally = self._tally
        return {
            "events": tally.events,
            "transactions": tally.transactions,
            "first_committed_at": tally.first_committed_at,
            "last_committed_at": tally.last_committed_at,
            "gtids": tally.gtid_text,
            "excerpt": self._events(),
        }

    def _events(self) -> list[dict[str, Any]] | None:
        """Return the excerpt; None unless the whole segment was framed."""
        framer, events = self._framer, self._excerpt.events
        whole = framer.end.position == self._segment.bounds.end.position
        if framer.fault or not whole or events is None:
            return None
        return [{"position": position, "event": event} for position, event in events]


def _values(segment: PlannedSegment, part: int, content: bytes) -> dict[str, Any]:
    row, bounds = segment.row, segment.bounds
    return {
        "source": row.source,
        "file": row.file,
        "incarnation": row.incarnation,
        "ordinal": row.ordinal,
        "start_pos": bounds.start.position,
        "end_pos": bounds.end.position,
        "part": part,
        "preamble": bounds.preamble,
        "content": content,
        "sha256": hashlib.sha256(content).hexdigest(),
        "transaction_pos": bounds.transaction_pos,
        "incomplete": segment.incomplete,
        "batch": segment.batch,
    }
