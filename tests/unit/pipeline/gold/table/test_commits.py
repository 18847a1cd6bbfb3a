"""Others' commits that change what a gold table contains, and RESTOREs that undo them; figures."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from pipeline.gold.table.commits import SIGNATURE, CommitSums, judge, written
from pipeline.lake.delta_log.model import Commit

OWN = f"somebody's job; {SIGNATURE}"


def commit(version: int, operation: str, note: str | None = None, *, wrote: bool = True) -> Commit:
    metrics = {"numFiles": "1"} if wrote else {}
    return Commit(version, datetime.now(timezone.utc), operation, metrics, note)


def restore(version: int, to: object, note: str | None = None) -> Commit:
    return replace(commit(version, "RESTORE", note), parameters={"version": to})


@pytest.mark.parametrize(
    ("commits", "at_fault", "sound"),
    [
        ([], None, 4),
        ([commit(5, "MERGE", OWN), restore(6, 2, OWN)], None, 6),
        ([commit(5, "OPTIMIZE"), commit(6, "VACUUM START"), commit(7, "CLUSTER BY")], None, 7),
        ([commit(5, "SET TBLPROPERTIES"), commit(6, "ADD CONSTRAINT")], None, 6),
        (
            [
                commit(5, "REORG"),
                commit(6, "Deletion Vector Tombstones", wrote=False),
                commit(7, "Empty Commit", wrote=False),
                commit(8, "DROP FEATURE", wrote=False),
            ],
            None,
            8,
        ),
        ([commit(5, "DELETE"), commit(6, "UPDATE")], 5, 4),
        ([commit(5, "OPTIMIZE"), commit(6, "WRITE", "somebody's job")], 6, 5),
        ([commit(5, "of a later release")], 5, 4),
        ([commit(5, "WRITE", wrote=False)], 5, 4),
        ([restore(5, 3)], 5, 4),
        ([restore(5, None)], 5, 4),
        ([commit(5, "DELETE"), restore(6, "4"), commit(7, "OPTIMIZE")], None, 7),
        ([commit(5, "DELETE"), restore(6, 5)], 5, 4),
        ([commit(5, "DROP COLUMNS"), restore(6, 4)], None, 6),
        ([commit(5, "MERGE", OWN), restore(6, 4)], 6, 5),
        ([commit(5, "DELETE"), commit(6, "MERGE", OWN), restore(7, 4)], 5, None),
    ],
    ids=[
        "none",
        "Binlake's own",
        "upkeep",
        "properties",
        "the end of deletion vectors",
        "rows",
        "a write of another job",
        "an operation that is not known",
        "a write without figures",
        "restored",
        "restored by a time",
        "undone",
        "restored to what was changed",
        "columns that were restored",
        "Binlake's own undone",
        "changed under Binlake",
    ],
)
def test_commits_are_judged(commits: list[Commit], at_fault: int | None, sound: int | None) -> None:
    found = judge(commits, 4)
    assert (found.foreign.version if found.foreign else None) == at_fault
    assert found.columns is None
    assert found.sound == sound


def test_a_commit_that_may_change_columns_is_reported() -> None:
    found = judge([commit(5, "CHANGE COLUMN"), commit(6, "DROP COLUMNS")], 4)
    assert (found.columns.operation if found.columns else None) == "CHANGE COLUMN"
    assert (found.foreign, found.sound) == (None, 4)
    tagged = commit(5, "SET TAGS", wrote=False)
    assert judge([tagged], 4).columns == tagged


def test_commits_of_all_kinds_are_summed() -> None:
    merge = {
        "numTargetFilesRemoved": "2",
        "numTargetBytesRemoved": "2000",
        "numTargetFilesAdded": "1",
        "numTargetBytesAdded": "500",
        "numTargetDeletionVectorsAdded": "3",
        "numTargetRowsCopied": "7",
        "numTargetRowsUpdated": "9",
    }
    append = {"numFiles": "4", "numOutputBytes": "40", "numOutputRows": "400"}
    delete = {"numRemovedFiles": "1", "numRemovedBytes": "100", "numDeletionVectorsAdded": "1"}
    assert written([merge, append, delete, {}]) == CommitSums(4, 3, 2100, 5, 540, 4, 7)
    assert written([]) == CommitSums()
