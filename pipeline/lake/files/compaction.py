"""Compaction of a table's small files into larger ones, with one row group in memory at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds

from pipeline.lake.dealing import packed
from pipeline.lake.delta_log.conditions import ALL_ROWS
from pipeline.lake.delta_log.model import LakeTable, LogEntry
from pipeline.lake.files.data_files import partition_values, write_groups
from pipeline.lake.files.rewriting import Rewritten
from pipeline.lake.files.table_scan import TableScan
from pipeline.lake.files.target_writer import GROUP_BYTES, GROUP_ROWS

TARGET_BYTES = 128 << 20
"""The size that compacted files should have, approximately."""
SMALL_BYTES = 64 << 20
"""Smaller files are compacted."""

_File = tuple[LogEntry, ds.ParquetFileFragment]


def compact_files(files: TableScan) -> Rewritten:
    """Rewrite the small files of each partition as fewer, larger ones.

    Files are combined in the order of their minimum values, so that file skipping still works.
    """
    done = Rewritten()
    for partition, some in _bins(files):
        groups = _row_groups(files.table, [fragment for _, fragment in some])
        done.added += write_groups(files.table.reference, files.table, partition, groups)
        done.removed += [entry for entry, _ in some]
    return done


def _bins(files: TableScan) -> Iterator[tuple[Mapping[str, str | None], list[_File]]]:
    """Yield each group of files to combine, with their partition."""
    small: dict[tuple[str | None, ...], list[_File]] = defaultdict(list)
    for entry, fragment in files.files(ALL_ROWS):
        if entry["size_bytes"] < SMALL_BYTES:
            values = partition_values(entry.get("partition") or {})
            small[tuple(values.get(name) for name in files.table.partition_by)].append(
                (entry, fragment)
            )
    for key, found in small.items():
        found.sort(key=lambda file: _order(files.table, file[0]))
        partition = dict(zip(files.table.partition_by, key, strict=True))
        runs = packed(found, _size, TARGET_BYTES)
        yield from ((partition, some) for some in runs if len(some) > 1)


def _size(file: _File) -> int:
    size: int = file[0]["size_bytes"]
    return size


def _order(table: LakeTable, entry: LogEntry) -> list[tuple[bool, Any]]:
    """Return the sort key of a file: its minimum values in the log, missing ones first."""
    least = entry.get("min") or {}
    values = [least.get(name) for name in table.statistics]
    return [(value is not None, value if value is not None else 0) for value in values]


def _row_groups(
    table: LakeTable, fragments: Iterable[ds.ParquetFileFragment]
) -> Iterator[pa.Table]:
    """Yield all rows, with small row groups combined; a group that is too large is kept."""
    waiting: list[pa.Table] = []
    rows = size = 0
    for fragment in fragments:
        for part in fragment.split_by_row_group():
            group = part.to_table(schema=table.schema)
            if waiting and (size + group.nbytes > GROUP_BYTES or rows + len(group) > GROUP_ROWS):
                yield pa.concat_tables(waiting)
                waiting, rows, size = [], 0, 0
            waiting.append(group)
            rows, size = rows + len(group), size + group.nbytes
    if waiting:
        yield pa.concat_tables(waiting)
