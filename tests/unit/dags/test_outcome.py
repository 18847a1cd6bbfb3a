"""Exit codes and last lines, and what Airflow is to make of them."""

from __future__ import annotations

import json

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from binlake_airflow.command_line import command_line
from binlake_airflow.outcome import Outcome

FINISHED = json.dumps(
    {"event": "run_finished", "outcome": "done", "cut_lsn": 7, "lag_seconds": 1.5, "host": "x"}
)
FAILED = json.dumps({"event": "run_failed", "error": "the lake is gone.", "message": "run failed"})


@pytest.mark.parametrize(
    ("code", "warn", "error"),
    [
        (0, False, None),
        (1, False, AirflowException),
        (2, False, AirflowFailException),
        (3, False, AirflowFailException),
        (3, True, AirflowSkipException),
        (2, True, AirflowFailException),
        (130, False, AirflowException),
        (-9, False, AirflowException),
    ],
)
def test_exit_codes(code: int, warn: bool, error: type[Exception] | None) -> None:
    outcome = Outcome()
    if error is None:
        outcome.settle(["ingest"], code, warn=warn)
        return
    with pytest.raises(error, match=f"binlake ingest ended with exit code {code}") as raised:
        outcome.settle(["ingest"], code, warn=warn)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["status", "--check"], "Something is held, or files are missing: see"),
        (["seed"], "A table could not be seeded: see"),
        (["verify"], "Gold is not what the server has, or not of the same place in its log: see"),
    ],
)
def test_faults_are_told_by_what_the_command_looks_at(command: list[str], told: str) -> None:
    with pytest.raises(AirflowFailException, match=f"exit code 3. {told} this task's log"):
        Outcome().settle(command, 3)


def test_the_last_line_is_kept_and_all_are_passed_on() -> None:
    outcome = Outcome()
    lines = ["WARNING: something of Java's", "{no json", "[1]", '{"event": null}', FINISHED, "}"]
    assert list(outcome.follow(lines)) == lines
    assert outcome.told(2) == {"outcome": "done", "cut_lsn": 7, "lag_seconds": 1.5, "attempt": 2}


def test_an_error_is_told_in_its_own_words() -> None:
    outcome = Outcome()
    list(outcome.follow([FINISHED, FAILED]))
    with pytest.raises(AirflowException, match=r"exit code 1\. the lake is gone"):
        outcome.settle(["apply"], 1)


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        (("ingest",), {}, ["ingest", "--conf=c", "--log=json"]),
        (("status", "--check"), {}, ["status", "--check", "--conf=c"]),
        (("capture",), {}, ["capture", "--conf=c", "--log=json"]),
        (("seed",), {}, ["seed", "--conf=c", "--log=json"]),
        (("verify",), {"--against": "server"}, ["verify", "--conf=c", "--against=server"]),
        (("maintain",), {"--dry-run": "True"}, ["maintain", "--conf=c", "--log=json", "--dry-run"]),
        (("maintain",), {"--dry-run": "False"}, ["maintain", "--conf=c", "--log=json"]),
        (("apply",), {"--until": ""}, ["apply", "--conf=c", "--log=json"]),
        (("apply",), {"--until": None}, ["apply", "--conf=c", "--log=json"]),
        (
            ("apply",),
            {"--until": "--lake=/x; rm", "--full-refresh": True},
            ["apply", "--conf=c", "--log=json", "--until=--lake=/x; rm", "--full-refresh"],
        ),
    ],
)
def test_command_lines(
    command: tuple[str, ...], options: dict[str, object], expected: list[str]
) -> None:
    assert command_line(command, "c", options) == expected
