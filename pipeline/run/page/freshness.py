"""Freshness of gold over time, from the snapshots that runs published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import altair as alt

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe.quantities import duration
from pipeline.run.page.chart import (
    ACCENT,
    SECOND,
    ChartValues,
    DataTable,
    Figure,
    data,
    drawn,
    instant,
    milliseconds,
    sized,
    time_axis,
)
from pipeline.run.page.lake_page import LakePage
from pipeline.run.status import SourceStatus

NAME, TITLE = "freshness", "Freshness and lag over time"
SOURCES = 6
"""The most sources in the chart: those whose gold is oldest."""
LISTED = 200
"""The most publications in the table."""
POINTS = 300
"""The most publications of a source that are drawn; if there are more, the oldest gold in each
interval."""
LEAST_TIME = timedelta(hours=1)
"""The shortest time shown: the labels of a shorter axis would repeat a minute."""
_UNITS = ((172_800, 86_400, "days"), (7_200, 3_600, "hours"), (120, 60, "minutes"))


@dataclass(frozen=True, slots=True)
class PublishedAge:
    """A published snapshot's age: gold had what was committed until `committed_at`.

    `before`: the previous snapshot's commit time, None for the first one known.
    """

    source: str
    published_at: datetime
    committed_at: datetime
    before: datetime | None = None

    @property
    def lag(self) -> float:
        """Seconds from commit to publication."""
        return (self.published_at - self.committed_at).total_seconds()

    @property
    def peak(self) -> float:
        """Freshness just before this publication, in seconds."""
        return (self.published_at - (self.before or self.committed_at)).total_seconds()


def publications(runs: Iterable[RunRecord], source: SourceStatus) -> list[PublishedAge]:
    """Return a source's publications in order: those of recorded runs, and the last one, whose run
    may have been killed before it left a record."""
    times = {
        run.published_at: run.cut_committed_at
        for run in runs
        if run.source == source.source and run.published_at and run.cut_committed_at
    }
    if source.published_at and source.committed_at:
        times[source.published_at] = source.committed_at
    made = [(at, committed) for at, committed in sorted(times.items()) if committed]
    befores = [None, *(committed for _, committed in made)]
    return [
        PublishedAge(source.source, at, committed, before)
        for (at, committed), before in zip(made, befores, strict=False)
    ]


def figure(page: LakePage) -> Figure:
    """Return the chart of the freshness and lag of each source."""
    known = {one.source: publications(page.runs, one) for one in page.status.sources}
    shown = _oldest(page, known)
    table = _table([one for found in known.values() for one in found])
    if not shown:
        return Figure(NAME, TITLE, "No snapshot is published yet.", table)
    rows = [row for name in shown for row in _line(page, known[name])]
    seconds = max(max(row["age"] for row in rows), 1)
    factor, unit = next(((by, n) for least, by, n in _UNITS if seconds >= least), (1, "seconds"))
    values = [
        {**row, **{name: row[name] / factor for name in ("age", "lag") if name in row}}
        for row in rows
    ]
    first = min(max(known[name][0].published_at, page.since) for name in shown)
    first = min(first, page.made_at - LEAST_TIME)
    left_out = len(known) - len(shown)
    caption = (
        f"The line shows gold's freshness (the age of its last commit), in {unit}, until this page"
        " was made. It grows until a run publishes a snapshot, even if nothing is committed on the"
        " source. Dots show the lag of each published snapshot: the time from its last commit on"
        " the source to its publication."
    )
    if left_out > 0:
        caption += f" Not drawn: {left_out} with fresher gold, or without a snapshot."
    many = len(shown) > 1

    def draw(width: int) -> Any:
        return _chart(values, width, unit, first, page.made_at, faceted=many)

    return Figure(NAME, TITLE, caption, table, **drawn(TITLE, draw))


def _oldest(page: LakePage, known: dict[str, list[PublishedAge]]) -> list[str]:
    ages = {one.source: one.age_seconds or 0 for one in page.status.sources if known[one.source]}
    return sorted(ages, key=lambda name: -ages[name])[:SOURCES]


def _line(page: LakePage, found: Sequence[PublishedAge]) -> Iterator[dict[str, Any]]:
    """Yield the points of a source's line in the order of time, those of publications with lag."""
    inside = [one for one in found if one.published_at >= page.since]
    name, last = found[-1].source, found[-1].committed_at
    if not inside:
        yield _point(name, page.since, (page.since - last).total_seconds())
    for one in _thinned(inside):
        if one.before is not None:
            yield _point(name, one.published_at, one.peak)
        yield {**_point(name, one.published_at, one.lag), "lag": one.lag}
    yield _point(name, page.made_at, (page.made_at - last).total_seconds())


def _point(source: str, at: datetime, age: float) -> dict[str, Any]:
    return {"source": source, "at": milliseconds(at), "age": age}


def _thinned(found: Sequence[PublishedAge]) -> list[PublishedAge]:
    """Return at most `POINTS` publications: of each interval, the one after the oldest gold."""
    step = -(-len(found) // POINTS)
    if step <= 1:
        return list(found)
    ends = [*range(0, len(found), step), len(found)]
    return [max(found[a:b], key=lambda one: one.peak) for a, b in pairwise(ends)]


def _chart(
    values: ChartValues, width: int, unit: str, first: datetime, last: datetime, *, faceted: bool
) -> Any:
    x = time_axis(first, last, width)
    title = f"{unit} old"
    axis = alt.Axis(title=title, tickCount=4, domain=False, ticks=False)
    y = alt.Y("age:Q", axis=axis, stack=False)
    base = alt.Chart()
    area = base.mark_area(color=ACCENT, opacity=0.12).encode(x, y)
    line = base.mark_line(color=ACCENT, strokeWidth=1.5, strokeJoin="round").encode(x, y)
    dots = (
        base.mark_point(color=SECOND, filled=True, size=28, opacity=1)
        .encode(x, alt.Y("lag:Q"))
        .transform_filter("isValid(datum.lag)")
    )
    layers = alt.layer(area, line, dots, data=data(values))
    if not faceted:
        return sized(layers, width, 240)
    inner = width - 60
    header = alt.Header(title=None, labelOrient="top", labelAnchor="start", labelLimit=inner)
    each = layers.properties(width=inner, height=110)
    return each.facet(row=alt.Row("source:N", header=header), spacing=14)


def _table(found: Sequence[PublishedAge]) -> DataTable:
    """Return the last publications, latest first."""
    latest = sorted(found, key=lambda one: one.published_at, reverse=True)[:LISTED]
    rows = tuple(
        (
            instant(one.published_at),
            one.source,
            instant(one.committed_at),
            duration(one.lag),
            duration(one.peak) if one.before else "",
        )
        for one in latest
    )
    caption = "Published snapshots, latest first"
    if len(latest) < len(found):
        caption += f": the last {len(latest)} of {len(found)}"
    columns = ("Published (UTC)", "Source", "Last commit (UTC)", "Lag", "Age just before")
    return DataTable(caption, columns, rows, numeric=(3, 4))
