"""Reports and status on a terminal, as rich tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.cli.show_runs import duration
from pipeline.observe import LayerReport, redact
from pipeline.run.status import Status, TableStatus, seeding
from pipeline.settings import Settings


def show_reports(reports: Sequence[LayerReport], settings: Settings, out: Console) -> None:
    """A line per layer."""
    table = Table(title=escape(f"Lake {settings.lake}"), title_justify="left")
    table.add_column("layer")
    table.add_column("did")
    table.add_column("seconds", justify="right")
    for report in reports:
        table.add_row(report.layer, _counts(report), f"{report.seconds:.1f}")
    out.print(table)


def show_problems(reports: Sequence[LayerReport], errors: Console) -> None:
    """Faults, gaps and what was left out, a line each."""
    for report in reports:
        for title, lines in (
            ("fault", report.faults),
            ("gap", report.gaps),
            ("note", report.notes),
        ):
            for line in lines:
                errors.print(f"{report.layer} {title}: {escape(redact(line))}", soft_wrap=True)


def show_preview(report: LayerReport, settings: Settings, out: Console) -> None:
    """What maintenance would do to a source, a line each."""
    out.print(f"Maintenance of {settings.source} in {settings.lake} would:")
    for line in report.notes:
        out.print(f"  {escape(redact(line))}", soft_wrap=True)


def show_status(status: Status, out: Console) -> None:
    """Every source, its layers, then every table."""
    out.print(_sources(status))
    layers = Table()
    for heading in ("source", "layer", "batch", "state", "at"):
        layers.add_column(heading)
    for layer in status.layers:
        layers.add_row(
            layer.source,
            layer.layer,
            str(layer.batch),
            layer.state,
            layer.at.isoformat(timespec="seconds"),
        )
    out.print(layers)
    tables = Table()
    for heading in ("table", "lsn", "faults", "state", "gold"):
        tables.add_column(heading, overflow="fold")
    for table in status.tables:
        tables.add_row(
            escape(f"{table.schema}.{table.table}"),
            str(table.lsn),
            str(table.faults),
            escape(redact(_state(table))),
            escape(table.gold),
        )
    out.print(tables)
    for line in _remarks(status):
        out.print(escape(redact(line)), soft_wrap=True)


def _remarks(status: Status) -> Iterator[str]:
    """What is said in sentences, behind the tables."""
    if unnamed := [f"{table.schema}.{table.table}" for table in status.tables if not table.named]:
        yield f"Without names of their columns: {', '.join(unnamed)}."
    for source in status.sources:
        if source.refresh:
            yield f"{source.source}: {source.refresh}"
        if source.gtid_set:
            yield f"{source.source}: gold holds {source.gtid_set}"
    yield from _to_be_seeded(status)
    if status.capture is not None:
        yield from status.capture.lines()
    yield from status.problems


def _to_be_seeded(status: Status) -> Iterator[str]:
    """How incomplete tables are completed: those of a source at once."""
    lacking: dict[str, list[TableStatus]] = {}
    for table in status.tables:
        if table.remedy:
            lacking.setdefault(table.source, []).append(table)
    for source, (first, *others) in lacking.items():
        name = f"{first.schema}.{first.table}"
        if others:
            remedy = seeding(status.lake, source)
            yield f"{name} and {len(others)} more tables of {source} are incomplete: {remedy}"
        else:
            yield f"{name} is incomplete: {first.remedy}"


def _sources(status: Status) -> Table:
    """How old gold is, how long it took to come there, and the last run."""
    table = Table(title=escape(f"Lake {status.lake}"), title_justify="left")
    for heading in ("source", "gold is of", "age", "lag", "last run", "outcome"):
        table.add_column(heading, overflow="fold")
    for source in status.sources:
        run = source.last_run
        ended = f"{run.outcome}: {run.error}" if run and run.error else run.outcome if run else ""
        table.add_row(
            source.source,
            _time(source.committed_at),
            duration(source.age_seconds),
            duration(source.lag_seconds),
            f"{run.command} at {_time(run.started_at)}" if run else "not recorded",
            escape(redact(ended.replace("_", " "))),
        )
    return table


def _time(at: datetime | None) -> str:
    return at.isoformat(timespec="seconds") if at else ""


def _counts(report: LayerReport) -> str:
    if not report.counts:
        return "nothing new"
    return ", ".join(f"{count:,} {name}" for name, count in report.counts.items())


def _state(table: TableStatus) -> str:
    if table.held:
        return f"held: {table.reason}"
    if not table.complete:
        return f"incomplete: {table.reason}"
    return f"drifted: {table.drift} changes" if table.drift else "equal at its LSN"
