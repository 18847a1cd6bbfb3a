"""Ingestion of the planned cuts of the input as rows of `bronze/segments`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from operator import attrgetter, itemgetter

import pyarrow as pa

from decoder.encryption.stream_cipher import StreamCipher
from decoder.segments.framer import FLAGS_POSITION
from pipeline.bronze.batch_plan import BronzePlan, FilePlan
from pipeline.bronze.rows import PlannedSegment, masked, segment_rows
from pipeline.bronze.tables import segments_table
from pipeline.lake.dealing import dealt
from pipeline.lake.delta_log.conditions import among, equal
from pipeline.lake.delta_log.table import LakeTable, Step
from pipeline.lake.files.target_writer import Destination, TargetWriter, Written
from pipeline.lake.tables.tables import Change, Tables
from pipeline.observe.progress import Task
from pipeline.source.logs.archive import ArchiveError
from pipeline.source.logs.storage import opened, read_windows, read_with_retries
from pipeline.spark.engine import Engine

Ciphers = Mapping[str, StreamCipher]
"""Ciphers of encrypted files, by path."""

SEGMENTS = "segments"
"""The only target of the tasks' writers."""


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
    files = [file for one in written for file in one.files.get(SEGMENTS, ())]
    rests = [one.rest[SEGMENTS] for one in written if SEGMENTS in one.rest]
    if files or rests:
        rest = pa.concat_tables(rests) if rests else None
        step = Step(f"bronze/{source}/segments", batch)
        tables.append(segments_table(tables.lake), rest, step, files)


def planned_segments(plan: BronzePlan, batch: int, ciphers: Ciphers) -> Iterator[PlannedSegment]:
    """Yield the planned cuts of all files, with the values for their rows."""
    for file in plan.files:
        for cut in file.cuts:
            large = cut.end.position - cut.start.position > plan.limit
            tail = file.tail and cut is file.cuts[-1]
            size = plan.part_size if large else None
            cipher = ciphers.get(file.row.path)
            yield PlannedSegment(file.row, cut, tail, size, batch, cipher, file.codec)


def _of_one_archive(before: PlannedSegment, after: PlannedSegment) -> bool:
    """Return True for two segments of one compressed file: every task reads it from its start."""
    return after.codec is not None and before.row.path == after.row.path


def write_segments(folder: str, table: LakeTable, segments: Sequence[PlannedSegment]) -> Written:
    """Write the segments of one task to files in `folder`; rows too few for a file are returned.

    Raises OSError or BinlogError if a file has changed since it was planned.
    """
    with TargetWriter({SEGMENTS: Destination(folder, table)}) as writer:
        for row in segment_rows(segments):
            writer.add(SEGMENTS, row)
        return writer.finish()


def still_as_planned(engine: Engine, files: Sequence[FilePlan], ciphers: Ciphers) -> list[FilePlan]:
    """Return the files whose planned bytes can still be read and have not changed."""
    with_cipher = [(file, ciphers.get(file.row.path)) for file in files]
    checked = dict(engine.run(_is_as_planned, with_cipher))
    return [file for index, file in enumerate(files) if checked[index]]


def _is_as_planned(planned: tuple[FilePlan, StreamCipher | None]) -> bool:
    file, cipher = planned
    try:
        return not file.cuts or read_with_retries(partial(_has_planned_bytes, file, cipher))
    except (OSError, ArchiveError):
        return False


def _has_planned_bytes(file: FilePlan, cipher: StreamCipher | None) -> bool:
    start, end = file.cuts[0].start, file.cuts[-1].end
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
    return pa.array([sha256(content).hexdigest() for content in _cleared(rows)], pa.string())


_CLEARING = (
    Change("content", _CLEARED, _contents),
    Change("sha256", f"sha2({_CLEARED}, 256)", _digests),
)
"""Idempotent changes: each is computed from the row before the update."""
