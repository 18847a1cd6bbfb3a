"""Restore of an ingested file, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.bronze.files import read_files
from pipeline.bronze.tables import segments_table
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import equal
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of


def restore(
    spark: Spark, lake: Lake, source: str, file: str, *, incarnation: str | None = None
) -> Iterator[bytes]:
    """Yield the bytes of a file in bronze, in order, a row of `bronze/segments` at a time.

    Of several files with that name, restore the last, unless `incarnation` selects one. Raises
    SettingsError if there is no such file, or if maintenance has removed its bytes.
    """
    rows = [row for row in read_files(spark, lake, source) if row.file == file]
    if incarnation is not None:
        rows = [row for row in rows if row.incarnation == incarnation]
    if not rows:
        raise SettingsError(f"{file} was not ingested for source {source}.", key="file")
    tables, segments = tables_of(spark, lake), segments_table(lake)
    mine = equal("source", source) & equal("ordinal", rows[-1].ordinal)
    found = tables.read(segments, mine, ["start_pos", "part"]).to_pydict()
    places = sorted(zip(found["start_pos"], found["part"], strict=True))
    if rows[-1].ingested_upto and (not places or places[0][0]):
        raise SettingsError(
            f"the bytes of {file} were removed from bronze by binlake maintain.",
            key="file",
            remedy="retention.bronze in conf sets how long they are kept.",
        )
    for start, part in places:
        here = mine & equal("start_pos", start) & equal("part", part)
        yield tables.read(segments, here, ["content"]).column("content")[0].as_py()
