"""The version checksum after a commit, from that before it.

Spark reads a table's state from it, and otherwise replays the log in a job. See Delta's
PROTOCOL.md, "Version Checksum File" and "File Size Histogram Schema", and `Checksum.scala` for the
fields that the protocol does not have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

LogAction = Mapping[str, Any]
"""An `add`, `remove` or `txn` action, without its name."""

_SIZES, _DELETED = "fileSizeHistogram", "deletedRecordCountsHistogramOpt"
_KEPT = (
    *("numMetadata", "numProtocol", "metadata", "protocol", "domainMetadata"),
    *("numDeletedRecordsOpt", "numDeletionVectorsOpt"),
)
"""Fields that such a commit does not change."""
_MOST_FILES, _MOST_TRANSACTIONS = 50, 100
"""Longer lists are left out: Delta's own limit of files (`DELTA_ALL_FILES_IN_CRC_THRESHOLD_FILES`),
and one of ours."""


def checksum_after(
    before: Mapping[str, Any],
    txn_id: str,
    done: LogAction,
    added: Sequence[LogAction],
    removed: Sequence[LogAction],
) -> dict[str, Any]:
    """Return the checksum of a version that adds and removes files without deletion vectors.

    `txn_id`: of its commitInfo; `done`: its `txn` action. Fields that this module does not know are
    left out, since a commit may change them; all known ones but the sums are optional.
    """
    sizes = [(int(file["size"]), 1) for file in added]
    sizes += [(int(file["size"]), -1) for file in removed]
    found = {name: before[name] for name in _KEPT if name in before}
    found |= {
        "txnId": txn_id,
        "tableSizeBytes": before["tableSizeBytes"] + sum(size * sign for size, sign in sizes),
        "numFiles": before["numFiles"] + len(added) - len(removed),
    }
    if "setTransactions" in before:
        others = [one for one in before["setTransactions"] if one["appId"] != done["appId"]]
        if len(others) < _MOST_TRANSACTIONS:
            found["setTransactions"] = [*others, dict(done)]
    if "allFiles" in before and found["numFiles"] <= _MOST_FILES:
        gone = {file["path"] for file in removed}
        kept = [file for file in before["allFiles"] if file["path"] not in gone]
        found["allFiles"] = [*kept, *({**file, "dataChange": False} for file in added)]
    if _SIZES in before:
        found[_SIZES] = _sizes_after(before[_SIZES], sizes)
    if _DELETED in before:
        counts = before[_DELETED]["deletedRecordCounts"]
        undeleted = counts[0] + len(added) - len(removed)
        found[_DELETED] = {"deletedRecordCounts": [undeleted, *counts[1:]]}
    return found


def _sizes_after(before: Mapping[str, Any], sizes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return the histogram after adding (1) and removing (-1) files of these sizes."""
    bounds = before["sortedBinBoundaries"]
    counts, totals = list(before["fileCounts"]), list(before["totalBytes"])
    for size, sign in sizes:
        place = bisect_right(bounds, size) - 1
        counts[place] += sign
        totals[place] += sign * size
    return {"sortedBinBoundaries": bounds, "fileCounts": counts, "totalBytes": totals}
