"""Records of runs on a terminal, as a rich table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipeline.lake.ledger.run_record import RunRecord
from pipeline.observe import redact

_RIGHT = ("seconds", "MiB", "decoded", "applied", "lag")
_STYLES = {
    "done": "green",
    "nothing_new": "dim",
    "faults": "yellow",
    "failed": "red",
    "interrupted": "yellow",
}


def show_runs(runs: Sequence[RunRecord], lake: str, out: Console) -> None:
    """A line for each run, the newest first; then why the newest that failed did."""
    if not runs:
        out.print(escape(f"No run is recorded in the lake {lake}."), soft_wrap=True)
        return
    table = Table(title=escape(f"Runs of lake {lake}"), title_justify="left")
    for heading in ("started (UTC)", "source", "command", "outcome", *_RIGHT, "faults, gaps"):
        right = heading in _RIGHT
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for run in runs:
        table.add_row(*_cells(run))
    out.print(table)
    for run in runs:
        for line in _lines(run):
            out.print(escape(redact(f"{run.started_at:%m-%d %H:%M:%S} {line}")), soft_wrap=True)


def duration(seconds: float | None) -> str:
    """`12.3 s`, `4 min 5 s`, `3 h 20 min`, `2 d 4 h`; nothing for None."""
    if seconds is None:
        return ""
    sign, whole = ("-" if seconds < 0 else ""), abs(seconds)
    if whole < 60:
        return f"{sign}{whole:.1f} s"
    minutes, second = divmod(int(whole), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{sign}{days} d {hour} h"
    return f"{sign}{hour} h {minute} min" if hour else f"{sign}{minute} min {second} s"


def _cells(run: RunRecord) -> list[str]:
    style = _STYLES.get(run.outcome, "")
    outcome = escape(f"{run.outcome.replace('_', ' ')} ({run.exit_code})")
    problems = [
        f"{count} {name}"
        for count, name in ((run.fault_count, "faults"), (run.gap_count, "gaps"))
        if count
    ]
    return [
        f"{run.started_at:%Y-%m-%d %H:%M:%S}",
        escape(run.source),
        run.command,
        f"[{style}]{outcome}[/]" if style else outcome,
        f"{run.seconds:,.1f}",
        f"{run.bytes / (1 << 20):,.1f}" if run.bytes else "",
        f"{run.rows_decoded:,}" if run.rows_decoded else "",
        f"{run.rows_applied:,}" if run.rows_applied else "",
        duration(run.lag_seconds),
        ", ".join(problems),
    ]


def _lines(run: RunRecord) -> list[str]:
    """What does not fit into a column: why it failed, and what it did for another run."""
    taken_up = [f"{b.layer} batch {b.batch}" for b in run.batches if b.planned_by]
    lines = [f"finished what another run had planned: {', '.join(taken_up)}"] if taken_up else []
    return [*lines, *([f"{run.outcome}: {run.error}"] if run.error else [])]
