"""Charts as SVG, drawn by Altair when the page is made: the page has no JavaScript.

Colors are the page's CSS variables, so that one drawing serves light and dark. A chart is drawn
in two widths, of which the page shows one: scaled down to a telephone, text could not be read.

Each chart is a module beside this one, listed in `document._figures`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import altair as alt
import vl_convert

INK, QUIET, LINE = "var(--ink)", "var(--quiet)", "var(--line)"
ACCENT, SECOND, BAD = "var(--accent)", "var(--second)", "var(--bad)"
_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
_SMALL = 11

WIDE, NARROW = 640, 330
"""Widths of the drawings in CSS pixels."""

DAY_OR_TIME = (
    "utchours(datum.value) == 0 && utcminutes(datum.value) == 0"
    " ? utcFormat(datum.value, '%-d %b') : utcFormat(datum.value, '%H:%M')"
)
"""The label of a time axis, in UTC: the day at midnight, else the time."""

_ROOT = re.compile(r"<svg [^>]*?viewBox=\"0 0 (?P<width>[\d.]+) (?P<height>[\d.]+)\"[^>]*>")

_HOUR, _DAY = 60, 24 * 60
_STEPS = (
    *(1, 5, 10, 15, 30, _HOUR, 2 * _HOUR, 3 * _HOUR, 6 * _HOUR, 12 * _HOUR),
    *(_DAY, 2 * _DAY, 7 * _DAY, 14 * _DAY, 28 * _DAY),
)
"""Minutes between the ticks of a time axis."""
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_BEYOND = re.compile("[\U00010000-\U0010ffff]")
REPLACED = "\N{REPLACEMENT CHARACTER}"

ChartValues = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class DataTable:
    """A table of texts. The first column names its row; `numeric` columns are aligned right."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: Collection[int] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its caption, and its data as a table.

    `wide` and `narrow` are SVG; both are empty if there is nothing to draw, and `caption` says why.
    """

    name: str
    title: str
    caption: str
    table: DataTable
    wide: str = ""
    narrow: str = ""


def drawn(title: str, draw: Callable[[int], Any]) -> dict[str, str]:
    """Return the fields `wide` and `narrow` of a figure: `draw` makes the chart of a width."""
    return {"wide": svg(draw(WIDE), title, WIDE), "narrow": svg(draw(NARROW), title, NARROW)}


def svg(chart: Any, title: str, least: int) -> str:
    """Return a chart as an SVG element for HTML, whose size follows the page's.

    It is at least `least` wide, so that the texts of all charts are equally large.
    """
    specification = _drawable(_themed(chart).to_dict())
    version = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    return _embedded(vl_convert.vegalite_to_svg(specification, vl_version=version), title, least)


def printable(text: str) -> str:
    """Return a text without characters that XML or HTML forbids: names of tables may have them."""
    return _FORBIDDEN.sub(REPLACED, text)


def _drawable(value: Any) -> Any:
    """Return a chart's specification with texts that can be drawn.

    vl-convert 1.9 ends the process at a character that XML forbids, and fails where Vega cuts a
    label in the middle of one beyond U+FFFF.
    """
    if isinstance(value, str):
        return _BEYOND.sub(REPLACED, printable(value))
    if isinstance(value, dict):
        return {name: _drawable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_drawable(one) for one in value]
    return value


def _embedded(text: str, title: str, least: int) -> str:
    """Return the SVG with a root element of ours: HTML needs no namespaces, whose names are URLs,
    and for screen readers a chart is one image with a name; its data is in the table."""
    root = _ROOT.match(text)
    if root is None:
        raise ValueError(f"the chart {title} is not an SVG element: {text[:80]!r}")
    width, height = (math.ceil(float(root[name])) for name in ("width", "height"))
    width = max(width, least)
    opened = (
        f'<svg role="img" aria-label="{title}" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}">'
    )
    return opened + text[root.end() :]


def _themed(chart: Any) -> Any:
    quiet: dict[str, Any] = {"labelColor": QUIET, "titleColor": QUIET}
    sizes: dict[str, Any] = {"labelFontSize": _SMALL, "titleFontSize": _SMALL}
    return (
        chart.configure(aria=False, font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            **quiet,
            **sizes,
            titleFontWeight="normal",
            gridColor=LINE,
            domainColor=LINE,
            tickColor=LINE,
        )
        .configure_header(labelColor=INK, labelFontSize=_SMALL, titleColor=QUIET)
        .configure_legend(labelColor=INK, titleColor=QUIET, **sizes, orient="top")
    )


def sized(chart: Any, width: int, height: Any) -> Any:
    """Return a chart that is `width` wide with its axes; `height` is without them."""
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return chart.properties(width=width, height=height, autosize=fit)


def data(values: ChartValues) -> alt.InlineData:
    """Return rows as a chart's inline data."""
    return alt.InlineData(values=list(values))


def time_axis(first: datetime, last: datetime, width: int) -> alt.X:
    """Return a horizontal axis of the field `at`, in UTC."""
    return alt.X(
        "at:T",
        scale=alt.Scale(type="utc", domain=[milliseconds(first), milliseconds(last)], nice=False),
        axis=alt.Axis(
            title=None,
            grid=False,
            labelExpr=DAY_OR_TIME,
            values=ticks(first, last, width // 70),
            labelOverlap="greedy",
            labelFlush=True,
        ),
    )


def bar_axis(**more: Any) -> alt.Axis:
    """Return the axis below bars: level labels, of which those that would overlap are left out."""
    return alt.Axis(
        title=None,
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=12,
        ticks=False,
        labelPadding=6,
        **more,
    )


def ticks(first: datetime, last: datetime, most: int) -> list[int]:
    """Return at most `most` round times between two, in milliseconds, with the smallest step."""
    start, end = milliseconds(first), milliseconds(last)
    steps = (minutes * 60_000 for minutes in _STEPS)
    step = next((step for step in steps if (end - start) // step < most), end - start + 1)
    return list(range(-(-start // step) * step, end + 1, step))


def label_width(labels: Iterable[str], width: int) -> int:
    """Return the room for labels beside a chart: at most a third of it, where they end in dots."""
    return min(width // 3, 7 * max(map(len, labels), default=0) + 8)


def milliseconds(at: datetime) -> int:
    """Return a time as Vega has it: milliseconds since 1970."""
    return round(at.timestamp() * 1000)


def bar_size(width: int, count: int) -> float:
    """Return the width of one of `count` bars: few bars stay bars, and do not become blocks."""
    return max(1.0, min(28.0, 0.75 * width / max(count, 1)))


def instant(at: datetime | None) -> str:
    """Return a time in UTC, to the second; an empty text for None."""
    return "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}"
