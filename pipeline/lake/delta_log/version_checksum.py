"""The version checksum after a commit, from that before it.

Spark reads a table's state from it, and otherwise replays the log in a job. See Delta's
PROTOCOL.md, "Version Checksum File" and "File Size Histogram Schema", and `Checksum.scala` for the
fields that the protocol does not have.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pipeline.lake.delta_log.column_features import DELETION_VECTORS

LogAction = Mapping[str, Any]
"""An action of a commit, without its name."""

_SIZES, _DELETED = "fileSizeHistogram", "deletedRecordCountsHistogramOpt"
_SUMS = ("tableSizeBytes", "numFiles")
_LISTS = ("setTransactions", "allFiles")
_TABLE = ("numMetadata", "numProtocol", "metadata", "protocol", "domainMetadata")
_VECTORS = ("numDeletedRecordsOpt", "numDeletionVectorsOpt")
_KNOWN = frozenset({*_SUMS, *_LISTS, *_TABLE, *_VECTORS, _SIZES, _DELETED})
_MOST_FILES, _MOST_TRANSACTIONS = 50, 100
"""Longer lists are left out: Delta's own limit of files (`DELTA_ALL_FILES_IN_CRC_THRESHOLD_FILES`),
and one of ours."""


def known_fields(checksum: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that this module knows. A commit may change others; they are optional."""
    return {name: value for name, value in checksum.items() if name in _KNOWN}


def of_empty_table(
    metadata: LogAction, protocol: LogAction, domains: Sequence[LogAction]
) -> dict[str, Any]:
    """Return the checksum of a new table without files."""
    return {
        **dict.fromkeys(_SUMS, 0),
        **(
            dict.fromkeys(_VECTORS, 0)
            if DELETION_VECTORS in protocol.get("readerFeatures", ())
            else {}
        ),
        **dict.fromkeys(("numMetadata", "numProtocol"), 1),
        "metadata": metadata,
        "protocol": protocol,
        "domainMetadata": domains,
        **{name: [] for name in _LISTS},
    }


def with_table(
    before: Mapping[str, Any], actions: Iterable[Mapping[str, LogAction]]
) -> dict[str, Any]:
    """Return the checksum of a version that changes a table's metadata, or those of a domain;
    `actions`: by their names."""
    found = dict(before)
    for action in actions:
        if "metaData" in action:
            found["metadata"] = action["metaData"]
        if domain := action.get("domainMetadata"):
            others = [one for one in found["domainMetadata"] if one["domain"] != domain["domain"]]
            found["domainMetadata"] = [*others, domain]
    return found


def with_files(
    before: Mapping[str, Any],
    done: LogAction,
    added: Sequence[LogAction],
    removed: Sequence[LogAction],
) -> dict[str, Any]:
    """Return the checksum of a version that adds and removes files without deletion vectors, as a
    step: `done` is its `txn` action."""
    sizes = [(int(file["size"]), 1) for file in added]
    sizes += [(int(file["size"]), -1) for file in removed]
    found = {name: value for name, value in before.items() if name not in _LISTS}
    found["tableSizeBytes"] = before["tableSizeBytes"] + sum(size * sign for size, sign in sizes)
    found["numFiles"] = before["numFiles"] + len(added) - len(removed)
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
