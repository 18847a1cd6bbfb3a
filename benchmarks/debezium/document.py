"""The benchmark's results as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.debezium.capture import SETTINGS
from benchmarks.debezium.results import Measured, Raced, demands
from benchmarks.demands import table_of
from benchmarks.marked import Marks, table
from benchmarks.peers.compare import Timed, median_seconds

MARKS = Marks("bench-debezium")
OMITTED = """\
- Debezium: its records are counted and discarded. No records, tables or offsets are written, and
  no changes are applied.
- Binlake: nothing. The raw log, every change and the tables are in Delta, and the tables are equal
  to the server's."""


def block(measured: Measured, conditions: str) -> str:
    """Return the whole report; `conditions` describes the machine and the measurement."""
    parts = [
        conditions.strip(),
        _sides(measured),
        table_of(demands(measured)),
        "Seconds of each round:",
        _rounds(measured),
        "Row changes:",
        _counted(measured),
        "Work that each omits:",
        OMITTED,
        "Where Binlake's time goes (medians):",
        _steps(measured),
        "Debezium's settings, where they differ from its defaults:",
        table(["property", "value"], [[f"`{name}`", f"`{v}`"] for name, v in SETTINGS.items()]),
    ]
    return "\n\n".join(parts)


def _sides(measured: Measured) -> str:
    head = ["load", "Debezium: s", "changes/s", "Binlake: s", "changes/s", "Binlake to Debezium"]
    return table(head, [_sides_of(name, raced) for name, raced in measured.items()])


def _sides_of(name: str, raced: Raced) -> list[str]:
    return [
        f"{name}, {raced.megabytes:.0f} MB, {raced.logged.total:,} changes",
        *_figures(raced, raced.captured),
        *_figures(raced, raced.applied),
        f"{raced.ratio:.2f}",
    ]


def _figures(raced: Raced, rounds: Sequence[Timed]) -> list[str]:
    seconds = median_seconds(rounds)
    return [f"{seconds:.1f}", f"{raced.logged.total / seconds:,.0f}"]


def _rounds(measured: Measured) -> str:
    return "\n".join(
        f"- {name}: Debezium {_each(raced.captured)} (and {_starts(raced)} to start);"
        f" Binlake {_each(raced.applied)}."
        for name, raced in measured.items()
    )


def _each(rounds: Sequence[Timed]) -> str:
    return ", ".join(f"{done.seconds:.1f}" for done in rounds)


def _starts(raced: Raced) -> str:
    return ", ".join(f"{done.start_seconds:.1f}" for done in raced.captured)


def _counted(measured: Measured) -> str:
    return "\n".join(f"- {name}: {_agreed(raced)}." for name, raced in measured.items())


def _agreed(raced: Raced) -> str:
    problems = "; ".join(raced.wrong())
    agreed = "all captured by Debezium and applied by Binlake, and gold equals the server"
    return f"{raced.logged} logged; {problems or agreed}"


def _steps(measured: Measured) -> str:
    head = ["layer", "step"]
    for name in measured:
        head += [f"{name}: s", "share"]
    seconds = {name: raced.step_seconds() for name, raced in measured.items()}
    steps = dict.fromkeys(step for found in seconds.values() for step in found)
    rows = []
    for layer, step in steps:
        row = [layer, step or "total"]
        for found in seconds.values():
            row += _cells(found, layer, step)
        rows.append(row)
    return table(head, rows)


def _cells(seconds: Mapping[tuple[str, str], float], layer: str, step: str) -> list[str]:
    whole = sum(took for (_, part), took in seconds.items() if not part)
    took = seconds.get((layer, step), 0.0)
    return [f"{took:.1f}", f"{100 * took / whole:.0f} %"]
