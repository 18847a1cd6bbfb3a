"""Giving an ingested file back, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.files import read_files
from pipeline.bronze.ingest import BIG_ROWS
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.sessions import own_session

FETCH_BYTES = 32 << 20
"""About as much is brought to the driver at a time."""


class _Place(NamedTuple):
    """Where a row of `bronze/segments` stands in its file."""

    start_pos: int
    part: int


def restore(
    spark: SparkSession,
    lake: Lake,
    source: str,
    file: str,
    *,
    incarnation: str | None = None,
    fetch_bytes: int = FETCH_BYTES,
) -> Iterator[bytes]:
    """The bytes of a file as bronze holds them, in pieces, in order.

    Of files of that name the last is taken, unless `incarnation` names one. About `fetch_bytes` are
    in memory at a time. Raises SettingsError where there is no such file, or where maintenance has
    removed its bytes.
    """
    rows = [row for row in read_files(spark, lake, source) if row.file == file]
    if incarnation is not None:
        rows = [row for row in rows if row.incarnation == incarnation]
    if not rows:
        raise SettingsError(f"{file} was not ingested for source {source}.", key="file")
    session = own_session(spark, BIG_ROWS)
    mine = delta.read(session, lake.segments).where(
        (sf.col("source") == source) & (sf.col("ordinal") == rows[-1].ordinal)
    )
    groups = list(_groups(mine, fetch_bytes))
    if rows[-1].ingested_upto and (not groups or groups[0][0].start_pos):
        raise SettingsError(
            f"the bytes of {file} were removed from bronze by binlake maintain.",
            key="file",
            remedy="retention.bronze in conf says for how long they stay.",
        )
    for first, last in groups:
        pieces = mine.where(_between(first, last)).select(*_Place._fields, "content").collect()
        for piece in sorted(pieces, key=lambda row: (row["start_pos"], row["part"])):
            yield bytes(piece["content"])


def _between(first: _Place, last: _Place) -> str:
    """Rows from one place to another, as SQL; files are pruned by its first condition."""
    return (
        f"start_pos BETWEEN {first.start_pos} AND {last.start_pos}"
        f" AND (start_pos > {first.start_pos} OR part >= {first.part})"
        f" AND (start_pos < {last.start_pos} OR part <= {last.part})"
    )


def _groups(segments: DataFrame, fetch_bytes: int) -> Iterator[tuple[_Place, _Place]]:
    """The first and the last of the rows that are fetched together.

    A segment's parts are all of one size except the last, so that none of them need be read for it.
    """
    found = segments.groupBy("start_pos").agg(
        sf.first("end_pos").alias("end_pos"), sf.count("*").alias("parts")
    )
    group: list[_Place] = []
    size = 0
    for start, end, parts in sorted(tuple(row) for row in found.coalesce(1).collect()):
        for part in range(parts):
            part_size = (end - start) // parts
            if group and size + part_size > fetch_bytes:
                yield group[0], group[-1]
                group, size = [], 0
            group.append(_Place(start, part))
            size += part_size
    if group:
        yield group[0], group[-1]
