"""The demo's output: counts of changes, first rows of gold, and figures to compare."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, functions as sf
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.lake import Lake, delta
from pipeline.run.status import TableStatus

ROWS = 4
WIDEST = 26
"""Characters shown of a value."""
OPERATIONS = ("insert", "update", "delete")

FIGURES = {
    "customers": ("SUM(id)", "SUM(size(json_object_keys(preferences)))"),
    "products": ("SUM(price)", "SUM(stock)"),
    "orders": ("SUM(total)", "COUNT_IF(status = 'shipped')"),
    "order_items": ("SUM(price * quantity)", "SUM(line)"),
    "payments": ("SUM(amount)", "COUNT(DISTINCT order_id)"),
}
"""The sums of `demo.record.TOTALS`, in Spark SQL."""


def show_changes(
    spark: SparkSession,
    lake: Lake,
    tables: Sequence[TableStatus],
    before: Mapping[tuple[str, str], int],
    screen: Console,
) -> None:
    """Print the rows inserted, updated and deleted in each table since its LSN in `before`."""
    counts = {
        table.table: _operations(spark, lake, table, before.get((table.schema, table.table), 0))
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


def show_gold(spark: SparkSession, table: TableStatus, screen: Console) -> None:
    """Print a few rows of a gold table, with as many columns as fit the screen."""
    gold = delta.read(spark, table.gold)
    columns = [name for name in gold.columns if not name.startswith("__")]
    texts = [_as_text(gold, name) for name in columns]
    rows = gold.orderBy(columns[0]).limit(ROWS).select(*texts).collect()
    widths = [
        min(WIDEST, max(len(name), *(len(row[at] or "") for row in rows)))
        for at, name in enumerate(columns)
    ]
    room = sum(used <= screen.width - 1 for used in accumulate(width + 3 for width in widths))
    title = f"{table.schema}.{table.table}: {gold.count():,} rows"
    left_out = ", ".join(columns[room:])
    caption = f"and {left_out}" if left_out else None
    shown = Table(title=escape(title), caption=caption, title_justify="left")
    for name, width in zip(columns[:room], widths, strict=False):
        shown.add_column(escape(name), no_wrap=True, overflow="ellipsis", width=width)
    for row in rows:
        shown.add_row(*("" if value is None else escape(value) for value in row[:room]))
    screen.print(shown, "")


def show_figures(
    spark: SparkSession, tables: Sequence[TableStatus], expected: Path, screen: Console
) -> bool:
    """Print tables whose row count or sums differ from the recorded server's; True if none does."""
    source: dict[str, list[str]] = json.loads(expected.read_text())
    gold = {table.table: _figures(spark, table) for table in tables}
    different = [name for name, figures in source.items() if gold.get(name) != figures]
    for name in different:
        screen.print(f"{name}: the server had {source[name]}, gold has {gold.get(name)}")
    if not different:
        screen.print(
            f"Row counts and sums of all {len(source)} tables equal the source server's.\n"
        )
    return not different


def _operations(spark: SparkSession, lake: Lake, table: TableStatus, since: int) -> dict[str, int]:
    """Count the changes after LSN `since` up to gold's LSN, in all versions of the silver table."""
    versions = Path(lake.changes(table.schema, table.table, 0)).parent.glob("v*")
    new = sf.col("__lsn").between(since + 1, table.lsn)
    counts: dict[str, int] = {}
    for path in versions:
        for row in delta.read(spark, str(path)).where(new).groupBy("__op").count().collect():
            counts[row["__op"]] = counts.get(row["__op"], 0) + row["count"]
    return counts


def _figures(spark: SparkSession, table: TableStatus) -> list[str]:
    columns = ("COUNT(*)", *FIGURES[table.table])
    row: tuple[Any, ...] = delta.read(spark, table.gold).selectExpr(*columns).collect()[0]
    return [str(figure) for figure in row]


def _as_text(gold: DataFrame, name: str) -> Any:
    column = sf.col(f"`{name}`")
    return (sf.hex(column) if gold.schema[name].dataType.typeName() == "binary" else column).cast(
        "string"
    )
