"""The sums of a batch's commits in the record."""

from __future__ import annotations

from datetime import datetime, timezone

from pipeline.lake.delta_log.model import Commit
from pipeline.maintenance.batch import figures


def commit(operation: str, **metrics: str) -> Commit:
    return Commit(1, datetime.now(timezone.utc), operation, metrics)


def test_commits_of_all_kinds_are_summed() -> None:
    commits = [
        commit("DELETE", numDeletedRows="3", numRemovedFiles="2"),
        commit("OPTIMIZE", numRemovedFiles="9", numAddedFiles="1", numRemovedBytes="90"),
        commit("REORG", numRemovedFiles="1", numAddedFiles="1", numAddedBytes="7"),
        commit("VACUUM START", sizeOfDataToDelete="100", numFilesToDelete="5"),
        commit("VACUUM END", numDeletedFiles="4"),
        commit("SET TBLPROPERTIES"),
    ]
    assert figures(commits) == {
        "rows": 3,
        "rewritten_files": 10,
        "rewritten_bytes": 90,
        "written_files": 2,
        "written_bytes": 7,
        "vacuumed_files": 4,
        "vacuumed_bytes": 100,
    }
    assert figures([]) == {}
    assert figures(commits[:1]) == {"rows": 3}
