"""Lookup of each group's last rows by the log's statistics: see `Tables.last`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from pipeline.lake.delta_log.conditions import Condition
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.files.skipping import PATH, only_rows, with_rows
from pipeline.lake.files.table_scan import scan_files

_ROW, _LEAST = "__row", "__least"


def last_rows(
    table: LakeTable,
    opened: DeltaTable,
    options: Mapping[str, str],
    by: str,
    each: Sequence[str],
    count: int,
    where: Condition,
) -> pa.Table:
    """Return the rows of `Tables.last`. Of files with several rows, only the key columns are read
    until it is known which files have such rows."""
    files = pa.table(opened.get_add_actions())
    names = [*each, by]
    known, others = only_rows(files, table)
    rows = [known.select([*names, PATH])]
    for entry, fragment in scan_files(table, others, options).files(where):
        found = fragment.to_table(schema=table.schema, columns=names)
        rows.append(found.append_column(PATH, pa.repeat(pa.scalar(entry["path"]), len(found))))
    keys = pa.concat_tables(rows).filter(where.expression)
    found = keys.take(_last(keys, by, each, count))
    dataset = scan_files(table, with_rows(files, found), options).dataset
    # In a large file, row groups without such rows are skipped.
    whole = dataset.to_table(filter=where.expression & _same(found.select(names)))
    return whole.take(_last(whole, by, each, count))


def _last(rows: pa.Table, by: str, each: Sequence[str], count: int) -> pa.Array:
    """Return the indices of the rows that are among the last of their group."""
    groups = rows.select([*each, by]).group_by(list(each)).aggregate([(by, "distinct")])
    ends = [_nth(values.values, count) for values in groups.column(f"{by}_distinct")]
    least = groups.select(list(each)).append_column(
        _LEAST, pa.array(ends, rows.schema.field(by).type)
    )
    numbered = rows.select([*each, by]).append_column(_ROW, pa.array(range(len(rows)), pa.int64()))
    joined = numbered.join(least, list(each), join_type="inner")
    return joined.filter(pc.field(by) >= pc.field(_LEAST)).column(_ROW)


def _same(found: pa.Table) -> pc.Expression:
    """Return an expression for rows with the same values as one of these."""
    alike = pc.scalar(False)
    for values in found.group_by(found.column_names).aggregate([]).to_pylist():
        alike |= reduce(and_, (pc.field(name) == value for name, value in values.items()))
    return alike


def _nth(values: pa.Array, count: int) -> Any:
    """Return the `count`-th greatest value, or the least one if there are fewer."""
    ordered = values.drop_null().sort("descending")
    return ordered[min(count, len(ordered)) - 1].as_py() if len(ordered) else None
