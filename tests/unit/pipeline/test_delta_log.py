"""Which version a table is at, by the files of its log alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.delta_log import commits_since, is_latest, latest_version


def test_a_table_and_its_log_agree_across_checkpoints(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    assert latest_version(table) is None
    for version in range(12):  # Delta writes a checkpoint at the tenth
        delta.append(spark.range(1), table, app="test")
        assert latest_version(table) == version
        assert is_latest(table, version)
        assert version == 0 or not is_latest(table, version - 1)
    assert (tmp_path / "table" / "_delta_log" / "_last_checkpoint").exists()
    newest = delta.history(spark, table, 1).select("version").first()
    assert newest is not None
    assert newest["version"] == 11


@pytest.mark.parametrize(
    ("commits", "checkpoint", "expected"),
    [
        ([], None, None),
        ([0], None, 0),
        ([0, 1, 2], None, 2),
        ([0, 1, 2], 1, 2),
        ([7, 8], 7, 8),
        ([7, 8], None, None),
        ([9], 7, None),
    ],
    ids=[
        *("no log", "one commit", "several", "from a checkpoint", "cleaned up"),
        *("a checkpoint that nothing names", "one whose commit is gone"),
    ],
)
def test_what_the_files_tell(
    tmp_path: Path, commits: list[int], checkpoint: int | None, expected: int | None
) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in commits:
        (log / f"{version:020d}.json").touch()
    if checkpoint is not None:
        (log / "_last_checkpoint").write_text(f'{{"version": {checkpoint}, "size": 4}}')
    assert latest_version(str(tmp_path)) == expected


_ADD = '{"add":{"path":"\\"commitInfo\\""}}'
_METRICS = '"operationMetrics":{"numTargetFilesAdded":"1"}'
COMMITS = (
    '{"commitInfo":{"operation":"CREATE TABLE","operationParameters":{"partitionBy":"[]"}}}',
    f'{_ADD}\n{{"commitInfo":{{"operation":"MERGE",{_METRICS},"userMetadata":"binlake gold"}}}}',
    '{"commitInfo":{"operation":"RESTORE","operationParameters":{"version":0,"timestamp":null}}}',
    _ADD,
)


@pytest.mark.parametrize(
    ("there", "before", "operations"),
    [
        ((0, 1, 2), None, ["RESTORE", "MERGE", "CREATE TABLE"]),
        ((0, 1, 2), 0, ["RESTORE", "MERGE"]),
        ((0, 1, 2), 2, ["RESTORE"]),
        ((0, 1, 2), 7, ["RESTORE"]),  # the end of the log is gone
        ((0, 1, 2, 3), 2, None),
        ((1, 2), 1, ["RESTORE"]),
        ((1, 2), 0, None),
        ((), 0, None),
    ],
    ids=[
        *("all", "some", "the latest", "none of them", "one that tells nothing of itself"),
        *("the first cleaned up", "one that is asked for cleaned up", "no table"),
    ],
)
def test_commits_are_read_newest_first(
    tmp_path: Path, there: tuple[int, ...], before: int | None, operations: list[str] | None
) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in there:
        (log / f"{version:020d}.json").write_text(COMMITS[version])
    found = commits_since(str(tmp_path), before)
    assert (None if found is None else [one["operation"] for one in found]) == operations
    for commit in found or ():
        assert commit["version"] in there
        if commit["operation"] == "RESTORE":
            assert commit["operationParameters"] == {"version": "0", "timestamp": None}
        if commit["operation"] == "MERGE":
            assert commit["operationMetrics"] == {"numTargetFilesAdded": "1"}
            assert commit["userMetadata"] == "binlake gold"


def test_of_a_table_in_a_catalog_nothing_is_told() -> None:
    assert latest_version("`main`.`lake`.`batches`") is None


@pytest.mark.parametrize("text", ["", '{"vers', "{}", "7", '{"version": null}'])
def test_of_a_checkpoint_that_is_half_written_nothing_is_told(tmp_path: Path, text: str) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{0:020d}.json").touch()
    (log / "_last_checkpoint").write_text(text)
    assert latest_version(str(tmp_path)) is None


def test_a_disk_that_does_not_answer_is_no_end_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older version, taken for the latest, is a table as it was."""
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in range(3):
        (log / f"{version:020d}.json").write_text("{}")
    stat = os.stat

    def stale(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if str(path).endswith("2.json"):
            raise OSError(errno.ESTALE, "Stale file handle")
        return stat(path, *args, **options)

    monkeypatch.setattr(os, "stat", stale)
    with pytest.raises(OSError, match="Stale"):
        latest_version(str(tmp_path))
    monkeypatch.undo()
    assert latest_version(str(tmp_path)) == 2
