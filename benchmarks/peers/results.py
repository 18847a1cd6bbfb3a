"""The measurements of one run of the benchmark, and their comparison with the goals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from benchmarks.demands import Demand
from benchmarks.peers.catalog import MIXED, PEERS
from benchmarks.peers.compare import (
    OURS,
    UNFOLDED,
    disagreements,
    fastest_peer,
    ratio,
)
from benchmarks.peers.rounds import Run
from benchmarks.peers.stages import Stages

PEER_TIMES = 8.0
SHARE_OF_BOUND = 0.2
UNFOLDED_SHARE = 0.5
TWO_WORKERS = 1.8
COMPILE_SECONDS = 30.0
START_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Measured:
    """Size, rounds and stages by file; start times and scaling of our decoder.

    `unbuilt`: why a peer did not run. `two_workers`: by kind, the speed of two workers divided by
    that of one. `same_unfolded`: whether the results are the same without PCLMULQDQ.
    """

    megabytes: Mapping[str, float]
    runs: Mapping[str, Run]
    stages: Mapping[str, Stages]
    two_workers: Mapping[str, float]
    same_unfolded: bool
    compile_seconds: float
    start_seconds: float
    unbuilt: Mapping[str, str] = field(default_factory=dict)

    @property
    def wrong(self) -> list[str]:
        """Failed programs, and counts or results that differ from ours."""
        lines = [
            f"{file}: {line}"
            for file, run in self.runs.items()
            for line in (
                *disagreements(run),
                *(f"{name} failed: {reason}" for name, reason in run.failures.items()),
            )
        ]
        if not self.same_unfolded:
            lines.append(f"{UNFOLDED} returns different results")
        return lines


def demands(measured: Measured) -> list[Demand]:
    """Return all goals."""
    return [*_against_peers(measured), *_against_bound(measured), *_alone(measured)]


def _against_peers(measured: Measured) -> Iterator[Demand]:
    for file, run in measured.runs.items():
        for warmed, which in ((False, "fastest peer"), (True, "fastest peer warmed up")):
            names = [peer.name for peer in PEERS if peer.warmed == warmed]
            fastest = fastest_peer(run, names)
            if fastest is not None:
                name, times = fastest
                what = f"{file} file: times as fast as the {which}, {name}"
                yield Demand.at_least(what, times, PEER_TIMES)


def _against_bound(measured: Measured) -> Iterator[Demand]:
    for file, stages in measured.stages.items():
        what = f"{file} file: fraction of the bound's speed"
        yield Demand.at_least(what, stages.share_of_bound, SHARE_OF_BOUND)


def _alone(measured: Measured) -> Iterator[Demand]:
    passes = measured.runs[MIXED].passes
    if UNFOLDED in passes:
        share = ratio(passes[OURS], passes[UNFOLDED])
        what = "without PCLMULQDQ: fraction of the speed with it"
        yield Demand.at_least(what, share, UNFOLDED_SHARE)
    same = "the same" if measured.same_unfolded else "different"
    what = "without PCLMULQDQ: results"
    yield Demand(what, "the same", same, measured.same_unfolded)
    for kind, times in measured.two_workers.items():
        yield Demand.at_least(f"two {kind}: times the speed of one", times, TWO_WORKERS)
    what = "first use on a fresh machine: seconds to compile"
    yield Demand.below(what, measured.compile_seconds, COMPILE_SECONDS)
    what = "later processes: seconds to the first batch"
    yield Demand.below(what, measured.start_seconds, START_SECONDS)
