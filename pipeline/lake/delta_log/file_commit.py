"""A commit that adds and removes data files of a table (see `log_version`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deltalake import DeltaTable

from pipeline.lake.delta_log.column_statistics import statistics_text
from pipeline.lake.delta_log.log_version import NamedAction, commit_info, extend_log, now
from pipeline.lake.delta_log.model import DataFile, LogEntry
from pipeline.lake.delta_log.version_checksum import with_files, with_table
from pipeline.lake.delta_step import Step


def commit_files(
    opened: DeltaTable,
    folder: str,
    step: Step,
    added: Sequence[DataFile],
    removed: Sequence[LogEntry],
    *,
    operation: str,
    metrics: Mapping[str, int],
    table: Sequence[NamedAction] = (),
) -> bool:
    """Commit files as a step, as `extend_log` does.

    `removed`: entries of files without a deletion vector and without partition values; `table`:
    what else the commit changes, of the table itself.
    """
    info = {
        **commit_info(operation, {}, step.note),
        "isBlindAppend": False,
        "operationMetrics": {name: str(count) for name, count in metrics.items()},
    }
    adds, removes = [*map(_add, added)], [*map(_remove, removed)]
    done = {"appId": step.app, "version": step.version, "lastUpdated": now()}
    actions = [*table, {"txn": done}]
    actions += [{"remove": file} for file in removes] + [{"add": file} for file in adds]

    def checksum_after(before: Mapping[str, Any]) -> Mapping[str, Any]:
        return with_files(with_table(before, table), done=done, added=adds, removed=removes)

    return extend_log(opened, folder, info, actions, checksum_after)


def _add(file: DataFile) -> dict[str, Any]:
    return {
        "path": file.name,
        "partitionValues": {},
        "size": file.size,
        "modificationTime": now(),
        "dataChange": True,
        "stats": statistics_text(file.rows, file.statistics),
    }


def _remove(entry: LogEntry) -> dict[str, Any]:
    return {
        "path": entry["path"],
        "deletionTimestamp": now(),
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": {},
        "size": entry["size_bytes"],
    }
