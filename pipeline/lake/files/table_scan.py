"""Scans of a table's files by pyarrow, with the log's statistics of each file.

delta-rs's own dataset is not used: if a file lacks a statistic, it skips the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.delta_rs import AlteredTableError, place
from pipeline.lake.delta_log.model import LakeTable, LogEntry
from pipeline.lake.files.skipping import may_have
from pipeline.lake.locks.lock import local_path

_FORMAT = ds.ParquetFileFormat(
    default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=True)
)

_READ_FOR_FEW = 4
"""How much larger files may be than the few rows that are looked for in them."""
_PLAIN = "/!'()&,;@$+=~:"
"""Characters that delta-rs does not percent-encode in a path, besides ASCII letters and digits."""


@dataclass(frozen=True, slots=True)
class TableScan:
    """The files of one version of a table, by their paths."""

    table: LakeTable
    entries: Mapping[str, LogEntry]
    dataset: ds.FileSystemDataset

    def files(self, where: Condition) -> Iterator[tuple[LogEntry, ds.ParquetFileFragment]]:
        """Yield the files that may have rows matching a condition."""
        for fragment in self.dataset.get_fragments(filter=where.expression):
            yield self.entries[fragment.path], fragment

    def few(self, where: Condition, *, rows: int, size: int) -> pa.Table | None:
        """Return the rows that match a condition; None if there are more than `rows`, or they take
        more than `size` bytes in memory, or the files that may have some are too large to be
        read."""
        fragments = [fragment for _, fragment in self.files(where)]
        if sum(uncompressed_size(fragment) for fragment in fragments) > _READ_FOR_FEW * size:
            return None
        # The fragments have read their footers.
        dataset = ds.FileSystemDataset(
            fragments, self.table.schema, _FORMAT, self.dataset.filesystem
        )
        found = []
        for batch in dataset.to_batches(
            filter=where.expression, batch_readahead=1, fragment_readahead=1
        ):
            rows, size = rows - batch.num_rows, size - batch.nbytes
            if rows < 0 or size < 0:
                return None
            found.append(batch)
        return pa.Table.from_batches(found, self.table.schema)


def uncompressed_size(fragment: ds.ParquetFileFragment) -> int:
    """Return the size of a file's columns in bytes, uncompressed but encoded, by its footer."""
    footer = fragment.metadata
    return sum(footer.row_group(n).total_byte_size for n in range(footer.num_row_groups))


def removable_path(table: LakeTable, entry: LogEntry) -> str:
    """Return a file's path for a commit that removes it.

    delta-rs percent-encodes it again. Raises AlteredTableError if the log encodes it differently:
    the file would not be removed, and its rows would be in the table twice.
    """
    path = unquote(entry["path"])
    if quote(path, safe=_PLAIN) != entry["path"]:
        raise AlteredTableError(
            table.reference,
            f"has a file whose path delta-rs cannot remove ({path})",
            remedy="Delete its rows with Spark, or build the lake again from its binlogs.",
        )
    return path


def scan(
    table: LakeTable,
    opened: DeltaTable,
    options: Mapping[str, str],
    where: Condition | None = None,
) -> TableScan:
    """Scan the table's current files, or those that may have rows matching `where`; columns that
    a file lacks are null."""
    files = pa.table(opened.get_add_actions())
    return scan_files(table, files if where is None else may_have(files, table, where), options)


def scan_files(table: LakeTable, found: pa.Table, options: Mapping[str, str]) -> TableScan:
    """Scan some of a table's files; `found`: as returned by `DeltaTable.get_add_actions`."""
    # The log has percent-encoded paths: Spark's partition folders may contain any character.
    entries = {unquote(entry["path"]): entry for entry in found.to_pylist()}
    files = _files(table.reference, options, entries)
    fragments = [
        _FORMAT.make_fragment(path, files, partition_expression=_known_of(table, entry))
        for path, entry in entries.items()
    ]
    return TableScan(table, entries, ds.FileSystemDataset(fragments, table.schema, _FORMAT, files))


def _files(
    reference: str, options: Mapping[str, str], entries: Mapping[str, LogEntry]
) -> pafs.FileSystem:
    """Return the table's file system, which knows the files' sizes: to look one up costs a request,
    while holding Python's GIL."""
    folder = local_path(reference)
    if folder is not None:
        return pafs.SubTreeFileSystem(folder, pafs.LocalFileSystem())
    sizes = {path: int(entry["size_bytes"]) for path, entry in entries.items()}
    return pafs.PyFileSystem(DeltaStorageHandler(place(reference), dict(options), sizes))


def _known_of(table: LakeTable, entry: LogEntry) -> pc.Expression:
    """Return an expression that holds for all rows of a file."""
    known = pc.scalar(True)
    for name, value in (entry.get("partition") or {}).items():
        known &= pc.field(name).is_null() if value is None else _is(table, name, "equal", value)
    for name in set(table.statistics) - set(table.partition_by):
        least, greatest, nulls = (
            (entry.get(kind) or {}).get(name) for kind in ("min", "max", "null_count")
        )
        if least is None or greatest is None:
            continue
        for comparison, end in (("greater_equal", least), ("less_equal", greatest)):
            held = _is(table, name, comparison, end)
            # One by one: Arrow cannot simplify both at once if there are nulls.
            known &= held if nulls == 0 else held | pc.field(name).is_null()
    return known


def _is(table: LakeTable, name: str, comparison: str, value: Any) -> pc.Expression:
    typed = pc.scalar(pa.scalar(value, table.schema.field(name).type))
    return getattr(pc, comparison)(pc.field(name), typed)
