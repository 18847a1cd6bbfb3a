"""Giving an ingested file back, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.files import read_files
from pipeline.bronze.ingest import BIG_ROWS
from pipeline.errors import SettingsError
from pipeline.lake import Lake

_FETCH_BYTES = 64 << 20


def restore(
    spark: SparkSession, lake: Lake, source: str, file: str, *, incarnation: str | None = None
) -> Iterator[bytes]:
    """The bytes of a file as bronze holds them, in pieces, in order.

    Of files of that name the last is taken, unless `incarnation` names one. Raises SettingsError
    where there is none.
    """
    rows = [row for row in read_files(spark, lake, source) if row.file == file]
    if incarnation is not None:
        rows = [row for row in rows if row.incarnation == incarnation]
    if not rows:
        raise SettingsError(f"{file} was not ingested for source {source}.", key="file")
    session = delta.own_session(spark, BIG_ROWS)
    mine = delta.read(session, lake.segments).where(
        (sf.col("source") == source) & (sf.col("ordinal") == rows[-1].ordinal)
    )
    size = sf.length("content").alias("size")
    starts = mine.select("start_pos", size).groupBy("start_pos").agg(sf.sum("size").alias("size"))
    ordered = sorted((row["start_pos"], row["size"]) for row in starts.collect())
    for first, last in _groups(ordered):
        group = mine.where(sf.col("start_pos").between(first, last))
        pieces = group.select("start_pos", "part", "content").collect()
        for piece in sorted(pieces, key=lambda row: (row["start_pos"], row["part"])):
            yield bytes(piece["content"])


def _groups(segments: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """First and last start of segments that are fetched together."""
    first: int | None = None
    last = total = 0
    for start, size in segments:
        if first is not None and total + size > _FETCH_BYTES:
            yield first, last
            first, total = None, 0
        first = start if first is None else first
        last = start
        total += size
    if first is not None:
        yield first, last
