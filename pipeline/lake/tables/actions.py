"""What one commit by delta-rs does to a table, and how delta-rs is given it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from deltalake.transaction import AddAction, RemoveAction

from pipeline.lake.delta_log.table import DataFile, LakeTable
from pipeline.lake.delta_log.table_log import NOTE, OPERATION
from pipeline.lake.files.data_files import partition_values
from pipeline.lake.files.scanning import LogEntry, removable_path


@dataclass(frozen=True, slots=True)
class Actions:
    """What a commit does; `schema`: the table's from then on, where it replaces everything.

    `operation` and `metrics`: what the table's history says of it. `data_change`: whether readers
    find other rows after it. `claims`: it is done for its step alone.
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


def told(chosen: Actions, note: str | None) -> dict[str, str]:
    """What the table's history says of a commit beside what delta-rs puts there."""
    told = {} if note is None else {NOTE: note}
    if chosen.operation is not None:
        said = {"operation": chosen.operation, "metrics": chosen.metrics}
        told[OPERATION] = json.dumps(said)
    return told


def add_action(file: DataFile, chosen: Actions) -> AddAction:
    """How delta-rs is given a file that comes."""
    statistics = {"numRecords": file.rows, **file.statistics}
    return AddAction(
        path=file.name,
        size=file.size,
        partition_values=dict(file.partition),
        modification_time=int(time.time() * 1000),
        data_change=chosen.data_change,
        stats=json.dumps(statistics),
    )


def remove_action(table: LakeTable, file: LogEntry, chosen: Actions) -> RemoveAction:
    """How delta-rs is given a file that goes."""
    return RemoveAction(
        path=removable_path(table, file),
        data_change=chosen.data_change,
        deletion_timestamp=int(time.time() * 1000),
        size=file["size_bytes"],
        partition_values=partition_values(file.get("partition") or {}),
    )
