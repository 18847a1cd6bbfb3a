"""Rows that gold applied, by day and by table, from the records of runs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from typing import Any

import altair as alt

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe.quantities import size
from pipeline.run.page.chart import (
    ACCENT,
    QUIET,
    DataTable,
    Figure,
    bar_axis,
    bar_size,
    data,
    drawn,
    label_width,
    sized,
)

STRIPS = 10
"""The most tables in the chart, those with the most rows."""
LEAST_DAYS = 7
"""The fewest days shown: a single bar would look like a mistake."""
_BAD = ("failed", "interrupted", "faults")


@dataclass(frozen=True, slots=True)
class DailyRows:
    """Rows applied on each of `days`, in UTC, by table; the tables with the most rows first."""

    days: tuple[date, ...]
    by_table: Mapping[str, Mapping[date, int]]

    def total(self, table: str) -> int:
        """Return a table's rows on all days."""
        return sum(self.by_table[table].values())


def daily_rows(runs: Sequence[RunRecord], since: datetime, until: datetime) -> DailyRows:
    """Return the rows of runs, each on the day that it started."""
    counts: dict[str, Counter[date]] = defaultdict(Counter)
    for run in runs:
        for table, rows in run.rows_applied_by_table.items():
            counts[table][run.day] += rows
    last = until.astimezone(timezone.utc).date()
    recorded = min((run.day for run in runs), default=last)
    first = max(recorded, since.date() + timedelta(days=1))
    first = min(first, last - timedelta(days=LEAST_DAYS - 1))
    days = tuple(first + timedelta(days=n) for n in range((last - first).days + 1))
    order = sorted(counts, key=lambda table: (-counts[table].total(), table))
    return DailyRows(days, {table: counts[table] for table in order})


def figures(runs: Sequence[RunRecord], since: datetime, until: datetime) -> list[Figure]:
    """Return the charts of all rows by day, and of each table's rows by day."""
    rows = daily_rows(runs, since, until)
    return [_totals(rows, runs), _of_tables(rows)]


def _totals(rows: DailyRows, runs: Sequence[RunRecord]) -> Figure:
    name, title = "daily-rows", "Rows applied per day"
    counts = {day: sum(of[day] for of in rows.by_table.values()) for day in rows.days}
    table = _day_table(rows.days, counts, runs)
    if not rows.by_table:
        return Figure(name, title, "No run has applied rows.", table)
    values = [{"day": _label(day), "rows": count} for day, count in counts.items()]

    def draw(width: int) -> Any:
        axis = alt.Axis(title="rows", format="~s", tickCount=4, tickMinStep=1, domain=False)
        bars = alt.Chart(data(values)).mark_bar(
            color=ACCENT, size=bar_size(width - 60, len(values))
        )
        return sized(bars.encode(_day_axis(), alt.Y("rows:Q", axis=axis)), width, 240)

    caption = "Changed rows that runs applied to gold's tables, by the day (UTC) the run started."
    return Figure(name, title, caption, table, **drawn(title, draw))


def _of_tables(rows: DailyRows) -> Figure:
    name, title = "table-rows", "Rows by table and day"
    table = _matrix(rows)
    if not rows.by_table:
        return Figure(name, title, "No run has applied rows.", table)
    shown = list(rows.by_table)[:STRIPS]
    values = [
        {"table": one, "day": _label(day), "rows": rows.by_table[one].get(day, 0)}
        for one in shown
        for day in rows.days
    ]
    totals = [
        {"table": one, "day": _label(rows.days[-1]), "rows": 0, "total": f"{rows.total(one):,}"}
        for one in shown
    ]

    def draw(width: int) -> Any:
        names, total = label_width(shown, width), 76
        inner = width - names - total
        y = alt.Y("rows:Q", axis=None)
        bars = (
            alt.Chart()
            .mark_bar(color=ACCENT, size=bar_size(inner, len(rows.days)))
            .encode(_day_axis(), y)
            .transform_filter("!isValid(datum.total)")
        )
        texts = (
            alt.Chart()
            .mark_text(align="left", baseline="bottom", color=QUIET, fontSize=11)
            .encode(x=alt.value(inner + 8), y=alt.value(24), text="total:N")
            .transform_filter("isValid(datum.total)")
        )
        header = alt.Header(
            title=None, labelAngle=0, labelAlign="left", labelLimit=names, labelBaseline="middle"
        )
        return (
            alt.layer(bars, texts, data=data([*values, *totals]))
            .properties(width=inner, height=24)
            .facet(row=alt.Row("table:N", sort=shown, header=header), spacing=10)
            .resolve_scale(y="independent")
        )

    which = f"The {STRIPS} tables with the most rows" if len(rows.by_table) > STRIPS else "Tables"
    caption = (
        f"{which}, each with its total on the right. The full height of a line is that table's"
        " busiest day."
    )
    return Figure(name, title, caption, table, **drawn(title, draw))


def _day_axis() -> alt.X:
    return alt.X("day:O", sort=None, axis=bar_axis())


def _label(day: date) -> str:
    return f"{day.day} {day:%b}"


def _day_table(
    days: Iterable[date], applied: Mapping[date, int], runs: Sequence[RunRecord]
) -> DataTable:
    of_day: dict[date, list[RunRecord]] = defaultdict(list)
    for run in runs:
        of_day[run.day].append(run)
    rows = tuple(
        (
            f"{day}",
            f"{len(of_day[day]):,}",
            f"{sum(run.outcome in _BAD for run in of_day[day]):,}",
            size(sum(run.bytes for run in of_day[day])),
            f"{sum(run.transactions for run in of_day[day]):,}",
            f"{sum(run.rows_decoded for run in of_day[day]):,}",
            f"{applied[day]:,}",
        )
        for day in sorted(days, reverse=True)
    )
    columns = (
        "Day (UTC)",
        "Runs",
        "With failures or faults",
        "Log ingested",
        "Transactions",
        "Rows decoded",
        "Rows applied",
    )
    return DataTable("Days, latest first", columns, rows, numeric=range(1, len(columns)))


def _matrix(rows: DailyRows) -> DataTable:
    """Return all tables by all days, without zeros."""
    listed = tuple(
        (
            table,
            f"{rows.total(table):,}",
            *(f"{count:,}" if (count := of.get(day, 0)) else "" for day in reversed(rows.days)),
        )
        for table, of in rows.by_table.items()
    )
    columns = ("Table", "All days", *(_label(day) for day in reversed(rows.days)))
    return DataTable(
        "Rows applied by table and day (UTC)", columns, listed, numeric=range(1, len(columns))
    )
