"""Records of runs for a terminal: a table where it fits, else a list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import redact
from pipeline.observe.quantities import duration

_RIGHT = ("seconds", "MiB", "decoded", "applied", "lag")
STYLES = {
    "done": "green",
    "nothing_new": "dim",
    "faults": "yellow",
    "failed": "red",
    "interrupted": "yellow",
}
_GOOD = frozenset({"done", "nothing_new"})


def show_runs(runs: Sequence[RunRecord], lake: str, out: Console) -> None:
    """Print how many runs failed or left faults, then all runs, the newest first."""
    if not runs:
        out.print(escape(f"No run is recorded in the lake {lake}."), soft_wrap=True)
        return
    out.print(escape(f"Runs of lake {lake}, the newest first; times are in UTC"), soft_wrap=True)
    bad = sum(run.outcome not in _GOOD for run in runs)
    if bad:
        summary = f"{bad} of {len(runs)} failed, were interrupted or left faults."
        out.print(summary, style="bold red")
    table = _table(runs)
    wide = out.options.update(width=1000)
    if Measurement.get(out, wide, table).maximum > out.width:
        for run in runs:
            _print_item(run, out)
        return
    for run in runs:
        for line in _remarks(run):
            out.print(f"{run.started_at:%m-%d %H:%M:%S} {_text(line)}", soft_wrap=True)
    out.print(table)


def _table(runs: Sequence[RunRecord]) -> Table:
    table = Table()
    for heading in ("started", "source", "command", "outcome", *_RIGHT, "faults, gaps"):
        table.add_column(heading, justify="right" if heading in _RIGHT else "left", no_wrap=True)
    for run in runs:
        table.add_row(
            f"{run.started_at:%Y-%m-%d %H:%M:%S}",
            escape(run.source),
            run.command,
            _outcome(run),
            f"{run.seconds:,.1f}",
            f"{run.bytes / (1 << 20):,.1f}" if run.bytes else "",
            f"{run.rows_decoded:,}" if run.rows_decoded else "",
            f"{run.rows_applied:,}" if run.rows_applied else "",
            duration(run.lag_seconds),
            ", ".join(_problems(run)),
        )
    return table


def _print_item(run: RunRecord, out: Console) -> None:
    """Print a run as a line, its figures and problems as another, and its error as a third."""
    began = f"{run.started_at:%Y-%m-%d %H:%M:%S}"
    out.print(
        f"{began}  {escape(run.source)}  {run.command}  {_outcome(run)}  {run.seconds:,.1f} s",
        soft_wrap=True,
    )
    if figures := [*_problems(run), *_figures(run)]:
        out.print(f"  {', '.join(figures)}", soft_wrap=True)
    for line in _remarks(run):
        out.print(f"  {_text(line)}", soft_wrap=True)


def _outcome(run: RunRecord) -> str:
    outcome = escape(f"{run.outcome.replace('_', ' ')} ({run.exit_code})")
    return f"[{STYLES.get(run.outcome, 'default')}]{outcome}[/]"


def _problems(run: RunRecord) -> list[str]:
    counts = ((run.fault_count, "fault"), (run.gap_count, "gap"))
    return [f"{count} {name}{'s' if count > 1 else ''}" for count, name in counts if count]


def _figures(run: RunRecord) -> Iterator[str]:
    if run.bytes:
        yield f"{run.bytes / (1 << 20):,.1f} MiB"
    if run.rows_decoded:
        yield f"{run.rows_decoded:,} rows decoded"
    if run.rows_applied:
        yield f"{run.rows_applied:,} applied"
    if run.lag_seconds is not None:
        yield f"lag {duration(run.lag_seconds)}"


def _remarks(run: RunRecord) -> Iterator[str]:
    """Yield why a run failed, and which batches it finished for another run."""
    if run.error:
        yield f"{run.outcome}: {run.error}"
    if resumed := [f"{b.layer} batch {b.batch}" for b in run.batches if b.planned_by]:
        yield f"finished what another run planned: {', '.join(resumed)}"


def _text(line: str) -> str:
    return escape(redact(line))
