"""The order of runs in rounds, failures, and ratios."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.peers.compare import OURS, disagreements, fastest_peer, ratio
from benchmarks.peers.counts import Counts, Pass, ProgramError
from benchmarks.peers.rounds import Entry, Run, run_rounds

COUNTS = Counts(3, 2, 8)


class Noted:
    """A program that records its runs, and fails in the run `fails_at`."""

    def __init__(self, name: str, note: Callable[[str], None], fails_at: int = -1) -> None:
        self._name, self._note, self._fails_at, self._runs = name, note, fails_at, 0

    def run(self, file: Path) -> Pass:
        self._note(self._name)
        self._runs += 1
        if self._runs == self._fails_at:
            raise ProgramError("out of order")
        return Pass(COUNTS, self._runs)


def passes(*seconds: float, counts: Counts = COUNTS) -> list[Pass]:
    return [Pass(counts, each) for each in seconds]


def test_each_round_runs_each_program_once_until_its_limit() -> None:
    order: list[str] = []
    entries = {name: Entry(Noted(name, order.append)) for name in ("ours", "theirs")}
    entries["slow"] = Entry(Noted("slow", order.append), rounds=1)
    run = run_rounds(entries, Path("file"), 2, lambda line: None)
    assert order == ["ours", "theirs", "slow", "ours", "theirs"]
    assert {name: len(found) for name, found in run.passes.items()} == {
        "ours": 2,
        "theirs": 2,
        "slow": 1,
    }


def test_a_failed_program_is_reported_and_not_run_again() -> None:
    order: list[str] = []
    entries = {
        "ours": Entry(Noted("ours", order.append)),
        "broken": Entry(Noted("broken", order.append, fails_at=1)),
    }
    run = run_rounds(entries, Path("file"), 2, lambda line: None)
    assert order == ["ours", "broken", "ours"]
    assert run.failures == {"broken": "out of order"}


@pytest.mark.parametrize(
    ("theirs", "ours", "expected"),
    [
        ([8.0, 8.0, 8.0], [1.0, 1.0, 1.0], 8.0),
        # A round on a busy machine is slow for both: its ratio is like the others'.
        ([8.0, 80.0, 9.0], [1.0, 10.0, 1.0], 8.0),
        ([9.0], [1.0, 5.0, 5.0], 9.0),
    ],
)
def test_the_ratio_is_the_median_of_the_rounds_ratios(
    theirs: list[float], ours: list[float], expected: float
) -> None:
    assert ratio(passes(*theirs), passes(*ours)) == expected


def test_the_fastest_peer_has_the_smallest_ratio_of_those_that_ran() -> None:
    run = Run({OURS: passes(1.0, 2.0), "slow": passes(9.0, 18.0), "fast": passes(3.0, 6.0)})
    assert fastest_peer(run, ["slow", "fast", "absent"]) == ("fast", 3.0)
    assert fastest_peer(run, ["absent"]) is None


def test_a_decoder_with_different_counts_is_reported() -> None:
    fewer = Counts(3, 1, 4)
    run = Run({OURS: passes(1.0), "same": passes(2.0), "other": passes(2.0, counts=fewer)})
    assert disagreements(run) == [f"other counts {fewer}; {OURS} {COUNTS}"]
