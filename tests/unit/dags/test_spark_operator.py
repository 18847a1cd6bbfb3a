"""The operator that submits Binlake, with a stand-in for `spark-submit`."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from binlake_airflow.operators.spark_operator import APPLICATION, BinlakeSparkOperator, exit_code_in


@pytest.fixture
def submit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A spark-submit that records its arguments, and a connection to a master."""
    file = tmp_path / "spark-submit"
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/called\n. {tmp_path}/then\n')
    file.chmod(file.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    connection = '{"conn_type": "spark", "host": "spark://master", "port": 7077}'
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", connection)
    return file


def operator(server: str | None = None, **submit: Any) -> BinlakeSparkOperator:
    return BinlakeSparkOperator(
        task_id="gold",
        conn_id="cluster",
        command=("apply",),
        settings="/conf/shop.yml",
        options={"--until": "17"},
        submit=submit,
        server=server,
    )


def run(made: BinlakeSparkOperator) -> Any:
    context: Any = {"ti": SimpleNamespace(try_number=3)}
    return made.execute(context)


def test_it_submits_the_task_and_returns_its_outcome(submit: Path) -> None:
    line = '{"event": "run_finished", "outcome": "nothing_new"}'
    (submit.parent / "then").write_text(f"echo Java says hello\necho '{line}'\n")
    conf = {"spark.executor.memory": "8g"}
    xcom = run(operator(py_files="/opt/binlake.whl", conf=conf, name="shop"))
    assert xcom == {"outcome": "nothing_new", "attempt": 3}
    called = (submit.parent / "called").read_text().splitlines()
    assert called == [
        *("--master", "spark://master:7077", "--conf", "spark.executor.memory=8g"),
        *("--py-files", "/opt/binlake.whl", "--name", "shop"),
        str(APPLICATION),
        *("apply", "--conf=/conf/shop.yml", "--log=json", "--until=17"),
    ]


@pytest.mark.parametrize(
    ("code", "error"), [(1, AirflowException), (2, AirflowFailException), (3, AirflowFailException)]
)
def test_exit_codes_of_the_driver_are_raised(
    submit: Path, code: int, error: type[Exception]
) -> None:
    (submit.parent / "then").write_text(f"exit {code}")
    with pytest.raises(error, match=f"exit code {code}") as raised:
        run(operator())
    assert type(raised.value) is error


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ("Cannot execute: spark-submit x. Error code is: 2.", 2),
        ("Cannot execute: x. Error code is: 1. Kubernetes spark exit code is: 2", 2),
        ("Cannot execute: x. Error code is: 1. Kubernetes spark exit code is: None", 1),
        ("ERROR : Driver driver-7 badly exited with status FAILED", 0),
    ],
)
def test_exit_codes_are_read_from_the_providers_errors(message: str, code: int) -> None:
    assert exit_code_in(message) == code


@pytest.mark.parametrize("code", [0, 1])
def test_the_driver_inherits_the_server_without_an_argument(
    submit: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], code: int
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DB", '{"host": "db", "login": "me", "password": "qw/ertz"}')
    (submit.parent / "then").write_text(
        f'echo "$BINLAKE_SERVER" > {submit.parent}/server\nexit {code}\n'
    )
    before = dict(os.environ)
    made = operator(server="db")
    with suppress(AirflowException):
        run(made)
    assert (submit.parent / "server").read_text() == "mysql://me:qw%2Fertz@db\n"
    assert dict(os.environ) == before
    logged = "".join(capfd.readouterr())
    assert "binlake" in logged
    assert "qw" not in logged + str(vars(made)) + (submit.parent / "called").read_text()


@pytest.mark.parametrize("by", ["submit", "connection"])
def test_a_server_connection_is_refused_in_cluster_mode(
    submit: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_DB", '{"host": "db", "login": "me", "password": "qw/ertz"}')
    if by == "submit":
        made = operator(server="db", deploy_mode="cluster")
    else:
        yarn = '{"conn_type": "spark", "host": "yarn", "extra": {"deploy-mode": "cluster"}}'
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", yarn)
        made = operator(server="db")
    with pytest.raises(AirflowFailException, match=r"server\.password_file"):
        run(made)
    assert not (submit.parent / "called").exists()


def test_other_errors_of_the_provider_are_raised_unchanged(submit: Path) -> None:
    """A standalone cluster accepts no environment variables in cluster mode."""
    with pytest.raises(AirflowException, match="env_vars is not supported"):
        run(operator(deploy_mode="cluster", env_vars={"A": "b"}))
