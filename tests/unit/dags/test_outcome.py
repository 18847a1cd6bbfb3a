"""Exit codes and last log lines, as Airflow's exceptions and XComs."""

from __future__ import annotations

import json

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from binlake_airflow.operators.command_line import command_line
from binlake_airflow.operators.outcome import Outcome
from pipeline.errors import NothingReplicatedError, SettingsError

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
def test_each_exit_code_has_its_exception(
    code: int, warn: bool, error: type[Exception] | None
) -> None:
    outcome = Outcome()
    if error is None:
        outcome.raise_for_exit_code(["ingest"], code, warn=warn)
        return
    with pytest.raises(error, match=f"binlake ingest ended with exit code {code}") as raised:
        outcome.raise_for_exit_code(["ingest"], code, warn=warn)
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("command", "meaning"),
    [
        (["status", "--check"], "A table is held, or a file is missing: see"),
        (["seed"], "A table could not be seeded: see"),
        (
            ["verify"],
            "Gold differs from the server, or is not at the same position of its log: see",
        ),
    ],
)
def test_the_message_about_faults_depends_on_the_command(command: list[str], meaning: str) -> None:
    with pytest.raises(AirflowFailException, match=f"exit code 3. {meaning} this task's log"):
        Outcome().raise_for_exit_code(command, 3)


@pytest.mark.parametrize("command", ["maintain", "verify"])
def test_what_has_a_schedule_of_its_own_is_skipped_before_the_first_replication(
    command: str,
) -> None:
    """Airflow starts all DAGs of a new source at once."""
    line = '{"event": "failed", "message": "no lake.", "error_type": "NothingReplicatedError"}'
    outcome = Outcome()
    list(outcome.follow([line]))
    with pytest.raises(AirflowSkipException, match=r"Nothing was replicated yet\. no lake"):
        outcome.raise_for_exit_code([command], 2)
    with pytest.raises(AirflowFailException):
        outcome.raise_for_exit_code(["status", "--check"], 2)
    list(outcome.follow([line.replace("NothingReplicated", "Settings")]))
    with pytest.raises(AirflowFailException):
        outcome.raise_for_exit_code([command], 2)


def test_the_skip_depends_on_an_error_of_binlake() -> None:
    assert issubclass(NothingReplicatedError, SettingsError)


def test_all_lines_are_passed_on_and_the_one_that_ends_the_run_is_kept() -> None:
    outcome = Outcome()
    lines = ["WARNING: something of Java's", "{no json", "[1]", '{"event": null}', FINISHED, "}"]
    assert list(outcome.follow(lines)) == lines
    expected = {"outcome": "done", "cut_lsn": 7, "lag_seconds": 1.5, "attempt": 2}
    assert outcome.as_xcom(2) == expected


def test_the_exception_contains_the_commands_error() -> None:
    outcome = Outcome()
    list(outcome.follow([FINISHED, FAILED]))
    with pytest.raises(AirflowException, match=r"exit code 1\. the lake is gone"):
        outcome.raise_for_exit_code(["apply"], 1)


@pytest.mark.parametrize(
    ("command", "options", "expected"),
    [
        (("ingest",), {}, ["ingest", "--conf=c", "--log=json"]),
        (("status", "--check"), {}, ["status", "--check", "--conf=c"]),
        (("capture",), {}, ["capture", "--conf=c", "--log=json"]),
        (("seed",), {}, ["seed", "--conf=c", "--log=json"]),
        (
            ("verify",),
            {"--against": "server"},
            ["verify", "--conf=c", "--log=json", "--against=server"],
        ),
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
def test_options_become_arguments(
    command: tuple[str, ...], options: dict[str, object], expected: list[str]
) -> None:
    assert command_line(command, "c", options) == expected
