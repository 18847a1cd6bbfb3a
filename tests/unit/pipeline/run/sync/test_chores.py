"""When chores are due, what their errors lead to, and how a signal ends them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from pipeline.errors import BinlakeError, Interrupted, SettingsError, UnreachableError
from pipeline.observe.interruption import Interruption, handling_signals
from pipeline.run.sync.chores import LONGEST_SECONDS, TRIES, Chore, Chores
from tests.support.observe.captured_log import LogRecords, captured_log

GONE = UnreachableError("The store does not answer.", key="lake")
WRONG = SettingsError("is not set.", key="lake")


class Played:
    """A chore's work by a script, on a clock that only work and waiting move.

    Each step is how many seconds it takes, negative if there was nothing to do, or an error.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.began: dict[str, list[float]] = {}
        self.left: dict[str, list[float | Exception]] = {}
        self.chores: Chores | None = None

    def chore(self, name: str, steps: list[float | Exception], **how: Any) -> Chore:
        self.left[name] = [*steps]
        self.began[name] = []
        return Chore(name, lambda: self._work(name), **how)

    def _work(self, name: str) -> bool:
        self.began[name].append(self.now - 1000.0)
        step = self.left[name].pop(0)
        if not any(self.left.values()) and self.chores is not None:
            self.chores.stop()
        if isinstance(step, Exception):
            raise step
        self.now += abs(step)
        return step > 0

    def run(self, *chores: Chore) -> dict[str, list[float]]:
        self.chores = Chores(chores, clock=lambda: self.now, sleep=self._sleep)
        self.chores.run()
        return {name: [round(at, 1) for at in times] for name, times in self.began.items()}

    def _sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def log() -> Iterator[LogRecords]:
    with captured_log() as lines:
        yield lines


@pytest.mark.parametrize(
    ("every", "steps", "began"),
    [
        (30.0, [5, 5, 5], [0, 30, 60]),
        (30.0, [40, 5, 5], [0, 40, 70]),
        (0.0, [5, 7, 5], [0, 5, 12]),
        (0.0, [-0.2, -0.2, 5], [0, 1.2, 2.4]),
        (30.0, [-0.2, 5], [0, 30]),
        (30.0, [5, GONE, GONE, GONE, 5, 5], [0, 30, 31, 33, 37, 67]),
        (30.0, [RuntimeError("Java"), -5, RuntimeError("Java"), 5], [0, 1, 31, 32]),
        (None, [-0.1, GONE, 5], [0, 1.1, 2.1]),
    ],
    ids=[
        "on time",
        "late",
        "back to back",
        "idle back to back",
        "idle",
        "failures in a row wait longer",
        "a success ends the row",
        "once",
    ],
)
def test_when_a_chore_begins(
    every: float | None, steps: list[float | Exception], began: list[float], log: LogRecords
) -> None:
    played = Played()
    assert played.run(played.chore("run", steps, every=every)) == {"run": began}
    failures = [step for step in steps if isinstance(step, Exception)]
    assert len(log.of("sync_retries")) == len(failures)


def test_the_longest_due_is_first_so_that_back_to_back_rounds_leave_room(log: LogRecords) -> None:
    played = Played()
    rounds = played.chore("run", [10, 10, 10], every=0.0)
    began = played.run(
        played.chore("capture", [-0.0, 0.1], every=15.0),
        rounds,
        played.chore("maintain", [5], every=3600.0, due=1012.0),
    )
    assert began == {"capture": [0, 25], "run": [0, 10, 25.1], "maintain": [20]}


def test_waiting_never_exceeds_the_longest_pause(log: LogRecords) -> None:
    played = Played()
    began = played.run(played.chore("run", [*[GONE] * 12, 1], every=30.0))["run"]
    pauses = [after - before for before, after in pairwise(began)]
    assert max(pauses) == pytest.approx(LONGEST_SECONDS, abs=0.2)


@pytest.mark.parametrize(
    ("steps", "essential", "raised"),
    [
        ([5, WRONG], True, SettingsError),
        ([GONE, BinlakeError("The log is damaged.")], True, BinlakeError),
        ([RuntimeError("Java is gone")] * TRIES, True, RuntimeError),
        ([WRONG, RuntimeError("x"), 1], False, None),
    ],
)
def test_what_cannot_pass_ends_the_process(
    steps: list[float | Exception],
    essential: bool,
    raised: type[Exception] | None,
    log: LogRecords,
) -> None:
    played = Played()
    chore = played.chore("run", steps, every=30.0, essential=essential)
    if raised is None:
        assert played.run(chore) == {"run": [0, 30, 60]}
        return
    with pytest.raises(raised):
        played.run(chore)
    assert played.left["run"] == []


@pytest.mark.parametrize(
    ("steps", "failing"),
    [([5, GONE], True), ([GONE, 5], False), ([GONE, -1], False)],
)
def test_a_process_knows_at_its_end_whether_the_last_try_failed(
    steps: list[float | Exception], failing: bool, log: LogRecords
) -> None:
    played = Played()
    played.run(played.chore("run", steps, every=30.0))
    assert played.chores is not None
    assert played.chores.failing is failing


def test_failures_are_in_a_row_until_a_success_long_enough_after_them(log: LogRecords) -> None:
    played = Played()
    steps: list[float | Exception] = [GONE, 0.1, GONE, 0.1, 0.1, 0.1, GONE, 0.1]
    began = played.run(played.chore("capture", steps, every=30.0, steady=60.0))["capture"]
    # 1 s after the first failure, 2 s after the second, 1 s again after the third
    assert began == [0, 1, 31, 33, 63, 93, 123, 124]


def signalled(number: signal.Signals) -> bool:
    os.kill(os.getpid(), number)
    return True


def test_a_signal_lets_an_unhurried_chore_end_and_interrupts_others() -> None:
    done: list[str] = []

    def work() -> bool:
        signalled(signal.SIGTERM)
        done.append("to its end")
        return True

    with handling_signals(lambda error: None):
        Chores([Chore("run", work, 0.0, unhurried=True)]).run()
    assert done == ["to its end"]
    with handling_signals(lambda error: None) as interruption:
        # Otherwise a thread ends this process if it does not end by itself.
        interruption.longest = 1e9
        with pytest.raises(Interrupted):
            Chores([Chore("seed", work, 0.0)]).run()
    assert done == ["to its end"]


def test_a_second_signal_ends_the_process_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class EndedError(BaseException):
        pass

    def end(_: Interruption, code: int) -> None:
        raise EndedError(code)

    monkeypatch.setattr(Interruption, "finish", end)
    monkeypatch.setattr("pipeline.observe.interruption._SAME_SIGNAL", -1.0)

    def work() -> bool:
        signalled(signal.SIGTERM)
        signalled(signal.SIGINT)
        raise AssertionError("not reached")

    with handling_signals(lambda error: None), pytest.raises(EndedError, match="130"):
        Chores([Chore("run", work, 0.0, unhurried=True)]).run()
