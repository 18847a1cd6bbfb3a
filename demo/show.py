"""The demo's output: counts of changes, first rows of gold, and figures to compare."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.lake import Lake
from pipeline.run import TableStatus

ROWS = 4
WIDEST = 26
"""Characters shown of a value."""
OPERATIONS = ("insert", "update", "delete")


def _sum(rows: pa.Table, name: str) -> Any:
    return pc.sum(rows[name]).as_py()


FIGURES: Mapping[str, Callable[[pa.Table], Sequence[Any]]] = {
    "customers": lambda rows: (
        _sum(rows, "id"),
        sum(len(json.loads(text)) for text in rows["preferences"].to_pylist() if text),
    ),
    "products": lambda rows: (_sum(rows, "price"), _sum(rows, "stock")),
    "orders": lambda rows: (
        _sum(rows, "total"),
        pc.sum(pc.equal(rows["status"], "shipped")).as_py(),
    ),
    "order_items": lambda rows: (
        pc.sum(pc.multiply(rows["price"], rows["quantity"])).as_py(),
        _sum(rows, "line"),
    ),
    "payments": lambda rows: (_sum(rows, "amount"), pc.count_distinct(rows["order_id"]).as_py()),
}
"""The sums of `demo.record.TOTALS`."""


def show_changes(
    lake: Lake,
    tables: Sequence[TableStatus],
    before: Mapping[tuple[str, str], int],
    screen: Console,
) -> None:
    """Print the rows inserted, updated and deleted in each table since its LSN in `before`."""
    counts = {
        table.table: _operations(lake, table, before.get((table.schema, table.table), 0))
        for table in tables
        if table.lsn > before.get((table.schema, table.table), 0)
    }
    if not any(counts.values()):
        screen.print("Nothing has changed since the last run.\n")
        return
    shown = Table(title="What changed", title_justify="left")
    shown.add_column("table")
    for operation in OPERATIONS:
        shown.add_column(f"{operation}s", justify="right")
    for table, count in counts.items():
        shown.add_row(table, *(f"{count.get(operation, 0):,}" for operation in OPERATIONS))
    screen.print(shown, "")


def show_gold(name: str, gold: pa.Table, screen: Console) -> None:
    """Print a few rows of a gold table, with as many columns as fit the screen."""
    columns = [column for column in gold.column_names if not column.startswith("__")]
    rows = gold.sort_by(columns[0]).slice(0, ROWS).select(columns).to_pylist()
    texts = [[_as_text(row[column]) for column in columns] for row in rows]
    widths = [
        min(WIDEST, max(len(column), *(len(row[at]) for row in texts)))
        for at, column in enumerate(columns)
    ]
    room = sum(used <= screen.width - 1 for used in accumulate(width + 3 for width in widths))
    title = f"{name}: {len(gold):,} rows"
    left_out = ", ".join(columns[room:])
    caption = f"and {left_out}" if left_out else None
    shown = Table(title=escape(title), caption=caption, title_justify="left")
    for column, width in zip(columns[:room], widths, strict=False):
        shown.add_column(escape(column), no_wrap=True, overflow="ellipsis", width=width)
    for row in texts:
        shown.add_row(*(escape(value) for value in row[:room]))
    screen.print(shown, "")


def show_figures(gold: Mapping[str, pa.Table], expected: Path, screen: Console) -> bool:
    """Print tables whose row count or sums differ from the recorded server's; True if none does.

    `gold`: by `schema.table`.
    """
    source: dict[str, list[str]] = json.loads(expected.read_text())
    found = {name.partition(".")[2]: rows for name, rows in gold.items()}
    figures = {
        name: [str(figure) for figure in (len(found[name]), *FIGURES[name](found[name]))]
        for name in found
    }
    different = [name for name in source if figures.get(name) != source[name]]
    for name in different:
        screen.print(f"{name}: the server had {source[name]}, gold has {figures.get(name)}")
    if not different:
        screen.print(
            f"Row counts and sums of all {len(source)} tables equal the source server's.\n"
        )
    return not different


def _operations(lake: Lake, table: TableStatus, since: int) -> dict[str, int]:
    """Count the changes after LSN `since` up to gold's LSN, in all versions of the silver table."""
    versions = Path(lake.changes(table.schema, table.table, 0)).parent.glob("v*")
    new = f"__lsn > {since} AND __lsn <= {table.lsn}"
    query = f"SELECT __op, COUNT(*) AS rows FROM changes WHERE {new} GROUP BY __op"
    counts: dict[str, int] = {}
    for path in versions:
        changes = QueryBuilder().register("changes", DeltaTable(str(path)))
        for row in pa.table(changes.execute(query).read_all()).to_pylist():
            counts[row["__op"]] = counts.get(row["__op"], 0) + row["rows"]
    return counts


def _as_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.hex().upper()
    return "" if value is None else str(value)
