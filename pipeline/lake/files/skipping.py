"""File skipping by the statistics in a table's log; no file is opened.

For a file of one row, as all of the ledger's are, the statistics are the row's own values: so tens
of thousands of files are filtered at once, while evaluating each file's statistics one by one takes
seconds.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_log.table_log import statistic

PATH = "__path"
"""The column of `only_rows` with the path of the row's file."""


def may_have(files: pa.Table, table: LakeTable, where: Condition) -> pa.Table:
    """Return the files that may have rows matching `where`; `files`: as returned by
    `DeltaTable.get_add_actions`."""
    rows = _single_rows(files, table)
    try:
        known = _known(rows).filter(where.expression)
    except pa.ArrowInvalid:
        return files  # The condition has columns without statistics, so the files must be read.
    return files.filter(pc.or_(_among(files, known), _unknown(rows)))


def only_rows(files: pa.Table, table: LakeTable) -> tuple[pa.Table, pa.Table]:
    """Return the rows of single-row files, from their statistics (only columns that have some);
    and all other files."""
    rows = _single_rows(files, table)
    return _known(rows), files.filter(_unknown(rows))


def with_rows(files: pa.Table, rows: pa.Table) -> pa.Table:
    """Return the files of the rows, which are those of `only_rows`."""
    return files.filter(_among(files, rows))


def _single_rows(files: pa.Table, table: LakeTable) -> pa.Table:
    """Return a row per file, of the columns with statistics. Its path is null unless the file has a
    single row whose values these are."""
    known = pc.equal(files.column("num_records"), 1)
    columns = {}
    for name in {*table.statistics, *table.partition_by}:
        kind = table.schema.field(name).type
        if name in table.partition_by:
            columns[name] = statistic(files, "partition", name).cast(kind)
            continue
        least, greatest = (statistic(files, end, name).cast(kind) for end in ("min", "max"))
        nulls = statistic(files, "null_count", name).cast(pa.int64())
        # The minimum and maximum of a truncated text differ.
        one = pc.or_kleene(pc.equal(least, greatest), pc.equal(nulls, 1))
        known = pc.and_(known, pc.fill_null(one, fill_value=False))
        columns[name] = least
    path = pc.if_else(pc.fill_null(known, fill_value=False), files.column("path"), None)
    return pa.table({**columns, PATH: path})


def _known(rows: pa.Table) -> pa.Table:
    return rows.filter(pc.is_valid(rows.column(PATH)))


def _unknown(rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_null(rows.column(PATH))


def _among(files: pa.Table, rows: pa.Table) -> pa.ChunkedArray:
    return pc.is_in(files.column("path"), value_set=rows.column(PATH))
