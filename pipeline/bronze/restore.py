"""Restore of an ingested file, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from pipeline.bronze.files import read_files
from pipeline.bronze.tables import segments_table
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import Condition, compare, equal
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of

FETCH_BYTES = 32 << 20
"""Approximate bytes fetched to the driver at a time."""


class _Place(NamedTuple):
    """The place of a row of `bronze/segments` in its file."""

    start_pos: int
    part: int


def restore(
    spark: Spark,
    lake: Lake,
    source: str,
    file: str,
    *,
    incarnation: str | None = None,
    fetch_bytes: int = FETCH_BYTES,
) -> Iterator[bytes]:
    """Yield the bytes of a file in bronze, in chunks, in order.

    Of several files with that name, restore the last, unless `incarnation` selects one. About
    `fetch_bytes` are in memory at a time. Raises SettingsError if there is no such file, or if
    maintenance has removed its bytes.
    """
    rows = [row for row in read_files(spark, lake, source) if row.file == file]
    if incarnation is not None:
        rows = [row for row in rows if row.incarnation == incarnation]
    if not rows:
        raise SettingsError(f"{file} was not ingested for source {source}.", key="file")
    tables, segments = tables_of(spark, lake), segments_table(lake)
    mine = equal("source", source) & equal("ordinal", rows[-1].ordinal)
    groups = list(_groups(tables.read(segments, mine, [*_Place._fields, "end_pos"]), fetch_bytes))
    if rows[-1].ingested_upto and (not groups or groups[0][0].start_pos):
        raise SettingsError(
            f"the bytes of {file} were removed from bronze by binlake maintain.",
            key="file",
            remedy="retention.bronze in conf sets how long they are kept.",
        )
    for first, last in groups:
        pieces = tables.read(
            segments, mine & _between(first, last), [*_Place._fields, "content"]
        ).sort_by([(name, "ascending") for name in _Place._fields])
        for content in pieces.column("content"):
            yield content.as_py()


def _between(first: _Place, last: _Place) -> Condition:
    """Match rows from one place to another; files are skipped by the first two conditions."""
    return (
        compare("start_pos", ">=", first.start_pos)
        & compare("start_pos", "<=", last.start_pos)
        & (compare("start_pos", ">", first.start_pos) | compare("part", ">=", first.part))
        & (compare("start_pos", "<", last.start_pos) | compare("part", "<=", last.part))
    )


def _groups(segments: pa.Table, fetch_bytes: int) -> Iterator[tuple[_Place, _Place]]:
    """Yield the first and last place of each group of rows to fetch together.

    All parts of a segment but the last have the same size, so their sizes are known without reading
    them.
    """
    found = segments.group_by(["start_pos", "end_pos"]).aggregate([([], "count_all")])
    group: list[_Place] = []
    size = 0
    columns = [found.column(name).to_pylist() for name in ("start_pos", "end_pos", "count_all")]
    for start, end, parts in sorted(zip(*columns, strict=True)):
        for part in range(parts):
            part_size = (end - start) // parts
            if group and size + part_size > fetch_bytes:
                yield group[0], group[-1]
                group, size = [], 0
            group.append(_Place(start, part))
            size += part_size
    if group:
        yield group[0], group[-1]
