"""Commits of files that the process writes to a table's log itself."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from pipeline.lake.delta_log import log_version
from pipeline.lake.delta_log.file_commit import commit_files
from pipeline.lake.delta_log.metadata_commit import set_properties
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_log.table_log import commits_of
from pipeline.lake.delta_step import Step
from pipeline.lake.files.data_files import write_rows
from pipeline.lake.layout import Lake
from pipeline.lake.tables.native import NativeTables

SCHEMA = pa.schema([pa.field("n", pa.int64()), pa.field("text", pa.string())])


@pytest.fixture
def table(tmp_path: Path) -> LakeTable:
    """Return a table with the row 1."""
    made = LakeTable(str(tmp_path / "t"), SCHEMA, statistics=("n", "text"))
    NativeTables(Lake(str(tmp_path))).append(made, rows(1), None)
    return made


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": numbers, "text": ["😀"] * len(numbers)}, schema=SCHEMA)


def committed(table: LakeTable, opened: DeltaTable, step: Step, *numbers: int) -> bool:
    """Replace all rows as one step."""
    files = write_rows(table.reference, table, rows(*numbers))
    removed = pa.table(opened.get_add_actions()).to_pylist()
    counts = {"numTargetRowsInserted": len(numbers)}
    return commit_files(
        opened, table.reference, step, files, removed, operation="MERGE", metrics=counts
    )


def numbers_in(table: LakeTable) -> list[int]:
    found: list[int] = DeltaTable(table.reference).to_pyarrow_table().column("n").to_pylist()
    return sorted(found)


def test_files_are_replaced_as_one_step(table: LakeTable) -> None:
    assert committed(table, DeltaTable(table.reference), Step("app", 7, "a note"), 2, 3)
    opened = DeltaTable(table.reference)
    assert numbers_in(table) == [2, 3]
    assert opened.transaction_version("app") == 7
    (last,) = commits_of(opened, 1)
    assert (last.version, last.operation, last.note) == (1, "MERGE", "a note")
    assert last.metrics == {"numTargetRowsInserted": "2"}
    (file,) = pa.table(opened.get_add_actions()).to_pylist()
    assert (file["min"], file["max"]) == ({"n": 2, "text": "😀"}, {"n": 3, "text": "😀"})


def test_of_two_commits_of_a_version_one_fails(table: LakeTable) -> None:
    before = DeltaTable(table.reference), DeltaTable(table.reference)
    assert committed(table, before[0], Step("app", 1), 2)
    assert not committed(table, before[1], Step("app", 2), 3)
    assert numbers_in(table) == [2]
    assert not [*Path(table.reference, "_delta_log").glob("*.tmp")]


@pytest.mark.parametrize("has_checksum", [True, False])
def test_a_checksum_follows_from_the_one_before(table: LakeTable, has_checksum: bool) -> None:
    log = Path(table.reference, "_delta_log")
    before: dict[str, Any] = {"tableSizeBytes": 0, "numFiles": 1, "metadata": {"id": "x"}, "new": 1}
    if has_checksum:
        (log / f"{0:020d}.crc").write_text(json.dumps(before))
    opened = DeltaTable(table.reference)
    (old,) = pa.table(opened.get_add_actions()).to_pylist()
    assert committed(table, opened, Step("app", 1), 2, 3)
    found = log / f"{1:020d}.crc"
    assert found.exists() is has_checksum
    if has_checksum:
        (new,) = pa.table(DeltaTable(table.reference).get_add_actions()).to_pylist()
        after = json.loads(found.read_text())
        assert after.pop("txnId")
        size = new["size_bytes"] - old["size_bytes"]
        assert after == {"tableSizeBytes": size, "numFiles": 1, "metadata": {"id": "x"}}


def test_every_tenth_version_has_a_checkpoint(table: LakeTable) -> None:
    for version in range(1, 11):
        assert committed(table, DeltaTable(table.reference), Step("app", version), version)
    log = Path(table.reference, "_delta_log")
    assert [file.name for file in log.glob("*.checkpoint.parquet")] == [
        f"{10:020d}.checkpoint.parquet"
    ]
    for version in range(10):
        (log / f"{version:020d}.json").unlink()
    assert numbers_in(table) == [10]


def kept_for(table: LakeTable, properties: dict[str, str]) -> None:
    """Set properties of the table, and how old its log's entries and removed files are."""
    assert set_properties(DeltaTable(table.reference), table.reference, properties, "")
    before = time.time() - 45 * 86400
    for entry in Path(table.reference, "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in entry.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] = int(before * 1000)
        entry.write_text("".join(json.dumps(action) + "\n" for action in actions))
        os.utime(entry, (before, before))


@pytest.mark.parametrize(("kept", "checkpoints"), [("interval 60 days", 1), ("60 days", 0)])
def test_a_checkpoint_has_the_removed_files_that_the_table_keeps(
    table: LakeTable, kept: str, checkpoints: int
) -> None:
    for version in range(1, 9):
        assert committed(table, DeltaTable(table.reference), Step("app", version), version)
    kept_for(table, {"delta.deletedFileRetentionDuration": kept})
    assert committed(table, DeltaTable(table.reference), Step("app", 10), 10)
    assert numbers_in(table) == [10]
    found = [*Path(table.reference, "_delta_log").glob("*.checkpoint.parquet")]
    assert len(found) == checkpoints
    for file in found:
        assert sum(pq.read_table(file)["remove"].is_valid().to_pylist()) == 9


@pytest.mark.parametrize(
    ("properties", "are_removed"),
    [
        ({}, True),
        ({"delta.logRetentionDuration": "interval 60 days"}, False),
        ({"delta.logRetentionDuration": "60 days"}, False),
        ({"delta.enableExpiredLogCleanup": "false"}, False),
    ],
)
def test_entries_of_the_log_are_removed_as_the_table_asks(
    table: LakeTable,
    monkeypatch: pytest.MonkeyPatch,
    properties: dict[str, str],
    are_removed: bool,
) -> None:
    monkeypatch.setattr(log_version, "CLEANUP_INTERVAL", 20)
    for version in range(1, 12):
        assert committed(table, DeltaTable(table.reference), Step("app", version), version)
    kept_for(table, properties)
    for version in range(13, 21):
        assert committed(table, DeltaTable(table.reference), Step("app", version), version)
    first = Path(table.reference, "_delta_log", f"{0:020d}.json")
    assert first.exists() is not are_removed
