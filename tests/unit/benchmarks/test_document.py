"""The results of the comparison with peers, its goals, and its block in the document."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.peers.bound import Bound
from benchmarks.peers.catalog import BULK, MIXED, PEERS
from benchmarks.peers.compare import OURS, UNFOLDED
from benchmarks.peers.counts import Counts, Pass
from benchmarks.peers.document import block
from benchmarks.peers.results import Measured, demands
from benchmarks.peers.rounds import Run
from benchmarks.peers.stages import Stages

COUNTS = Counts(3, 2, 8)
JAVA, GO = PEERS[0].name, "go-mysql"


def run(**seconds: float) -> Run:
    return Run({name: [Pass(COUNTS, each)] for name, each in seconds.items()})


def measured() -> Measured:
    rounds = run(**{OURS: 0.1, UNFOLDED: 0.15, JAVA: 0.9, GO: 2.0})
    stages = Stages({"walk": 0.06, "JSON": 0.05}, 0.1, Bound(0.02, 0.03, 0.01), 0.3)
    return Measured(
        megabytes={MIXED: 200.0, BULK: 100.0},
        runs={MIXED: rounds, BULK: rounds},
        stages={MIXED: stages, BULK: stages},
        two_workers={"threads": 1.9, "processes": 1.95},
        same_unfolded=True,
        compile_seconds=20.0,
        start_seconds=1.0,
        unbuilt={"mysql_common": "cargo is not on this machine"},
    )


def test_goals_are_reached_by_sufficient_figures() -> None:
    assert all(demand.reached for demand in demands(measured()))
    assert measured().wrong == []


@pytest.mark.parametrize(
    ("changed", "missed"),
    [
        (
            {"runs": {MIXED: run(**{OURS: 0.2, UNFOLDED: 0.3, JAVA: 0.9})}},
            "mixed file: times as fast as the fastest peer, mysql-binlog-connector-java",
        ),
        (
            {"runs": {MIXED: run(**{OURS: 0.1, UNFOLDED: 0.25, JAVA: 0.9})}},
            "without PCLMULQDQ: fraction of the speed with it",
        ),
        (
            {"stages": {BULK: Stages({}, 0.1, Bound(0.01, 0.01, 0.0), 0.1)}},
            "bulk file: fraction of the bound's speed",
        ),
        ({"two_workers": {"threads": 1.3}}, "two threads: times the speed of one"),
        ({"same_unfolded": False}, "without PCLMULQDQ: results"),
        ({"compile_seconds": 30.5}, "first use on a fresh machine: seconds to compile"),
        ({"start_seconds": 1.6}, "later processes: seconds to the first batch"),
    ],
)
def test_a_goal_is_missed_by_an_insufficient_figure(
    changed: dict[str, object], missed: str
) -> None:
    found = replace(measured(), **changed)
    assert [demand.what for demand in demands(found) if not demand.reached] == [missed]


def test_failures_and_differing_counts_or_results_are_wrong() -> None:
    rounds = run(**{OURS: 0.1, JAVA: 0.9})
    rounds.passes[JAVA] = [Pass(Counts(3, 1, 4), 0.9)]
    rounds.failures[GO] = "it ended with 1"
    found = replace(measured(), runs={MIXED: rounds}, same_unfolded=False)
    assert [line.split(":")[0] for line in found.wrong] == [
        MIXED,
        MIXED,
        f"{UNFOLDED} returns different results",
    ]


def test_the_block_has_each_decoders_ratio_or_why_it_did_not_run() -> None:
    text = block(measured(), "On a machine.")
    assert f"| {JAVA} | 0.30.1 (Maven) | 0.900 | 222 | 9.0 | 0.900 | 111 | 9.0 |" in text
    assert "- mysql_common: not built: cargo is not on this machine." in text
    assert all(peer.name in text for peer in PEERS)
    assert "| walk | 60 | 55 % | 60 | 55 % |" in text
