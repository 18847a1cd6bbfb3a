"""Carrying out a plan: the planned stretches of the input become rows of `bronze/segments`."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import SparkSession

from decoder.encryption.stream_cipher import StreamCipher
from decoder.framer import FLAGS_POSITION
from pipeline import delta
from pipeline.bronze.archive import ArchiveError
from pipeline.bronze.plan import FilePlan
from pipeline.bronze.rows import Stretch, masked, segment_batches
from pipeline.bronze.storage import opened, read_anew, read_windows
from pipeline.bronze.tables import SEGMENTS_DDL
from pipeline.kernels import Batches, warm_first
from pipeline.lake import Lake
from pipeline.sessions import own_session, tasks_of_a_job
from pipeline.sql_text import in_sql, literal

Ciphers = Mapping[str, StreamCipher]
"""What reads encrypted files, by path."""
_NONE: Ciphers = MappingProxyType({})

TASK_BYTES = 128 << 20
"""At most about as many bytes go through one task, into one Parquet file."""
_LEAST_TASK_BYTES = 32 << 20
BIG_ROWS = {
    # Parquet counts rows, not bytes, before it looks at how much memory they take.
    "parquet.page.size.row.check.min": "1",
    "parquet.page.size.row.check.max": "1",
    # A reader that takes 4096 rows at once would take a whole file.
    "spark.sql.parquet.enableVectorizedReader": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
}
"""Settings of a session that writes or reads rows of 16 MiB and more."""


def append_segments(
    spark: SparkSession,
    lake: Lake,
    source: str,
    files: Sequence[FilePlan],
    *,
    batch: int,
    limit: int,
    part_size: int,
    ciphers: Ciphers = _NONE,
) -> None:
    """Append the planned segments of all files, as one step of the batch.

    Fails as a whole, with nothing written, where a file is not any more as it was planned.
    """
    stretches = _stretches(files, batch, limit, part_size, ciphers)
    dealt = list(chunks(stretches, tasks_of_a_job(spark)))
    if not dealt:
        return
    session = own_session(spark, BIG_ROWS)
    indexes = session.range(0, len(dealt), 1, len(dealt))
    delta.append_once(
        indexes.mapInArrow(warm_first(_reader(dealt)), SEGMENTS_DDL),
        lake.segments,
        app=f"bronze/{source}/segments",
        version=batch,
        options={"compression": "zstd"},
    )


def _reader(
    chunks: Sequence[Sequence[Stretch]],
) -> Batches:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column("id").to_pylist():
                yield from segment_batches(chunks[index])

    return read


def _stretches(
    files: Sequence[FilePlan], batch: int, limit: int, part_size: int, ciphers: Ciphers
) -> Iterator[Stretch]:
    for file in files:
        for cut in file.cuts:
            large = cut.end.position - cut.start.position > limit
            tail = file.tail and cut is file.cuts[-1]
            size = part_size if large else None
            cipher = ciphers.get(file.row.path)
            yield Stretch(file.row, cut, tail, size, batch, cipher, file.codec)


def chunks(stretches: Iterable[Stretch], tasks: int) -> Iterator[list[Stretch]]:
    """Stretches that follow each other, as many as one of so many tasks is to read.

    Those of one compressed file stay together: each task would have to read it from the start.
    """
    all_of_them = list(stretches)
    total = sum(stretch.size for stretch in all_of_them)
    most = min(max(total // tasks, _LEAST_TASK_BYTES), TASK_BYTES)
    chunk: list[Stretch] = []
    size = 0
    for stretch in all_of_them:
        same = chunk and stretch.codec and chunk[-1].row.path == stretch.row.path
        if chunk and not same and size + stretch.size > most:
            yield chunk
            chunk, size = [], 0
        chunk.append(stretch)
        size += stretch.size
    if chunk:
        yield chunk


def still_as_planned(
    spark: SparkSession, files: Sequence[FilePlan], ciphers: Ciphers = _NONE
) -> list[FilePlan]:
    """The files whose planned bytes can still be read, and are the same."""
    with_cipher = [(file, ciphers.get(file.row.path)) for file in files]

    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            good = [i for i in batch.column("id").to_pylist() if _is_as_planned(*with_cipher[i])]
            yield pa.RecordBatch.from_pydict({"id": pa.array(good, pa.int64())})

    indexes = spark.range(0, len(files), 1, len(files)).mapInArrow(check, "id BIGINT")
    return [files[row["id"]] for row in indexes.orderBy("id").collect()]


def _is_as_planned(file: FilePlan, cipher: StreamCipher | None) -> bool:
    try:
        return not file.cuts or read_anew(partial(_has_planned_bytes, file, cipher))
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
    spark: SparkSession, lake: Lake, source: str, files: Sequence[FilePlan], *, batch: int
) -> None:
    """Clear the flag in what bronze holds of files that the server has closed since."""
    closed = [file.row for file in files if file.clear_in_use]
    if not closed:
        return
    names = ", ".join(literal(row.file) for row in closed)
    incarnations = ", ".join(literal(row.incarnation) for row in closed)
    delta.execute_once(
        own_session(spark, BIG_ROWS),
        f"UPDATE {in_sql(lake.segments)} SET content = {_CLEARED}, sha256 = sha2({_CLEARED}, 256)"
        f" WHERE source = {literal(source)} AND start_pos = 0 AND part = 0"
        f" AND file IN ({names}) AND incarnation IN ({incarnations})",
        lake.segments,
        app=f"bronze/{source}/in_use",
        version=batch,
    )


_AT = FLAGS_POSITION + 1
_FLAGS = f"CAST(conv(hex(substring(content, {_AT}, 1)), 16, 10) AS INT)"
_CLEARED = f"overlay(content PLACING unhex(lpad(hex({_FLAGS} & 254), 2, '0')) FROM {_AT} FOR 1)"
