"""Measure how the cost of each layer grows with bytes, files, segments, and concurrent tasks.

Run: `make bench-scaling`, or `python -m benchmarks.scaling bytes files segments tasks`. Each load
is replicated from a real server's log into a new lake, in a new process whose Spark is warmed up
with a small log; gold is compared with the source's figures. `make bench-gold` measures the growth
with tables and with the size of gold.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.figures import gold_figures
from benchmarks.peak import sampled
from benchmarks.workload import SCHEMA, TABLES, Recording, workload
from pipeline.lake import Lake, delta
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.spark.session import session
from tests.support.lake.run_layers import run_layers

WARM_UP = Fraction(1, 70)
GB = 1e9


@dataclass(frozen=True, slots=True)
class Load:
    """A multiple of the bench workload, and the sizes with which it is logged and replicated."""

    scale: str = "1/2"
    file_size: str = "64M"
    segment: str = "16 MiB"
    tasks: int = 2


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a load: seconds by layer, seconds of a run with nothing new, peak bytes."""

    size: int
    files: int
    segments: int
    seconds: Mapping[str, float]
    nothing_new: float
    peak: int
    equal: bool


LOADS: Mapping[str, Sequence[Load]] = MappingProxyType(
    {
        "bytes": (Load(scale="1/8"), Load(), Load(scale="1")),
        "files": (
            Load(scale="1/8"),
            Load(scale="1/8", file_size="1M"),
            Load(scale="1/8", file_size="128K"),
        ),
        "segments": (Load(segment="4 MiB"), Load(), Load(segment="64 MiB")),
        "tasks": (Load(tasks=1), Load()),
    }
)
"""Loads by the dimension that they vary."""


def main() -> int:
    """Measure the dimensions named on the command line, or all; return 1 if gold differs."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(asdict(measure(Load(**json.loads(sys.argv[2]))))))
        return 0
    screen = Console(width=140)
    known: dict[Load, Cost] = {}
    for name in sys.argv[1:] or LOADS:
        for load in LOADS[name]:
            if load not in known:
                known[load] = in_a_process(load)
        screen.print(table(name, {load: known[load] for load in LOADS[name]}))
    return 0 if all(cost.equal for cost in known.values()) else 1


def in_a_process(load: Load) -> Cost:
    """Measure in a new process: Spark's master cannot be changed, and Java would stay warm."""
    recording(load)  # recorded here, so that it does not disturb the measurement
    command = [sys.executable, "-m", "benchmarks.scaling", "--one", json.dumps(asdict(load))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def recording(load: Load) -> Recording:
    """Return the log of a load; recorded if it is not cached."""
    return workload(Fraction(load.scale), load.file_size)


def measure(load: Load) -> Cost:
    """Warm up with a small log, then replicate the load into a new lake."""
    java = {"master": f"local[{load.tasks}]", "driver_memory": "2g"}
    spark = session(Settings.load(None, spark=java), "binlake scaling")
    with tempfile.TemporaryDirectory() as folder:
        run_layers(spark, settings_of(workload(WARM_UP), f"{folder}/warm", load), QuietProgress())
        log, lake = recording(load), f"{folder}/lake"
        settings = settings_of(log, lake, load)
        with sampled() as peaks:
            reports = run_layers(spark, settings, QuietProgress())
        again = run_layers(spark, settings, QuietProgress())
        return Cost(
            size=log.size,
            files=len(log.binlogs),
            segments=delta.read(spark, settings.layout.segments).count(),
            seconds={report.layer: report.seconds for report in reports},
            nothing_new=sum(report.seconds for report in again),
            peak=peaks.largest,
            equal=gold_figures(spark, Lake(lake), SCHEMA, TABLES) == log.figures,
        )


def settings_of(log: Recording, lake: str, load: Load) -> Settings:
    """Return the settings of a run from the log into the lake."""
    sizes: dict[str, Any] = {"target": load.segment}
    return Settings.load(
        None, source="bench", binlogs=str(log.folder / "binlogs"), lake=lake, segments=sizes
    )


def table(name: str, costs: Mapping[Load, Cost]) -> Table:
    """Return a table with a line per load."""
    shown = Table(title=f"Cost by {name}", title_justify="left")
    layers = ("bronze", "silver", "gold")
    for head in (
        *("MB", "files", "segments", "tasks"),
        *(f"{layer}: s" for layer in layers),
        *(f"{layer}: s/GB" for layer in layers),
        *("nothing new: s", "peak: MB", "gold"),
    ):
        shown.add_column(head, justify="right")
    for load, cost in costs.items():
        shown.add_row(
            *(f"{cost.size / 1e6:.0f}", str(cost.files), str(cost.segments), str(load.tasks)),
            *(f"{cost.seconds[layer]:.1f}" for layer in layers),
            *(f"{cost.seconds[layer] / (cost.size / GB):.0f}" for layer in layers),
            *(f"{cost.nothing_new:.1f}", f"{cost.peak / 1e6:.0f}"),
            "equal" if cost.equal else "DIFFERS",
        )
    return shown


if __name__ == "__main__":
    sys.exit(main())
