"""Giving an ingested file back, byte for byte."""

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
"""About as much is brought to the driver at a time."""


class _Place(NamedTuple):
    """Where a row of `bronze/segments` stands in its file."""

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
    tables, segments = tables_of(spark, lake), segments_table(lake)
    mine = equal("source", source) & equal("ordinal", rows[-1].ordinal)
    groups = list(_groups(tables.read(segments, mine, [*_Place._fields, "end_pos"]), fetch_bytes))
    if rows[-1].ingested_upto and (not groups or groups[0][0].start_pos):
        raise SettingsError(
            f"the bytes of {file} were removed from bronze by binlake maintain.",
            key="file",
            remedy="retention.bronze in conf says for how long they stay.",
        )
    for first, last in groups:
        pieces = tables.read(
            segments, mine & _between(first, last), [*_Place._fields, "content"]
        ).sort_by([(name, "ascending") for name in _Place._fields])
        for content in pieces.column("content"):
            yield content.as_py()


def _between(first: _Place, last: _Place) -> Condition:
    """Rows from one place to another; files are pruned by its first conditions."""
    return (
        compare("start_pos", ">=", first.start_pos)
        & compare("start_pos", "<=", last.start_pos)
        & (compare("start_pos", ">", first.start_pos) | compare("part", ">=", first.part))
        & (compare("start_pos", "<", last.start_pos) | compare("part", "<=", last.part))
    )


def _groups(segments: pa.Table, fetch_bytes: int) -> Iterator[tuple[_Place, _Place]]:
    """The first and the last of the rows that are fetched together.

    A segment's parts are all of one size except the last, so that none of them need be read for it.
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
