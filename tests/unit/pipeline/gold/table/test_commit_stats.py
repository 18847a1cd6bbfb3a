"""Sums over commits' `operationMetrics`, whatever the operation calls the figures."""

from __future__ import annotations

from pipeline.gold.table.commit_stats import Written, written


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
    assert written([merge, append, delete, {}]) == Written(4, 3, 2100, 5, 540, 4, 7)
    assert written([]) == Written()
