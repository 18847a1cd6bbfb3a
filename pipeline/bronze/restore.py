"""Giving an ingested file back, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession, functions as sf

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
    for first, last in _groups(mine, rows[-1].ingested_upto):
        group = mine.where(sf.col("start_pos").between(first, last))
        pieces = group.select("start_pos", "part", "content").collect()
        for piece in sorted(pieces, key=lambda row: (row["start_pos"], row["part"])):
            yield bytes(piece["content"])


def _groups(segments: DataFrame, size: int) -> Iterator[tuple[int, int]]:
    """First and last start of segments that are fetched together."""
    if size <= _FETCH_BYTES:
        yield 0, size
        return
    ends = segments.where("part = 0").select("start_pos", "end_pos").collect()
    first: int | None = None
    last = 0
    for start, end in sorted((row["start_pos"], row["end_pos"]) for row in ends):
        if first is not None and end - first > _FETCH_BYTES:
            yield first, last
            first = None
        first = start if first is None else first
        last = start
    if first is not None:
        yield first, last
