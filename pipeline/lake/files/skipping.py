"""Which of a table's files may have some rows, as far as its log tells: no file is opened.

Of a file with one row, as all of the ledger's are, statistics give the row's own values: so tens of
thousands of files are looked through at once, where asking each for its promises takes seconds.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.delta_log.table_log import statistic

PATH = "__path"
"""The column of `only_rows` that says which file has the row."""


def may_have(files: pa.Table, table: LakeTable, where: Condition) -> pa.Table:
    """The files that may have rows which `where` means; `files`: as `DeltaTable.get_add_actions`
    has them."""
    rows = _single_rows(files, table)
    try:
        known = _known(rows).filter(where.expression)
    except pa.ArrowInvalid:
        return files  # It asks for columns that have no statistics: reading the files answers it.
    return files.filter(pc.or_(_among(files, known), _unknown(rows)))


def only_rows(files: pa.Table, table: LakeTable) -> tuple[pa.Table, pa.Table]:
    """The rows of the files that have one each, as far as there are statistics of its columns;
    and the files of which the log does not tell that."""
    rows = _single_rows(files, table)
    return _known(rows), files.filter(_unknown(rows))


def with_rows(files: pa.Table, rows: pa.Table) -> pa.Table:
    """The files that have one of the rows."""
    return files.filter(_among(files, rows))


def _single_rows(files: pa.Table, table: LakeTable) -> pa.Table:
    """A row for each file, with its columns that have statistics, and its path if those are the
    values of the one row that it has; else null."""
    known = pc.equal(files.column("num_records"), 1)
    columns = {}
    for name in {*table.statistics, *table.partition_by}:
        kind = table.schema.field(name).type
        if name in table.partition_by:
            columns[name] = statistic(files, "partition", name).cast(kind)
            continue
        least, greatest = (statistic(files, end, name).cast(kind) for end in ("min", "max"))
        nulls = statistic(files, "null_count", name).cast(pa.int64())
        # Of a text that was shortened the two ends differ.
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
