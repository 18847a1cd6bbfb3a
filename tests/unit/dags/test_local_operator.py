"""The operator that runs Binlake on the worker, with a stand-in for `binlake-task`."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout
from airflow.sdk.execution_time.timeout import timeout

from binlake_airflow.operators import local_operator
from binlake_airflow.operators.local_operator import BinlakeLocalOperator


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program that records its arguments, and then runs the script `then` in its folder."""
    file = tmp_path / "binlake-task"
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\n. {tmp_path}/then\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    return file


def operator(
    program: Path | str, server: str | None = None, **options: Any
) -> BinlakeLocalOperator:
    return BinlakeLocalOperator(
        task_id="gold",
        program=str(program),
        command=("apply",),
        settings="/conf/shop.yml",
        options=options,
        server=server,
    )


def run(made: BinlakeLocalOperator) -> Any:
    context: Any = {"ti": SimpleNamespace(try_number=1)}
    return made.execute(context)


def test_it_calls_the_program_and_returns_its_outcome(program: Path) -> None:
    line = '{"event": "run_finished", "level": "INFO", "message": "x", "cut_lsn": 5, "time": "t"}'
    (program.parent / "then").write_text(f"echo plain >&2\necho '{line}' >&2\n")
    made = operator(program, **{"--until": "x y"})
    assert run(made) == {"cut_lsn": 5, "attempt": 1}
    called = (program.parent / "called").read_text().splitlines()
    assert called == ["apply", "--conf=/conf/shop.yml", "--log=json", "--until=x y"]


def test_only_the_programs_environment_has_the_server(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DB", '{"host": "db", "login": "me", "password": "qw/ertz"}')
    (program.parent / "then").write_text(f'echo "$BINLAKE_SERVER" > {program.parent}/server\n')
    before = dict(os.environ)
    made = operator(program, server="db")
    run(made)
    assert (program.parent / "server").read_text() == "mysql://me:qw%2Fertz@db\n"
    assert dict(os.environ) == before
    logged = "".join(capfd.readouterr())
    assert "binlake" in logged
    assert "qw" not in logged + str(vars(made)) + (program.parent / "called").read_text()
    run(operator(program))
    assert (program.parent / "server").read_text() == "\n"


@pytest.mark.parametrize(
    ("code", "error"), [(1, AirflowException), (2, AirflowFailException), (64, AirflowException)]
)
def test_a_failure_is_raised(program: Path, code: int, error: type[Exception]) -> None:
    (program.parent / "then").write_text(f"exit {code}")
    with pytest.raises(error, match=f"exit code {code}") as raised:
        run(operator(program))
    assert type(raised.value) is error


def test_a_missing_program_fails_without_a_retry() -> None:
    with pytest.raises(AirflowFailException, match="program binlake-nowhere was not found"):
        run(operator("binlake-nowhere"))


def test_the_program_next_to_this_python_comes_first() -> None:
    assert Path(local_operator.find_program("python")).parent.samefile(
        Path(local_operator.sys.executable).parent
    )


@pytest.mark.parametrize("ignores", [False, True], ids=["ends at SIGTERM", "has to be killed"])
def test_a_timeout_ends_all_that_was_started(
    program: Path, monkeypatch: pytest.MonkeyPatch, ignores: bool
) -> None:
    monkeypatch.setattr(local_operator, "GRACE", 0.5)
    trap = "trap '' TERM\n" if ignores else ""
    then = f"{trap}sleep 60 &\necho $! > {program.parent}/child\nwait\nwait\n"
    (program.parent / "then").write_text(then)
    with pytest.raises(AirflowTaskTimeout), timeout(1):
        run(operator(program))
    child = int((program.parent / "child").read_text())
    assert gone(child)


def test_a_timeout_ends_what_outlives_the_command(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_operator, "GRACE", 0.5)
    child = 'trap "" TERM; while :; do sleep 1; done'
    (program.parent / "then").write_text(
        f"sh -c '{child}' >/dev/null 2>&1 &\necho $! > {program.parent}/child\nwait\n"
    )
    with pytest.raises(AirflowTaskTimeout), timeout(1):
        run(operator(program))
    assert gone(int((program.parent / "child").read_text()))


def test_a_program_that_has_ended_is_not_killed(program: Path) -> None:
    (program.parent / "then").write_text("exit 0")
    made = operator(program)
    made.on_kill()
    run(made)
    made.on_kill()


def test_a_program_that_a_timeout_has_ended_is_not_killed_again(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow calls on_kill again after a timeout, when the process id may have been reused."""
    (program.parent / "then").write_text("sleep 60")
    made = operator(program)
    with pytest.raises(AirflowTaskTimeout), timeout(1):
        run(made)
    monkeypatch.setattr(os, "killpg", lambda *_: pytest.fail("killed"))
    made.on_kill()


def test_a_stopped_task_reports_the_exit_code_of_its_command(program: Path) -> None:
    """Airflow's SIGTERM handler calls on_kill, and then the task continues."""
    (program.parent / "then").write_text("kill -TERM $PPID\nsleep 60")
    made = operator(program)
    before = signal.signal(signal.SIGTERM, lambda *_: made.on_kill())
    try:
        with pytest.raises(AirflowException, match="exit code -15"):
            run(made)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_output_has_no_colors_whatever_the_workers_environment(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    print_in_red = "from rich import print; print('[bold red]held[/] shop.orders')"
    (program.parent / "then").write_text(f'"{sys.executable}" -c "{print_in_red}"\n')
    run(operator(program))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "shop.orders" in line]
    assert "held shop.orders" in line


def test_the_traceback_of_an_error_is_logged(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = {"level": "ERROR", "event": "run_failed", "message": "apply failed: KeyError: 7"}
    trace = 'Traceback (most recent call last):\n  File "gold.py", line 1\nKeyError: 7'
    line = json.dumps({**fields, "exc_info": trace})
    (program.parent / "then").write_text(f"cat <<'END'\n{line}\nEND\nexit 1")
    with pytest.raises(AirflowException):
        run(operator(program))
    logged = [line for line in capsys.readouterr().out.splitlines() if "[error" in line]
    assert len(logged) == 4
    assert "apply failed: KeyError: 7" in logged[0]
    assert 'File "gold.py", line 1' in logged[2]


def gone(process: int) -> bool:
    """Return True once the process has ended: the process that adopts it must reap it first."""
    for _ in range(50):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        if "State:\tZ" in Path(f"/proc/{process}/status").read_text():
            return True
        time.sleep(0.1)
    return False
