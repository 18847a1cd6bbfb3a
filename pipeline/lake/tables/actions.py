"""The actions of one commit by delta-rs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from deltalake.transaction import AddAction, RemoveAction

from pipeline.lake.delta_log.column_statistics import statistics_text
from pipeline.lake.delta_log.model import DataFile, LakeTable, LogEntry
from pipeline.lake.delta_log.table_log import NOTE, OPERATION
from pipeline.lake.files.data_files import partition_values
from pipeline.lake.files.table_scan import removable_path


@dataclass(frozen=True, slots=True)
class Actions:
    """The actions of a commit; `schema`: the table's new schema if the commit replaces everything.

    `operation` and `metrics`: for the table's history. `data_change`: False if the rows stay the
    same. `claims`: True if it is committed only for its step's identifier.
    """

    add: Sequence[DataFile] = ()
    remove: Sequence[LogEntry] = ()
    schema: pa.Schema | None = None
    operation: str | None = None
    metrics: Mapping[str, int] = field(default_factory=dict)
    data_change: bool = True
    claims: bool = False

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.schema is not None or self.claims)


def commit_metadata(chosen: Actions, note: str | None) -> dict[str, str]:
    """Return a commit's custom metadata for the table's history."""
    metadata = {} if note is None else {NOTE: note}
    if chosen.operation is not None:
        operation = {"operation": chosen.operation, "metrics": chosen.metrics}
        metadata[OPERATION] = json.dumps(operation)
    return metadata


def add_action(file: DataFile, chosen: Actions) -> AddAction:
    """Return delta-rs's action that adds a file."""
    return AddAction(
        path=file.name,
        size=file.size,
        partition_values=dict(file.partition),
        modification_time=int(time.time() * 1000),
        data_change=chosen.data_change,
        stats=statistics_text(file.rows, file.statistics),
    )


def remove_action(table: LakeTable, file: LogEntry, chosen: Actions) -> RemoveAction:
    """Return delta-rs's action that removes a file."""
    return RemoveAction(
        path=removable_path(table, file),
        data_change=chosen.data_change,
        deletion_timestamp=int(time.time() * 1000),
        size=file["size_bytes"],
        partition_values=partition_values(file.get("partition") or {}),
    )
