"""Replicate files to gold in a new process, and report seconds by layer and step.

`python -m benchmarks.debezium.ours LOAD BINLOGS LAKE` prints a line of JSON. As in
`benchmarks.end_to_end`, whose settings it uses, the start of Spark is not timed.
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
from pipeline.run.commands import LAYERS
from tests.support.lake.run_layers import run_layers


@dataclass(frozen=True, slots=True)
class Applied:
    """The report of one run from files to gold.

    `layers`: seconds by layer. `steps`: seconds by layer and step. `changes`: number applied to
    gold. `faults`: faults and gaps. `gold`: figures by table.
    """

    layers: Mapping[str, float]
    steps: Mapping[str, Mapping[str, float]]
    changes: int
    faults: list[str]
    gold: Mapping[str, list[int]]

    @property
    def seconds(self) -> float:
        """Seconds from files to gold."""
        return sum(self.layers.values())


def apply(load: str, binlogs: Path, lake: Path) -> Applied:
    """Replicate the files to gold in a new lake, in a new process. Raises ProgramError."""
    found = output([sys.executable, "-m", __name__, load, str(binlogs), str(lake)])
    return Applied(**json.loads(found.splitlines()[-1]))


def applied(load: str, binlogs: str, lake: str) -> Applied:
    """Replicate the files to gold in this process."""
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
        changes = sum(report.counts.values())  # the last layer, gold, counts changes by table
    chosen = LOADS[load]
    gold = gold_figures(spark, Lake(lake), chosen.schema, chosen.tables)
    return Applied(layers, steps, changes, faults, gold)


if __name__ == "__main__":
    print(json.dumps(asdict(applied(*sys.argv[1:]))))
