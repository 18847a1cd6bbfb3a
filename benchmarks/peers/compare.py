"""Comparisons of the rounds: ratios between decoders, and differences of their counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Protocol

from benchmarks.peers.rounds import Run

OURS = "Binlake"
UNFOLDED = "Binlake without PCLMULQDQ"


class Timed(Protocol):
    """A timed run."""

    @property
    def seconds(self) -> float:
        """The time that it took."""


def median_seconds(passes: Sequence[Timed]) -> float:
    """Return the median over the rounds."""
    return median(done.seconds for done in passes)


def ratio(passes: Sequence[Timed], to: Sequence[Timed]) -> float:
    """Return the seconds divided by those of `to`: the median over the rounds that both ran."""
    return median(one.seconds / other.seconds for one, other in zip(passes, to, strict=False))


def fastest_peer(run: Run, peers: Iterable[str]) -> tuple[str, float] | None:
    """Return the peer with the smallest ratio to ours, and that ratio; None if none ran."""
    ratios = [
        (ratio(run.passes[name], run.passes[OURS]), name) for name in peers if name in run.passes
    ]
    if not ratios:
        return None
    least, name = min(ratios)
    return name, least


def disagreements(run: Run) -> list[str]:
    """Return a line for each decoder whose counts differ from ours."""
    ours = run.passes[OURS][0].counts
    return [
        f"{name} counts {counts}; {OURS} {ours}"
        for name, passes in run.passes.items()
        for counts in sorted({done.counts for done in passes} - {ours}, key=str)
    ]
