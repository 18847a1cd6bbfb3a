"""The measurements of one run of the benchmark, and their comparison with the goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from benchmarks.debezium.capture import Captured
from benchmarks.debezium.operations import Operations
from benchmarks.debezium.ours import Applied
from benchmarks.demands import Demand
from benchmarks.peers.compare import ratio

GOAL = 1.0
MOONSHOT = 0.5


@dataclass(frozen=True, slots=True)
class Raced:
    """One load: its size, its logged row changes, and the rounds of both programs.

    `differing`: by round, the gold tables that differ from the server's.
    """

    megabytes: float
    logged: Operations
    captured: list[Captured] = field(default_factory=list)
    applied: list[Applied] = field(default_factory=list)
    differing: list[list[str]] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Binlake's time divided by Debezium's: the median of the rounds' ratios."""
        return ratio(self.applied, self.captured)

    def step_seconds(self) -> dict[tuple[str, str], float]:
        """Return median seconds by layer and step; the step `""` is the whole layer."""
        found: dict[tuple[str, str], float] = {}
        for layer in self.applied[0].layers:
            found[layer, ""] = median(done.layers[layer] for done in self.applied)
            for step in dict.fromkeys(step for done in self.applied for step in done.steps[layer]):
                found[layer, step] = median(
                    done.steps[layer].get(step, 0.0) for done in self.applied
                )
        return found

    def wrong(self) -> Iterator[str]:
        """Yield faults, counts that differ from the log, and tables that differ from the server."""
        for number, done in enumerate(self.captured, 1):
            if done.operations != self.logged or done.others:
                yield (
                    f"round {number}: Debezium captured {done.operations} and {done.others} other"
                    f" records; the log has {self.logged}"
                )
        for number, (ours, differing) in enumerate(
            zip(self.applied, self.differing, strict=True), 1
        ):
            yield from (f"round {number}: {fault}" for fault in ours.faults)
            if ours.changes != self.logged.total:
                yield f"round {number}: Binlake applied {ours.changes:,} of {self.logged.total:,}"
            if differing:
                yield f"round {number}: gold differs from the server: {', '.join(differing)}"


Measured = Mapping[str, Raced]
"""Results by the load's name."""


def demands(measured: Measured) -> Iterator[Demand]:
    """Yield the goal and the moonshot for each load."""
    for name, raced in measured.items():
        what = f"{name}: files to gold, as a fraction of Debezium's time"
        yield Demand.at_most(f"{what}: the goal", raced.ratio, GOAL)
        yield Demand.at_most(f"{what}: the moonshot", raced.ratio, MOONSHOT)


def wrong(measured: Measured) -> list[str]:
    """Return what is wrong in any load."""
    return [f"{name}: {line}" for name, raced in measured.items() for line in raced.wrong()]
