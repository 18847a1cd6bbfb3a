"""Binlog files to gold, in a process of its own: seconds by layer and step, and what gold has.

Run: `python -m benchmarks.debezium.ours LOAD BINLOGS LAKE`, which prints a line of JSON. The clock
runs once Spark is up, as in `benchmarks.end_to_end`, whose settings these are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.debezium.loads import LOADS
from benchmarks.debezium.steps import TimedSteps
from benchmarks.end_to_end import settings_for, started
from benchmarks.figures import gold_figures
from benchmarks.peers.programs import output
from pipeline.lake import Lake
from pipeline.run.commands import LAYERS, run_layers


@dataclass(frozen=True, slots=True)
class Applied:
    """What one run from files to gold took and did.

    `layers`: seconds; `steps`: of each layer, seconds by what it did. `changes`: applied to gold.
    `faults`: what it could not take, and gaps. `gold`: each table's figures.
    """

    layers: Mapping[str, float]
    steps: Mapping[str, Mapping[str, float]]
    changes: int
    faults: list[str]
    gold: Mapping[str, list[int]]

    @property
    def seconds(self) -> float:
        """From files to gold."""
        return sum(self.layers.values())


def apply(load: str, binlogs: Path, lake: Path) -> Applied:
    """Take the files to gold in a fresh lake, in a new process. Raises ProgramError."""
    found = output([sys.executable, "-m", __name__, load, str(binlogs), str(lake)])
    return Applied(**json.loads(found.splitlines()[-1]))


def applied(load: str, binlogs: str, lake: str) -> Applied:
    """The same in this process."""
    settings = settings_for(binlogs, lake)
    spark = started(settings, f"binlake {load}")
    layers: dict[str, float] = {}
    steps: dict[str, Mapping[str, float]] = {}
    changes = 0
    faults: list[str] = []
    for layer in LAYERS:
        progress = TimedSteps()
        (report,) = run_layers(spark, settings, progress, [layer])
        layers[layer] = report.seconds
        steps[layer] = progress.steps(report.seconds)
        faults += [f"{layer}: {line}" for line in (*report.faults, *report.gaps)]
        changes = sum(report.counts.values())  # gold's, which comes last, are those by table
    chosen = LOADS[load]
    gold = gold_figures(spark, Lake(lake), chosen.schema, chosen.tables)
    return Applied(layers, steps, changes, faults, gold)


if __name__ == "__main__":
    print(json.dumps(asdict(applied(*sys.argv[1:]))))
