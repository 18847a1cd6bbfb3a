"""The comparison with Debezium: reports, steps, ratios, and results that are wrong."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.debezium.capture import Captured, parse, properties
from benchmarks.debezium.document import block
from benchmarks.debezium.operations import Operations, logged
from benchmarks.debezium.ours import Applied
from benchmarks.debezium.results import Raced, demands, wrong
from benchmarks.debezium.steps import REST, TimedSteps
from benchmarks.peers.counts import ProgramError

LOGGED = Operations(5, 3, 2)
LINE = (
    '{"inserts": 5, "updates": 3, "deletes": 2, "others": 1, "seconds": 7.5,'
    ' "start_seconds": 2.5, "java": "17"}'
)
RECORDED = Path(__file__).parents[2] / "data" / "plain.binlog"


def captured(seconds: float) -> Captured:
    return Captured(LOGGED, 0, seconds, 2.0, "17")


def applied(bronze: float, silver: float) -> Applied:
    steps = {"bronze": {"reading": bronze, REST: 0.0}, "silver": {"decode": silver - 1, REST: 1.0}}
    return Applied({"bronze": bronze, "silver": silver}, steps, 10, [], {"t": [1, 2]})


def raced(*rounds: tuple[float, Applied]) -> Raced:
    found = Raced(241.0, LOGGED)
    for theirs, ours in rounds:
        found.captured.append(captured(theirs))
        found.applied.append(ours)
        found.differing.append([])
    return found


def test_the_engines_report_is_parsed() -> None:
    assert parse(LINE) == Captured(LOGGED, 1, 7.5, 2.5, "17")


@pytest.mark.parametrize("printed", ["", "no JSON", '{"inserts": 5}', "[]"])
def test_an_invalid_report_is_an_error(printed: str) -> None:
    with pytest.raises(ProgramError, match="invalid report"):
        parse(printed)


def test_the_engine_reads_the_servers_port_without_a_snapshot() -> None:
    lines = properties(4711).splitlines()
    assert {"database.port=4711", "snapshot.mode=never"} <= set(lines)
    assert len({line.partition("=")[0] for line in lines}) == len(lines)


def test_the_operations_of_a_log_are_counted_by_the_decoder() -> None:
    found = logged([RECORDED])
    assert found.inserts
    assert found.updates
    assert found.deletes
    assert logged([RECORDED, RECORDED]).total == 2 * found.total


def test_steps_are_timed_by_name_with_the_rest() -> None:
    steps = TimedSteps()
    for name in ("decode", "decode", "write"):
        with steps.task(name, 3, "tables") as task:
            time.sleep(0.02)
            task.advance()
    found = steps.steps(10.0)
    assert list(found) == ["decode", "write", REST]
    assert found["decode"] >= 0.04
    assert 0.02 <= found["write"] < found["decode"]
    assert sum(found.values()) == pytest.approx(10.0)


@pytest.mark.parametrize(
    ("theirs", "reached"), [(41.0, [True, True]), (21.0, [True, False]), (19.0, [False, False])]
)
def test_the_ratio_decides_whether_the_goal_and_the_moonshot_are_reached(
    theirs: float, reached: list[bool]
) -> None:
    found = raced((theirs, applied(5.0, 15.0)))
    assert [demand.reached for demand in demands({"mixed": found})] == reached


def test_the_ratio_is_the_median_of_the_rounds() -> None:
    found = raced(
        (40.0, applied(5.0, 15.0)), (10.0, applied(5.0, 15.0)), (20.0, applied(5.0, 15.0))
    )
    assert found.ratio == 1.0


def test_complete_results_are_not_wrong() -> None:
    assert wrong({"mixed": raced((40.0, applied(5.0, 15.0)))}) == []


def test_incomplete_results_of_either_program_are_reported() -> None:
    found = raced(*[(40.0, applied(5.0, 15.0))] * 4)
    found.captured[0] = replace(found.captured[0], operations=Operations(5, 3, 1))
    found.captured[1] = replace(found.captured[1], others=1)
    found.applied[2] = replace(found.applied[2], changes=9, faults=["silver: a fault"])
    found.differing[3].append("orders")
    assert [line.partition(" ")[2][:9] for line in wrong({"mixed": found})] == [
        "round 1: ",
        "round 2: ",
        "round 3: ",
        "round 3: ",
        "round 4: ",
    ]


def test_the_block_has_the_figures_rounds_and_steps() -> None:
    found = raced((40.0, applied(5.0, 15.0)), (50.0, applied(7.0, 18.0)))
    text = block({"mixed": found, "bulk": found}, "On a machine.")
    assert "| mixed, 241 MB, 10 changes | 45.0 | 0 | 22.5 | 0 | 0.50 |" in text
    assert "- mixed: Debezium 40.0, 50.0 (and 2.0, 2.0 to start); Binlake 20.0, 25.0." in text
    assert "| bronze | total | 6.0 | 27 % | 6.0 | 27 % |" in text
    assert "| silver | decode | 15.5 | 69 % | 15.5 | 69 % |" in text
    assert "| `snapshot.mode` | `never` |" in text
    assert "gold equals the server" in text


def test_the_block_reports_wrong_results() -> None:
    found = raced((40.0, applied(5.0, 15.0)))
    found.differing[0].append("orders")
    text = block({"mixed": found}, "On a machine.")
    assert "gold differs from the server: orders" in text
    assert "gold equals the server" not in text
