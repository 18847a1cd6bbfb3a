"""A table of values and nulls in many files, for tests of conditions on its columns."""

from __future__ import annotations

from datetime import date
from itertools import product

import pyarrow as pa

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import Value
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("n", pa.int64()),
        ("k", pa.int32()),
        ("a `b`", pa.string()),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("texts", pa.list_(pa.string())),
    ]
)
VALUES: dict[str, tuple[Value, ...]] = {
    "n": (-1, 3, 1 << 40),
    "k": (-1, 3),
    "a `b`": ("", "it's \\ü", "b"),
    "flag": (True, False),
    "day": (date(1969, 12, 31), date(2024, 2, 29)),
}
LISTS: tuple[list[str | None] | None, ...] = (None, [], [None], ["b"], ["it's \\ü"], ["b", "b"])


def table_rows() -> pa.Table:
    """Return rows that combine each value with every second other column, nulls included."""
    together = product(*((None, *VALUES[name]) for name in ("n", "a `b`", "flag")), LISTS)
    days = (None, *VALUES["day"])
    rows = [
        (number, n, (None, *VALUES["k"])[number % 3], text, flag, days[number % 5 % 3], texts)
        for number, (n, text, flag, texts) in enumerate(together)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, schema=SCHEMA)


def native_table(root: str) -> tuple[NativeTables, LakeTable]:
    """Write the rows to several files of a new lake, some of which statistics exclude."""
    statistics = ("n", "k", "a `b`")
    tables, table = NativeTables(Lake(root)), LakeTable(f"{root}/t", SCHEMA, statistics=statistics)
    rows = table_rows().sort_by("n")
    for number in range(0, len(rows), 60):
        tables.append(table, rows.slice(number, 60), Step("a", number))
    return tables, table
