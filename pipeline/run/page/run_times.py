"""Runs: how long each took in each layer, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import redact
from pipeline.observe.quantities import duration, size
from pipeline.run.page.chart import (
    ACCENT,
    BAD,
    ChartValues,
    DataTable,
    Figure,
    bar_axis,
    bar_size,
    data,
    drawn,
    instant,
)

NAME, TITLE = "run-times", "Time of runs"
BARS = 40
"""The most runs in the chart, the latest."""
LISTED = 300
"""The most runs in the table, the latest."""
LAYERS = ("bronze", "silver", "gold", "maintenance", "seed", "verify")
WHOLE = "whole run"
_SIGNED = "isValid(datum.sign) && datum.sign"
MARKS: Mapping[str, str] = {"failed": "✕", "faults": "!", "interrupted": "–"}
"""The sign above a run that did not end well."""


def figure(runs: Sequence[RunRecord]) -> Figure:
    """Return the chart of the last runs; `runs`: latest first."""
    table = _table(runs[:LISTED], len(runs))
    if not runs:
        return Figure(NAME, TITLE, "No run is recorded in these days.", table)
    last = list(reversed(runs[:BARS]))
    layers = [name for name in LAYERS if any(name in run.layer_seconds for run in last)]
    values = [value for number, run in enumerate(last) for value in _bars(number, run)]
    longest = max((row["seconds"] for row in values), default=0)
    factor, unit = (60, "minutes") if longest >= 300 else (1, "seconds")
    values = [{**row, "seconds": row["seconds"] / factor} for row in values]
    signs = ", ".join(f"{sign} {word}" for word, sign in MARKS.items())
    which = f"The last {len(last)} of {len(runs):,} runs" if len(last) < len(runs) else "All runs"
    caption = (
        f"{which}, in {unit}: the whole run, and each layer on a scale of its own. Signs above a"
        f" run: {signs}."
    )

    def draw(width: int) -> Any:
        return _chart(values, [WHOLE, *layers], len(last), width, unit)

    return Figure(NAME, TITLE, caption, table, **drawn(TITLE, draw))


def _bars(number: int, run: RunRecord) -> list[dict[str, Any]]:
    bar = {"run": f"{number:02}", "started": f"{run.started_at.day} {run.started_at:%b %H:%M}"}
    whole = {**bar, "layer": WHOLE, "seconds": run.seconds, "sign": MARKS.get(run.outcome, "")}
    # A sync's capture is in the whole run only: it has no time of its own.
    layers = [(name, run.layer_seconds[name]) for name in LAYERS if name in run.layer_seconds]
    return [whole, *({**bar, "layer": name, "seconds": seconds} for name, seconds in layers)]


def _chart(values: ChartValues, layers: Sequence[str], count: int, width: int, unit: str) -> Any:
    names = 70
    inner = width - names - 30
    labels = {row["run"]: row["started"] for row in values}
    axis = bar_axis(labelExpr=f"{json.dumps(labels)}[datum.value]")
    x = alt.X("run:O", axis=axis)
    y = alt.Y("seconds:Q", axis=alt.Axis(title=None, tickCount=2, domain=False, ticks=False))
    bars = (
        alt.Chart()
        .mark_bar(size=bar_size(inner, count))
        .encode(
            x,
            y,
            color=alt.condition(_SIGNED, alt.value(BAD), alt.value(ACCENT)),
        )
    )
    signs = (
        alt.Chart()
        .mark_text(baseline="bottom", dy=-2, fontSize=12, fontWeight="bold", color=BAD)
        .encode(x, y, text="sign:N")
        .transform_filter(_SIGNED)
    )
    header = alt.Header(title=None, labelAngle=0, labelAlign="left", labelLimit=names)
    return (
        alt.layer(bars, signs, data=data(values))
        .properties(width=inner, height=48)
        .facet(row=alt.Row("layer:N", sort=list(layers), header=header), spacing=14)
        .resolve_scale(y="independent")
    )


def _table(runs: Sequence[RunRecord], count: int) -> DataTable:
    rows = tuple(
        (
            instant(run.started_at),
            run.source,
            run.command,
            run.outcome.replace("_", " "),
            duration(run.seconds),
            ", ".join(f"{name} {duration(took)}" for name, took in run.layer_seconds.items()),
            size(run.bytes) if run.bytes else "",
            f"{run.rows_applied:,}" if run.rows_applied else "",
            _problems(run),
        )
        for run in runs
    )
    caption = "Runs, latest first"
    if len(runs) < count:
        caption += f": the last {len(runs)} of {count:,}"
    columns = (
        "Started (UTC)",
        "Source",
        "Command",
        "Outcome",
        "Time",
        "Layers",
        "Log ingested",
        "Rows applied",
        "Problems",
    )
    return DataTable(caption, columns, rows, numeric=(4, 6, 7))


def _problems(run: RunRecord) -> str:
    counts = ((run.fault_count, "fault"), (run.gap_count, "gap"))
    found = [f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count]
    if run.error:
        found.append(redact(run.error))
    return ", ".join(found)
