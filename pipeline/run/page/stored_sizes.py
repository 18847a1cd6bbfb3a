"""Sizes of the lake's tables, by their Delta logs: what their current versions hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import altair as alt
import pyarrow as pa

from pipeline.errors import BinlakeError
from pipeline.lake.delta_log.model import DeltaState, LakeTable
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.sql_text import is_name
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.lake.tables.choice import tables_of
from pipeline.maintenance.tables import Table, lake_wide_tables, tables_of_changes
from pipeline.observe.quantities import byte_factor, byte_unit, size
from pipeline.run.page.chart import (
    ACCENT,
    INK,
    ChartValues,
    DataTable,
    Figure,
    data,
    drawn,
    label_width,
    sized,
)
from pipeline.run.status import TableStatus
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.settings import Settings

NAME, TITLE = "sizes", "Sizes now"
BARS = 12
"""The most tables in the chart, the largest."""


@dataclass(frozen=True, slots=True)
class TableSize:
    """A table of the lake: its layer, its name there, and its files; None if they are unknown."""

    layer: str
    name: str
    files: int | None = None
    bytes: int | None = None


def table_sizes(
    spark: Spark,
    settings: Settings,
    items: Mapping[str, Sequence[TimelineItem]],
    gold: Iterable[TableStatus],
) -> list[TableSize]:
    """Return the sizes of all tables that exist, largest first; unknown ones last.

    Gold's tables in a catalog are unknown to a process without Spark, which is not started for it.
    """
    lake = settings.layout
    tables = tables_of(spark, lake)
    found = [*lake_wide_tables(lake)]
    for timeline in items.values():
        found += tables_of_changes(lake, timeline)
    found += [_gold_table(table) for table in gold]

    def look(table: Table) -> TableSize | None:
        layer = table.name.partition("/")[0]
        if is_name(table.stored.reference) and not isinstance(tables, SparkTables):
            return TableSize(layer, table.name)
        try:
            state: DeltaState | None = tables.state(table.stored)
        except BinlakeError:
            # A table that is damaged, or altered by another program: only its size is lost.
            return TableSize(layer, table.name)
        return None if state is None else TableSize(layer, table.name, state.files, state.bytes)

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        sizes = [one for one in pool.map(look, found) if one is not None]
    return sorted(sizes, key=lambda one: (one.bytes is None, -(one.bytes or 0), one.name))


def _gold_table(table: TableStatus) -> Table:
    return Table(f"gold/{table.schema}/{table.table}", LakeTable(table.gold, pa.schema([])))


def by_layer(sizes: Iterable[TableSize]) -> dict[str, int]:
    """Return the bytes of each layer, in data order."""
    total: dict[str, int] = defaultdict(int)
    for one in sizes:
        total[one.layer] += one.bytes or 0
    order = ("bronze", "silver", "gold")
    return {name: total[name] for name in (*order, *sorted(total.keys() - {*order}))}


def figure(sizes: Sequence[TableSize]) -> Figure:
    """Return the chart of the largest tables, and the sizes of all."""
    table = _table(sizes)
    largest = [one for one in sizes if one.bytes][:BARS]
    if not largest:
        return Figure(NAME, TITLE, "No table is stored yet.", table)
    unit = byte_unit([one.bytes or 0 for one in largest])
    values = [
        {"name": one.name, "amount": (one.bytes or 0) / byte_factor(unit), "label": size(one.bytes)}
        for one in largest
    ]
    layers = ", ".join(f"{name} {size(count)}" for name, count in by_layer(sizes).items() if count)
    some = f"The {BARS} largest of {len(sizes):,} tables. " if len(sizes) > BARS else ""
    caption = (
        f"{some}By layer: {layers}. Counted are the files of each table's current version, not"
        " those that older snapshots need or that vacuum will remove."
    )
    if unknown := sum(one.bytes is None for one in sizes):
        caption += f" Of unknown size: {unknown}, damaged or in a catalog."
    return Figure(
        NAME, TITLE, caption, table, **drawn(TITLE, lambda width: _bars(values, width, unit))
    )


def _bars(values: ChartValues, width: int, unit: str) -> Any:
    """Return horizontal bars in the order of `values`, each with its size beside it."""
    names, room = label_width([row["name"] for row in values], width), 70
    greatest = max(row["amount"] for row in values)
    inner = width - names
    x = alt.X(
        "amount:Q",
        # Room for the text beside the longest bar.
        scale=alt.Scale(domain=[0, greatest * inner / (inner - room)], nice=False),
        axis=alt.Axis(title=unit, tickCount=4, grid=False),
    )
    axis = alt.Axis(title=None, labelLimit=names, domain=False, ticks=False)
    base = alt.Chart(data(values)).encode(x, alt.Y("name:N", sort=None, axis=axis))
    bars = base.mark_bar(color=ACCENT, height=14)
    texts = base.mark_text(align="left", dx=4, color=INK, fontSize=11).encode(text="label:N")
    return sized(alt.layer(bars, texts), width, 22 * len(values))


def _table(sizes: Sequence[TableSize]) -> DataTable:
    rows = tuple(
        (
            one.name,
            one.layer,
            "" if one.files is None else f"{one.files:,}",
            size(one.bytes) or "unknown",
        )
        for one in sizes
    )
    columns = ("Table", "Layer", "Files", "Size")
    return DataTable("Tables, largest first", columns, rows, numeric=(2, 3))
