"""Rewriting of a table's files with some rows changed or removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.model import DataFile, LakeTable, LogEntry
from pipeline.lake.files.data_files import partition_values, write_groups
from pipeline.lake.files.table_scan import TableScan


@dataclass(slots=True)
class Rewritten:
    """The result of a rewrite: files to be added, files to be removed (their log entries), and how
    many rows matched."""

    added: list[DataFile] = field(default_factory=list)
    removed: list[LogEntry] = field(default_factory=list)
    rows: int = 0


def without(files: TableScan, where: Condition) -> Rewritten:
    """Rewrite files without the rows matching `where`; if all match, a file is just removed."""
    rest = _not(where)
    return _rewritten(files, where, lambda group: group.filter(rest), whole_files=True)


def changed(
    files: TableScan, where: Condition, change: Callable[[pa.Table], pa.Table]
) -> Rewritten:
    """Rewrite files with the rows matching `where` replaced by the result of `change`."""
    rest = _not(where)

    def group_changed(group: pa.Table) -> pa.Table:
        matching = group.filter(where.expression)
        if not len(matching):
            return group
        return pa.concat_tables([group.filter(rest), change(matching)])

    return _rewritten(files, where, group_changed, whole_files=False)


def _rewritten(
    files: TableScan,
    where: Condition,
    change: Callable[[pa.Table], pa.Table],
    *,
    whole_files: bool,
) -> Rewritten:
    """Rewrite files; `whole_files`: a file in which all rows match is removed without a rewrite."""
    done = Rewritten()
    for entry, fragment in files.files(where):
        matching = count(fragment, files.table.schema, where)
        if not matching:
            continue
        done.removed.append(entry)
        done.rows += matching
        if not (whole_files and matching == fragment.metadata.num_rows):
            done.added += _rewrite_file(files.table, fragment, entry, change)
    return done


def count(fragment: ds.ParquetFileFragment, schema: pa.Schema, where: Condition) -> int:
    """Return the number of rows of a file that match; reads only the condition's columns.

    `count_rows` is not used: it holds Python's GIL, and a store's files are opened in Python.
    """
    scanner = ds.Scanner.from_fragment(fragment, schema=schema, columns=[], filter=where.expression)
    return int(scanner.to_table().num_rows)


def _rewrite_file(
    table: LakeTable,
    fragment: ds.ParquetFileFragment,
    entry: LogEntry,
    change: Callable[[pa.Table], pa.Table],
) -> list[DataFile]:
    """Write a file's changed rows to another, a row group at a time; none if no row is left."""
    partition = partition_values(entry.get("partition") or {})
    groups = fragment.split_by_row_group()
    changed_groups = (change(group.to_table(schema=table.schema)) for group in groups)
    return write_groups(table.reference, table, partition, changed_groups)


def _not(where: Condition) -> pc.Expression:
    """Return an expression for the rows that do not match, also those that nulls leave unknown."""
    return ~pc.coalesce(where.expression, pc.scalar(False))
