"""Reports and status for a terminal: problems first, equal tables collapsed, 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.cli.show_runs import STYLES
from pipeline.lake.ledger.ledger import Entry
from pipeline.observe import LayerReport, redact
from pipeline.observe.quantities import duration
from pipeline.run.status import LastRun, SourceStatus, Status, TableStatus, seeding
from pipeline.settings import Settings

NAMED = 10
"""Tables of a collapsed group that are named."""
_TABLE_STYLES = {"held": "red", "incomplete": "yellow", "drifted": "yellow", "equal": "green"}
_COLLAPSED = {"equal": "to the source, each at its LSN", "dropped": "at the source"}


def show_reports(reports: Sequence[LayerReport], settings: Settings, out: Console) -> None:
    """Print what each layer did, and how long it took."""
    out.print(escape(f"Lake {settings.lake}"), soft_wrap=True)
    lines = _grid()
    for report in reports:
        lines.add_row(report.layer, f"{report.seconds:.1f} s: {_counts(report)}")
    out.print(lines)


def show_problems(reports: Sequence[LayerReport], errors: Console) -> None:
    """Print faults, gaps and what was left out, a line each."""
    for report in reports:
        for title, lines in (
            ("fault", report.faults),
            ("gap", report.gaps),
            ("note", report.notes),
        ):
            for line in lines:
                errors.print(f"{report.layer} {title}: {escape(redact(line))}", soft_wrap=True)


def round_line(reports: Sequence[LayerReport]) -> str:
    """Return a line about a round of a long-running process: how long it took, and what it did."""
    seconds = sum(report.seconds for report in reports)
    done = [f"{report.layer} {_brief(report)}" for report in reports if report.worked]
    return f"{seconds:.1f} s: {'; '.join(done) or 'nothing new'}"


def _brief(report: LayerReport) -> str:
    """Return a report's counts; those by table, as gold's, as a sum."""
    if report.layer != "gold":
        return _counts(report)
    tables = sum(1 for count in report.counts.values() if count)
    return f"{sum(report.counts.values()):,} changes in {tables} tables"


def show_preview(report: LayerReport, settings: Settings, out: Console) -> None:
    """Print what maintenance would do to a source, a line each."""
    out.print(f"Maintenance of {settings.source} in {settings.lake} would:")
    _print_lines(report.notes, out)


def show_status(status: Status, out: Console, *, every_table: bool = False) -> None:
    """Print problems, then every source with its layers, then the tables.

    `every_table`: also tables that are equal to the source, each with its gold path.
    """
    out.print(escape(f"Lake {status.lake}"), soft_wrap=True)
    if problems := list(_problems(status)):
        out.print("\nProblems", style="bold red")
        _print_lines(problems, out)
    names = [each.source for each in status.sources] + [each.source for each in status.layers]
    for name in dict.fromkeys(names):
        out.print(f"\n[bold]Source {escape(name)}[/bold]")
        out.print(_source_lines(name, status))
    if status.capture is not None:
        out.print("\nCapture", style="bold")
        _print_lines(status.capture.lines(), out)
    if status.tables:
        out.print("\nTables", style="bold")
        out.print(_table_lines(status.tables, every_table=every_table))


def _problems(status: Status) -> Iterator[str]:
    """Yield what needs attention, a sentence each."""
    yield from status.problems
    yield from _incomplete_tables(status)
    yield from (source.overdue for source in status.sources if source.overdue)
    if unnamed := [_name(table) for table in status.tables if not table.named]:
        yield f"The column names of these tables are unknown: {', '.join(unnamed)}."


def _incomplete_tables(status: Status) -> Iterator[str]:
    """Yield the commands that complete incomplete tables: one for each source."""
    lacking: dict[str, list[TableStatus]] = {}
    for table in status.tables:
        if table.remedy:
            lacking.setdefault(table.source, []).append(table)
    for source, (first, *others) in lacking.items():
        if others:
            remedy = seeding(status.lake, source)
            count = f"{len(others)} more {'tables' if len(others) > 1 else 'table'}"
            yield f"{_name(first)} and {count} of {source} are incomplete: {remedy}"
        else:
            yield f"{_name(first)} is incomplete: {first.remedy}"


def _source_lines(name: str, status: Status) -> Table:
    """Return gold's age, the last run and each layer's last batch."""
    lines = _grid()
    for source in status.sources:
        if source.source == name:
            lines.add_row("freshness", _freshness(source))
            lines.add_row("last run", _last_run(source.last_run))
            if source.refresh:
                lines.add_row("refresh", escape(redact(source.refresh)))
            if source.gtid_set:
                lines.add_row("GTID set", escape(source.gtid_set))
    for layer in status.layers:
        if layer.source == name:
            lines.add_row(layer.layer, _last_batch(layer))
    return lines


def _freshness(source: SourceStatus) -> str:
    if source.committed_at is None:
        return "nothing published yet"
    age, lag = duration(source.age_seconds), duration(source.lag_seconds)
    return f"gold as of {_time(source.committed_at)}, {age} old, lag {lag}"


def _last_run(run: LastRun | None) -> str:
    if run is None:
        return "not recorded"
    outcome = run.outcome.replace("_", " ")
    style = STYLES.get(run.outcome, "default")
    error = f": {escape(redact(run.error))}" if run.error else ""
    return f"{run.command} at {_time(run.started_at)}: [{style}]{outcome}[/]{error}"


def _last_batch(layer: Entry) -> str:
    return f"batch {layer.batch} {layer.state} at {_time(layer.at)}"


def _table_lines(tables: Sequence[TableStatus], *, every_table: bool) -> Table:
    """Return the tables by state: each that needs attention, the others collapsed."""
    by_state: dict[str, list[TableStatus]] = {state: [] for state in _TABLE_STYLES}
    for table in tables:
        by_state.setdefault(table.state, []).append(table)
    lines = _grid()
    for state, found in by_state.items():
        label = f"[{_TABLE_STYLES.get(state, 'dim')}]{state}[/]"
        if found and state in _COLLAPSED and not every_table:
            lines.add_row(label, escape(f"{_COLLAPSED[state]} ({len(found)}): {_names(found)}"))
            continue
        for table in found:
            lines.add_row(label, escape(redact(_described(table, with_path=every_table))))
    return lines


def _described(table: TableStatus, *, with_path: bool) -> str:
    faults = f", {table.faults} {'faults' if table.faults > 1 else 'fault'}" if table.faults else ""
    drift = f", row differed from the log for {table.drift} changes" if table.drift else ""
    reason = f": {table.reason}" if table.reason else ""
    path = f"\n{table.gold}" if with_path else ""
    return f"{_name(table)} at LSN {table.lsn}{faults}{drift}{reason}{path}"


def _names(tables: Sequence[TableStatus]) -> str:
    names = ", ".join(map(_name, tables[:NAMED]))
    more = len(tables) - NAMED
    return f"{names} and {more} more (--verbose lists them)" if more > 0 else names


def _name(table: TableStatus) -> str:
    return f"{table.schema}.{table.table}"


def _grid() -> Table:
    """Return a table of labels and texts, without lines, whose texts wrap beside their label."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True, min_width=10)
    grid.add_column(overflow="fold")
    return grid


def _print_lines(lines: Iterable[str], out: Console) -> None:
    """Print sentences as they are: a command in them can be copied."""
    for line in lines:
        out.print(f"  {escape(redact(line))}", soft_wrap=True)


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _counts(report: LayerReport) -> str:
    if not report.counts:
        newest = f"; {report.newest.sentence(datetime.now(timezone.utc))}" if report.newest else ""
        return escape(f"nothing new{newest}")
    return ", ".join(f"{count:,} {name}" for name, count in report.counts.items())
