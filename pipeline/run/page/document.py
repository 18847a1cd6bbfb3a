"""The page as one HTML document: templates that escape every value of the lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pipeline.observe import redact
from pipeline.observe.quantities import duration, size
from pipeline.run.page import daily_rows, freshness, run_times, schema_changes, stored_sizes
from pipeline.run.page.attention import attention
from pipeline.run.page.chart import DataTable, Figure, instant, printable
from pipeline.run.page.lake_page import LakePage
from pipeline.run.status import TableStatus


def document(page: LakePage) -> str:
    """Return the page as HTML, without anything from elsewhere."""
    status = page.status
    found = attention(status, page.verifications)
    template = _environment().get_template("page.html")
    return template.render(
        page=page,
        lake=redact(status.lake),
        status=status,
        attention=found,
        figures=_figures(page),
        tables=_tables(status.tables),
        totals=_totals(page, found.count),
        verified={run.source: run for run in page.verifications},
    )


def _figures(page: LakePage) -> Sequence[Figure]:
    """Return the charts in the page's order."""
    times = (page.since, page.made_at)
    return (
        freshness.figure(page),
        run_times.figure(page.runs),
        *daily_rows.figures(page.runs, *times),
        schema_changes.figure(page.schema_changes, *times),
        stored_sizes.figure(page.sizes),
    )


def _totals(page: LakePage, problems: int) -> Sequence[tuple[str, str]]:
    """Return the numbers at the top, each with what it counts."""
    tables, runs = page.status.tables, page.runs
    bad = sum(run.outcome in run_times.MARKS for run in runs)
    of_these = f", {bad:,} with a failure or fault" if bad else ""
    days = f"in {page.days} days"
    rows = sum(run.rows_applied for run in runs)
    return (
        (f"{problems:,}", _counted("problem", problems)),
        (f"{len(tables):,}", _counted("table", len(tables))),
        (f"{sum(table.held for table in tables):,}", "held"),
        (f"{len(runs):,}", f"{_counted('run', len(runs))} {days}{of_these}"),
        (f"{rows:,}", f"{_counted('row', rows)} applied {days}"),
        (size(sum(one.bytes or 0 for one in page.sizes)), "stored"),
    )


def _counted(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"


_ORDER = ("held", "incomplete", "drifted", "equal", "dropped")


def _tables(tables: Sequence[TableStatus]) -> DataTable:
    """Return all replicated tables, those with problems first."""
    ordered = sorted(tables, key=lambda one: (_ORDER.index(one.state), str(one.name)))
    rows = tuple(
        (
            str(one.name),
            one.source,
            one.state,
            f"{one.lsn}",
            redact(one.reason or ""),
            redact(one.gold),
        )
        for one in ordered
    )
    columns = ("Table", "Source", "State", "LSN", "Reason", "Gold")
    return DataTable("Tables, those with problems first", columns, rows, numeric=(3,))


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("pipeline.run.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "duration": duration,
        "instant": instant,
        "redacted": redact,
        # Its texts were escaped when `pipeline.run.page.chart` drew it.
        "drawing": Markup,
    }
    return environment


def _printable(value: Any) -> Any:
    return printable(value) if type(value) is str else value
