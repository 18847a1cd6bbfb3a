"""A table's Delta log, read by delta-rs: state, history and files that can be vacuumed.

All functions but `vacuumed` support tables with any features. Sources of the field names: Delta's
PROTOCOL.md, "Commit Provenance Information", and the entries that delta-rs and Spark log for
VACUUM.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties, DeltaTable

from pipeline.lake.delta_log.column_features import enabled
from pipeline.lake.delta_log.model import Commit, DeltaState

NOTE = "userMetadata"
OPERATION = "binlake"
"""The key, in a commit's metadata, of JSON with its `operation` and `metrics`: delta-rs logs every
commit by `create_write_transaction` as WRITE."""
CLUSTERING = "delta.clustering"
"""The domain whose metadata has a table's clustering columns."""
_PHYSICAL = "delta.columnMapping.physicalName"
"""Metadata of a field: the column's name in files and statistics, if that is another."""
_DATA = ".parquet"


def state_of(table: DeltaTable) -> DeltaState:
    """Return the table's state."""
    metadata, files = table.metadata(), pa.table(table.get_add_actions())
    records = files.column("num_records")
    return DeltaState(
        str(metadata.id),
        metadata.configuration,
        len(files),
        pc.sum(files.column("size_bytes")).as_py() or 0,
        None if records.null_count else pc.sum(records).as_py() or 0,
        features_of(table),
    )


def features_of(table: DeltaTable) -> frozenset[str]:
    """Return the table's features (see `column_features.enabled`)."""
    protocol = table.protocol()
    supported = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return enabled(supported, table.metadata().configuration)


def may_have_rows(table: DeltaTable, ranges: Mapping[str, tuple[Any, Any]]) -> bool:
    """Return True if, by the log's statistics, a file may have a row whose columns are all within
    `ranges` (minimum and maximum by column, both inclusive)."""
    return bool(pc.any(files_within(table, ranges)[1]).as_py())


def size_within(table: DeltaTable, ranges: Mapping[str, tuple[Any, Any]]) -> int:
    """Return the bytes of the files that may have such rows."""
    files, within = files_within(table, ranges)
    return int(pc.sum(files.filter(within).column("size_bytes")).as_py() or 0)


def files_within(
    table: DeltaTable, ranges: Mapping[str, tuple[Any, Any]]
) -> tuple[pa.Table, pa.ChunkedArray]:
    """Return the table's files, and which of them may have rows within `ranges`."""
    files = pa.table(table.get_add_actions())
    names = names_in_files(table)
    found = pa.chunked_array([pa.repeat(pa.scalar(True), len(files))])
    for name, (low, high) in ranges.items():
        least, greatest = (statistic(files, end, names[name]) for end in ("min", "max"))
        within = pc.and_kleene(pc.less_equal(least, high), pc.greater_equal(_sure(greatest), low))
        found = pc.and_(found, pc.fill_null(within, fill_value=True))
    return files, found


def names_in_files(table: DeltaTable) -> dict[str, str]:
    """Return the name that each column has in data files, statistics and clustering."""
    return {
        field.name: field.metadata.get(_PHYSICAL, field.name) for field in table.schema().fields
    }


def _sure(greatest: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return maximum values, with null for those that may be too low: delta-rs 1.6 loses a bit of
    characters beyond U+FFFF that the log has as an escaped surrogate pair."""
    if not pa.types.is_string(greatest.type):
        return greatest
    lost = pc.match_substring_regex(greatest, r"[\x{10000}-\x{10FFFF}]")
    return pc.if_else(lost, pa.scalar(None, greatest.type), greatest)


def statistic(files: pa.Table, struct: str, name: str) -> pa.ChunkedArray:
    """Return a statistic of a column (by its name in the files) for every file, null if the log has
    none. `files`: as returned by `DeltaTable.get_add_actions`; `struct`: `min`, `max`,
    `null_count` or `partition`."""
    if struct in files.column_names:
        at = files.schema.field(struct).type.get_field_index(name)
        if at >= 0:
            return pc.struct_field(files.column(struct), at)
    return pa.chunked_array([pa.nulls(len(files))])


def commits_of(table: DeltaTable, limit: int | None) -> Sequence[Commit]:
    """Return the last commits, latest first."""
    return [_commit(entry) for entry in table.history(limit)]


def old_files(table: DeltaTable) -> list[str]:
    """Return data files that no version within the table's retention refers to. Deletion vectors
    are not included: delta-rs does not know which are in use."""
    return [path for path in table.vacuum(dry_run=True, full=True) if path.endswith(_DATA)]


def vacuumed(table: DeltaTable, note: str) -> None:
    """Remove old files of a table without deletion vectors."""
    properties = CommitProperties(custom_metadata={NOTE: note})
    table.vacuum(dry_run=False, full=True, commit_properties=properties)


def _commit(entry: Mapping[str, Any]) -> Commit:
    own = _own(entry.get(OPERATION))
    metrics = own.get("metrics") or entry.get("operationMetrics") or {}
    return Commit(
        entry["version"],
        datetime.fromtimestamp((entry.get("timestamp") or 0) / 1000, timezone.utc),
        own.get("operation") or entry.get("operation") or "",
        {name: str(value) for name, value in metrics.items()},
        entry.get(NOTE),
        entry.get("operationParameters") or {},
    )


def _own(text: str | None) -> dict[str, Any]:
    """Return operation and metrics of one of Binlake's commits; empty for another writer's."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
