"""A table of numbered rows in groups, for look-ups of the last row of each group."""

from __future__ import annotations

import pyarrow as pa

from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.tables.native import NativeTables

COUNTED = pa.schema(
    [pa.field("of", pa.string()), pa.field("n", pa.int64()), pa.field("body", pa.string())]
)


def counted_table(tables: NativeTables) -> LakeTable:
    """Write rows to several files, some of them shared, and one row without a number."""
    made = LakeTable(f"{tables.lake.root}/counted", COUNTED, statistics=("of", "n"))
    files: list[list[tuple[str | None, int | None]]] = [
        [("a", 1), ("b", 9), ("a", 2), (None, 99)],
        [("a", 3)],
        [("a", 3)],
        [("b", None)],
        [("c", 4)],
    ]
    for number, rows in enumerate(files):
        written = [{"of": of, "n": n, "body": f"{of}{n}"} for of, n in rows]
        tables.append(made, pa.Table.from_pylist(written, schema=COUNTED), Step("made", number))
    return made
