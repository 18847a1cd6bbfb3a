"""Figures of Spark's commits after a version, from the `operationMetrics` in the Delta log."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.table.commits import written_since
from pipeline.lake import delta
from pipeline.lake.delta_log.spark_written import commits_since
from pipeline.lake.delta_step import Step
from pipeline.lake.sql_text import in_sql

CHECKPOINT = {"delta.checkpointInterval": "3"}
APPENDS = 5
"""More than Delta keeps without a checkpoint."""


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a table with commits of one file each."""
    made = str(tmp_path_factory.mktemp("written") / "table")
    for version in range(APPENDS):
        rows = spark.range(version, version + 1).coalesce(1)
        delta.append_once(rows, made, Step("test", version), options=CHECKPOINT)
    assert list(Path(made, "_delta_log").glob("*.checkpoint*"))
    return made


@pytest.mark.parametrize(
    ("before", "commits"),
    [(None, APPENDS), (0, APPENDS - 1), (APPENDS - 4, 3), (APPENDS - 2, 1), (APPENDS - 1, 0)],
    ids=["ever", "all but the first", "the last three", "the last one", "nothing"],
)
def test_only_commits_after_the_version_count(
    spark: SparkSession, table: str, before: int | None, commits: int
) -> None:
    found = written_since(history := commits_since(spark, table, before), before)
    assert history[0].version == APPENDS - 1
    assert (found.commits, found.files_added) == (commits, commits) if found else commits == 0


def test_maintenance_raises_the_version_without_counting_as_written(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    path, last = str(shutil.copytree(table, tmp_path / "table")), APPENDS - 1
    assert written_since(commits_since(spark, path, last), last) is None
    spark.sql(f"OPTIMIZE {in_sql(path)}")
    moved = commits_since(spark, path, last)
    assert (moved[0].version, written_since(moved, last)) == (last + 1, None)
    found = written_since(commits_since(spark, path, last - 1), last - 1)
    assert found is not None
    assert found.commits == 1
