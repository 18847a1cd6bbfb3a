"""Segments with their bytes from bronze's Parquet files: when they stay in place, and when not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.bronze.tables import SEGMENTS, segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.choice import tables_of
from pipeline.silver.decode.segment_refs import SegmentRef, between
from pipeline.silver.decode.segment_tasks import content

SOURCE = "shop"
SIZE = 100
FILES = 4


def row(ordinal: int, place: int, part: int = 0, **columns: Any) -> dict[str, Any]:
    made = {name: None for name in SEGMENTS.names}
    return {
        **made,
        "source": SOURCE,
        "file": f"binlog.{ordinal:06}",
        "ordinal": ordinal,
        "start_pos": place * SIZE,
        "end_pos": (place + 1) * SIZE,
        "part": part,
        "content": f"{ordinal} {place} {part}".encode(),
        "transactions": 0,
        "events": [],
        **columns,
    }


def lake_of(spark: SparkSession, path: Path, *files: list[dict[str, Any]]) -> Lake:
    """Return a lake whose bronze has a Parquet file for each of `files`."""
    lake = Lake(str(path))
    for number, rows in enumerate(files):
        table = pa.Table.from_pylist(rows, schema=SEGMENTS)
        tables_of(spark, lake).append(segments_table(lake), table, Step("made", number))
    return lake


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A lake with two segments of a log per file; the last one is in three parts, out of order."""
    files = [[row(n, 0), row(n, 1)] for n in range(1, FILES + 1)]
    files[-1] += [row(FILES, 2, part) for part in (2, 0, 1)]
    files[0].append(row(1, 2, incomplete=True))
    return lake_of(spark, tmp_path_factory.mktemp("lake"), *files)


def refs_of(spark: SparkSession, lake: Lake, *, parts: bool = False) -> list[SegmentRef]:
    found = between(spark, lake, SOURCE, (1, 0), (FILES, (3 if parts else 2) * SIZE))
    return [ref for ref in found if not (ref.ordinal == 1 and ref.start_pos == 2 * SIZE)]


def texts(rows: DataFrame) -> list[str]:
    return [bytes(found["content"]).decode() for found in rows.collect()]


def is_dealt(rows: DataFrame) -> bool:
    return "RepartitionByExpression" in rows._jdf.queryExecution().optimizedPlan().toString()


WHOLE = [f"{ordinal} {place} 0" for ordinal in range(1, FILES + 1) for place in (0, 1)]


def test_segments_record_the_files_that_contain_them(spark: SparkSession, lake: Lake) -> None:
    refs = refs_of(spark, lake)
    by_ordinal = {ref.ordinal: ref.stored_in for ref in refs}
    assert len(set(by_ordinal.values())) == FILES
    folder = Path(lake.segments)
    assert all((folder / name).is_file() for names in by_ordinal.values() for name in names)
    assert all(by_ordinal[ref.ordinal] == ref.stored_in for ref in refs)


@pytest.mark.parametrize(("spread", "dealt"), [(1, False), (4, False), (8, False), (16, True)])
def test_segments_stay_in_the_tasks_that_read_them_if_these_are_enough(
    spark: SparkSession, lake: Lake, spread: int, dealt: bool
) -> None:
    rows = content(spark, lake, SOURCE, refs_of(spark, lake), spread=spread)
    assert is_dealt(rows) is dealt
    assert sorted(texts(rows)) == WHOLE


def test_segments_of_one_file_are_redistributed(spark: SparkSession, lake: Lake) -> None:
    refs = [ref for ref in refs_of(spark, lake) if ref.ordinal == 2]
    rows = content(spark, lake, SOURCE, refs, spread=4)
    assert is_dealt(rows)
    assert sorted(texts(rows)) == ["2 0 0", "2 1 0"]


@pytest.mark.parametrize("spread", [1, 4])
def test_parts_are_in_order(spark: SparkSession, lake: Lake, spread: int) -> None:
    rows = content(spark, lake, SOURCE, refs_of(spark, lake, parts=True), spread=spread)
    assert is_dealt(rows)
    found = texts(rows)
    at = found.index(f"{FILES} 2 0")
    assert found[at : at + 3] == [f"{FILES} 2 {part}" for part in range(3)]
    assert sorted(found) == sorted([*WHOLE, *found[at : at + 3]])
