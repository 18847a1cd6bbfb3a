"""Schema changes over time: the timeline's items, with the commit times of their statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import altair as alt
import pyarrow as pa

from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import among, compare, equal
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.observe import redact
from pipeline.run.page.chart import (
    ACCENT,
    BAD,
    INK,
    NARROW,
    QUIET,
    SECOND,
    DataTable,
    Figure,
    data,
    drawn,
    instant,
    label_width,
    milliseconds,
    sized,
    time_axis,
)
from pipeline.schema_history.alter.items import TimelineItem, in_force
from pipeline.silver.decode.silver_tables import statements_table

NAME, TITLE = "schema-changes", "Schema changes"
WORDS: Mapping[str, str] = {
    "create": "created",
    "add_columns": "columns added",
    "alter": "altered",
    "renamed": "renamed",
    "moved": "renamed",
    "truncate": "emptied",
    "drop": "dropped",
    "unsupported": "not applicable",
}
"""The kinds of the timeline that are shown, in words; other kinds do not change a table."""
LOOKED_UP = 500
"""The most changes of a source whose times are looked up, the latest."""
TABLES = 14
"""The most tables in the chart, those that changed last."""
_STATEMENT = 300
"""The most characters of a statement that the table shows."""
_SHAPES = {
    "created": ("circle", ACCENT),
    "columns added": ("triangle-up", ACCENT),
    "altered": ("diamond", SECOND),
    "renamed": ("triangle-right", SECOND),
    "emptied": ("square", QUIET),
    "dropped": ("cross", INK),
    "not applicable": ("triangle-down", BAD),
}


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A change of a table's definition, by the statement committed at `at`."""

    source: str
    table: str
    what: str
    at: datetime
    statement: str
    reason: str | None = None


def schema_changes(
    spark: Spark, lake: Lake, items: Mapping[str, Sequence[TimelineItem]], since: datetime
) -> list[SchemaChange]:
    """Return the changes since a time, latest first; `items`: the timeline of each source.

    Changes whose statement silver's retention has removed are not among them.
    """
    found: list[SchemaChange] = []
    for source, timeline in items.items():
        logged = (item for item in in_force(timeline) if item.statement)
        shown = [item for item in logged if item.kind in WORDS][-LOOKED_UP:]
        times = _commit_times(spark, lake, source, {item.lsn for item in shown})
        found += [
            SchemaChange(
                source,
                str(item.name),
                WORDS[item.kind],
                at,
                redact(item.statement or ""),
                None if item.reason is None else redact(item.reason),
            )
            for item in shown
            if (at := times.get(item.lsn)) is not None and at >= since
        ]
    return sorted(found, key=lambda one: one.at, reverse=True)


def _commit_times(spark: Spark, lake: Lake, source: str, lsns: set[int]) -> dict[int, datetime]:
    """Return when statements were committed, by LSN, as far as silver still has them."""
    if not lsns:
        return {}
    where = equal("source", source) & compare("__lsn", ">=", min(lsns)) & among("__lsn", lsns)
    columns = ["__lsn", "committed_at"]
    rows: pa.Table = tables_of(spark, lake).read(statements_table(lake), where, columns)
    return {row["__lsn"]: row["committed_at"] for row in rows.to_pylist() if row["committed_at"]}


def figure(changes: Sequence[SchemaChange], since: datetime, until: datetime) -> Figure:
    """Return the timeline of changes, a line for each table."""
    table = _table(changes)
    if not changes:
        caption = f"No table was created, altered or dropped since {instant(since)} UTC."
        return Figure(NAME, TITLE, caption, table)
    tables = list(dict.fromkeys(one.table for one in changes))
    shown = tables[:TABLES]
    values = [
        {"at": milliseconds(one.at), "table": one.table, "what": one.what}
        for one in changes
        if one.table in shown
    ]
    kinds = [kind for kind in _SHAPES if any(row["what"] == kind for row in values)]

    def draw(width: int) -> Any:
        names = label_width(shown, width)
        lines = alt.Axis(
            title=None, labelLimit=names, labelPadding=8, domain=False, ticks=False, grid=True
        )
        legend = alt.Legend(title=None, columns=2 if width == NARROW else 4, symbolOpacity=1)
        shapes, colors = zip(*(_SHAPES[kind] for kind in kinds), strict=True)
        shape = alt.Scale(domain=kinds, range=list(shapes))
        points = alt.Chart(data(values)).mark_point(filled=False, size=80, strokeWidth=2, opacity=1)
        placed = points.encode(
            time_axis(since, until, width - names),
            alt.Y("table:N", sort=shown, axis=lines),
            alt.Shape("what:N", scale=shape, legend=legend),
            alt.Color("what:N", scale=alt.Scale(domain=kinds, range=list(colors))),
        )
        return sized(placed, width, 24 * len(shown))

    caption = "When tables were created, altered, renamed, emptied and dropped on the source."
    if len(tables) > len(shown):
        caption += f" The {len(shown)} tables that changed last; {len(tables)} did in all."
    return Figure(NAME, TITLE, caption, table, **drawn(TITLE, draw))


def _table(changes: Sequence[SchemaChange]) -> DataTable:
    rows = tuple(
        (instant(one.at), one.table, one.what, _shortened(one.statement), one.reason or "")
        for one in changes
    )
    columns = ("Committed (UTC)", "Table", "Change", "Statement", "Remark")
    return DataTable("Schema changes, latest first", columns, rows)


def _shortened(statement: str) -> str:
    text = " ".join(statement.split())
    return text if len(text) <= _STATEMENT else f"{text[:_STATEMENT]}…"
