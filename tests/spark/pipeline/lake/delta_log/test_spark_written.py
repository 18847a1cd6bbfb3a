"""The log of a table written by Spark is read the same by delta-rs and by Spark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import delta, stores
from pipeline.lake.delta_log.column_features import (
    COLUMN_MAPPING,
    DELETION_VECTORS,
    WALL_CLOCKS,
)
from pipeline.lake.delta_log.spark_written import (
    clustered_by,
    commits_since,
    features,
    history,
    state,
    version_of,
)
from pipeline.lake.sql_text import in_sql, unquoted
from tests.support.spark.no_spark import NO_SPARK

MADE = """CREATE TABLE {table} (id INT, `a b` STRING, s STRUCT<x: INT>, at TIMESTAMP_NTZ)
    USING delta CLUSTER BY (`a b`, id) TBLPROPERTIES (
        'delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true',
        'delta.checkpointInterval' = '4', 'binlake.source' = 's')"""
CHECKPOINT, LATEST = 4, 6
MISSING = "no such key"
CLUSTERED = ("c`d", "id")
OF_READERS = {COLUMN_MAPPING, DELETION_VECTORS, WALL_CLOCKS}


def asks_spark(look: Callable[[], object]) -> bool:
    """Return True if a lookup without Spark fails."""
    try:
        look()
    except AssertionError as error:
        return "Spark was asked" in str(error)
    return False


def commit_file(log: Path, version: int) -> Path:
    return log / f"{version:020d}.json"


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clustered table with a renamed column, a deletion vector and a checkpoint."""
    path = tmp_path_factory.mktemp("made") / "t"
    name = in_sql(str(path))
    spark.sql(MADE.format(table=name))
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN `a b` TO `c``d`")
    rows = spark.sql(
        "SELECT CAST(id AS INT) AS id, 'x' AS `c``d`, named_struct('x', 1) AS s,"
        " TIMESTAMP_NTZ'2026-01-01 00:00:00' AS at FROM range(9)"
    )
    delta.append(rows.coalesce(1), str(path))
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    for number in range(LATEST - 3):
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('binlake.n' = '{number}')")
    assert (path / "_delta_log" / "_last_checkpoint").exists()
    return path


@pytest.fixture
def table(made: Path, tmp_path: Path) -> str:
    """A copy of the table, which a test may change."""
    return str(shutil.copytree(made, tmp_path / "t"))


@pytest.fixture
def log(table: str) -> Path:
    return Path(table, "_delta_log")


def assert_as_described(spark: SparkSession, table: str) -> None:
    row = delta.described(spark, table)
    found = state(NO_SPARK, table)
    assert found is not None
    assert (found.id, found.properties) == (row["id"], row["properties"])
    assert (found.files, found.bytes) == (row["numFiles"], row["sizeInBytes"])
    assert found.features & OF_READERS == {*row["tableFeatures"]} & OF_READERS
    assert features(NO_SPARK, table) == found.features
    by = tuple(map(unquoted, row["clusteringColumns"]))
    assert clustered_by(spark, table) == by
    # Clustering by a field of a struct is read by Spark.
    assert asks_spark(lambda: clustered_by(NO_SPARK, table)) == ("s.x" in by)


@pytest.mark.parametrize(
    "changes",
    [
        [
            "ALTER TABLE {table} SET TBLPROPERTIES ('binlake.position' = '7:1')",
            "ALTER TABLE {table} UNSET TBLPROPERTIES ('binlake.source')",
            "ALTER TABLE {table} ADD COLUMN (e INT)",
            "ALTER TABLE {table} DROP COLUMN s",
            "ALTER TABLE {table} CLUSTER BY (id)",
        ],
        ["ALTER TABLE {table} CLUSTER BY (s.x)", "OPTIMIZE {table} FULL"],
        ["ALTER TABLE {table} CLUSTER BY NONE", "DELETE FROM {table}"],
    ],
    ids=["definition", "optimized", "emptied"],
)
def test_a_tables_state_is_that_of_delta(
    spark: SparkSession, table: str, changes: list[str]
) -> None:
    for change in changes:
        spark.sql(change.format(table=in_sql(table))).collect()
    assert_as_described(spark, table)


def test_a_table_without_mapped_columns_and_without_clustering(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = str(tmp_path / "plain")
    delta.append(spark.range(3), table)
    assert_as_described(spark, table)
    assert clustered_by(NO_SPARK, table) == ()


def test_commits_are_the_same_as_sparks(spark: SparkSession, made: Path) -> None:
    expected = history(spark, str(made), None)
    assert len(expected) == LATEST + 1
    # The last: the end of the log is gone.
    for before, count in ((None, LATEST + 1), (0, LATEST), (LATEST - 3, 3), (LATEST, 1), (99, 1)):
        found = commits_since(NO_SPARK, str(made), before)
        assert [commit.version for commit in found] == [*range(LATEST, LATEST - count, -1)]
        for one, other in zip(found, expected[:count], strict=True):
            assert (one.version, one.operation) == (other.version, other.operation)
            assert (one.metrics, one.note) == (other.metrics, other.note)


def test_what_a_restore_names_and_what_marks_a_commit(table: str, log: Path) -> None:
    info = {
        "operation": "RESTORE",
        "operationParameters": {"version": 0, "timestamp": None},
        "operationMetrics": {"numRestoredFiles": "1"},
        "userMetadata": "binlake gold",
    }
    commit_file(log, LATEST + 1).write_text(json.dumps({"commitInfo": info}))
    (found,) = commits_since(NO_SPARK, table, LATEST)
    assert (found.version, found.operation, found.note) == (LATEST + 1, "RESTORE", "binlake gold")
    assert found.parameters["version"] == 0
    assert found.metrics == {"numRestoredFiles": "1"}


def cleaned(log: Path) -> None:
    """Remove the commits before the checkpoint, as Delta does once they are old."""
    for version in range(CHECKPOINT):
        commit_file(log, version).unlink()


def unread(log: Path) -> None:
    """Damage the commits before the checkpoint, which only the history needs."""
    for version in range(CHECKPOINT):
        commit_file(log, version).write_text("{")


def test_old_commits_may_be_gone_and_are_not_read(table: str, log: Path) -> None:
    expected = state(NO_SPARK, table)
    for change in (unread, cleaned):
        change(log)
        assert state(NO_SPARK, table) == expected
        assert version_of(table) == LATEST
        assert [commit.version for commit in commits_since(NO_SPARK, table, 4)] == [6, 5]
        assert clustered_by(NO_SPARK, table) == CLUSTERED
    assert asks_spark(lambda: commits_since(NO_SPARK, table, 2))
    assert asks_spark(lambda: commits_since(NO_SPARK, table, None))


@pytest.mark.parametrize("text", [None, "", '{"vers', "{}", "7", '{"version": null}'])
def test_a_partially_written_last_checkpoint_hides_no_commit(
    table: str, log: Path, text: str | None
) -> None:
    """Delta overwrites _last_checkpoint in place."""
    expected = state(NO_SPARK, table)
    file = log / "_last_checkpoint"
    file.unlink() if text is None else file.write_text(text)
    assert version_of(table) == LATEST
    assert state(NO_SPARK, table) == expected


def _loop(log: Path) -> None:
    """Make the latest commit unreadable, as on a failing disk."""
    file = commit_file(log, LATEST)
    file.unlink()
    file.symlink_to(file.name)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "a commit is missing": lambda log: commit_file(log, LATEST - 1).unlink(),
    "the latest is missing": lambda log: commit_file(log, LATEST).unlink(),
    "the latest is half written": lambda log: commit_file(log, LATEST).write_text('{"commitInf'),
    "the disk does not answer": _loop,
    "the checkpoint is damaged": lambda log: next(log.glob("*.checkpoint*.parquet")).write_bytes(
        b"PAR1"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_spark_is_used_for_a_damaged_log(
    table: str, log: Path, damage: Callable[[Path], object]
) -> None:
    """Taking an older version for the latest would return outdated state."""
    damage(log)
    assert version_of(table) is None
    assert asks_spark(lambda: state(NO_SPARK, table))
    assert asks_spark(lambda: commits_since(NO_SPARK, table, LATEST - 1))
    assert asks_spark(lambda: clustered_by(NO_SPARK, table))


def test_spark_is_used_for_a_commit_without_commit_info(table: str, log: Path) -> None:
    commit_file(log, LATEST).write_text("")
    assert version_of(table) == LATEST
    assert asks_spark(lambda: commits_since(NO_SPARK, table, LATEST - 1))


def test_spark_is_used_if_the_store_cannot_be_read(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoCredentialsError(Exception):
        """Each store's client has errors of its own."""

    def refused(location: str) -> NoReturn:
        raise NoCredentialsError(location)

    expected = state(NO_SPARK, table)
    assert expected is not None
    monkeypatch.setattr(stores, "options_for", refused)
    assert version_of(table) is None
    found = state(spark, table)
    assert found is not None
    assert (found.id, found.properties) == (expected.id, expected.properties)
    assert (found.files, found.bytes) == (expected.files, expected.bytes)
    assert clustered_by(spark, table) == CLUSTERED
    (latest,) = commits_since(spark, table, LATEST - 1)
    assert latest.version == LATEST
    assert len(commits_since(spark, table, LATEST - 4)) == 4


def clustering(columns: str) -> dict[str, object]:
    """Return the checksum file's entry with the clustering columns."""
    text = f'{{"clusteringColumns": {columns}}}'
    domain = {"domain": "delta.clustering", "configuration": text, "removed": False}
    return {"domainMetadata": [domain]}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(None, id="there is none"),
        pytest.param("", id="empty"),
        pytest.param('{"metadata": ', id="half written"),
        pytest.param("7", id="no object"),
        pytest.param({"domainMetadata": MISSING}, id="without domains"),
        pytest.param({"domainMetadata": None}, id="domains are null"),
        *(
            pytest.param(clustering(columns), id=f"by {columns}")
            for columns in ("[[]]", "7", "[1]")
        ),
        pytest.param(clustering('[["nobody"]]'), id="by a column that is not there"),
    ],
)
def test_spark_is_used_if_the_checksum_file_lacks_the_clustering(
    spark: SparkSession, table: str, log: Path, damage: str | dict[str, object] | None
) -> None:
    expected = state(NO_SPARK, table)
    file = log / f"{LATEST:020d}.crc"
    if damage is None:
        file.unlink()
    elif isinstance(damage, str):
        file.write_text(damage)
    else:
        content = {**json.loads(file.read_text()), **damage}
        kept = {key: value for key, value in content.items() if value != MISSING}
        file.write_text(json.dumps(kept))
    assert asks_spark(lambda: clustered_by(NO_SPARK, table))
    assert state(NO_SPARK, table) == expected
    if damage in (None, '{"metadata": ', clustering('[["nobody"]]')):  # the others are as these
        assert clustered_by(spark, table) == CLUSTERED


def test_a_missing_table_has_no_state(tmp_path: Path) -> None:
    """Without using Spark."""
    table = tmp_path / "none"
    assert (state(NO_SPARK, str(table)), version_of(str(table))) == (None, None)
    (table / "_delta_log").mkdir(parents=True)
    assert (state(NO_SPARK, str(table)), version_of(str(table))) == (None, None)


def test_spark_is_used_for_tables_in_a_catalog() -> None:
    assert version_of("`main`.`lake`.`batches`") is None
    assert asks_spark(lambda: state(NO_SPARK, "`main`.`lake`.`batches`"))
