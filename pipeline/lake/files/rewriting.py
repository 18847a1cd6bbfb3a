"""Files of a table that are written again, with some of their rows changed or left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.table import DataFile, LakeTable
from pipeline.lake.files.data_files import partition_values, write_groups
from pipeline.lake.files.scanning import LogEntry, Scan


@dataclass(slots=True)
class Rewritten:
    """`removed`: files as the log has them. `added`: what takes their place. `rows`: how many of
    their rows were meant."""

    added: list[DataFile] = field(default_factory=list)
    removed: list[LogEntry] = field(default_factory=list)
    rows: int = 0


def without(files: Scan, where: Condition) -> Rewritten:
    """The files without the rows that `where` means; one of which all are meant is not read."""
    rest = _not(where)
    return _rewritten(files, where, lambda group: group.filter(rest), whole_files=True)


def changed(files: Scan, where: Condition, change: Callable[[pa.Table], pa.Table]) -> Rewritten:
    """The files with rows that `where` means as `change` gives them."""
    rest = _not(where)

    def group_changed(group: pa.Table) -> pa.Table:
        meant = group.filter(where.expression)
        return pa.concat_tables([group.filter(rest), change(meant)]) if len(meant) else group

    return _rewritten(files, where, group_changed, whole_files=False)


def _rewritten(
    files: Scan,
    where: Condition,
    change: Callable[[pa.Table], pa.Table],
    *,
    whole_files: bool,
) -> Rewritten:
    """`whole_files`: nothing is left of a file of which all rows are meant."""
    done = Rewritten()
    for entry, fragment in files.files(where):
        meant = count(fragment, files.table.schema, where)
        if not meant:
            continue
        done.removed.append(entry)
        done.rows += meant
        if not (whole_files and meant == fragment.metadata.num_rows):
            done.added += _written_again(files.table, fragment, entry, change)
    return done


def count(fragment: ds.ParquetFileFragment, schema: pa.Schema, where: Condition) -> int:
    """How many rows of a file are meant; reads the columns of the condition alone.

    Not by `count_rows`, which keeps Python's lock: files of a store are opened in Python.
    """
    scanner = ds.Scanner.from_fragment(fragment, schema=schema, columns=[], filter=where.expression)
    return int(scanner.to_table().num_rows)


def _written_again(
    table: LakeTable,
    fragment: ds.ParquetFileFragment,
    entry: LogEntry,
    change: Callable[[pa.Table], pa.Table],
) -> list[DataFile]:
    """A file with what is left of another, a row group at a time; none where nothing is left."""
    partition = partition_values(entry.get("partition") or {})
    groups = fragment.split_by_row_group()
    changed_groups = (change(group.to_table(schema=table.schema)) for group in groups)
    return write_groups(table.reference, table, partition, changed_groups)


def _not(where: Condition) -> pc.Expression:
    """The rows that a condition does not mean: also those of which nulls leave it unknown."""
    return ~pc.coalesce(where.expression, pc.scalar(False))
