"""Runs of the DAGs' tasks that ask the source server, with a stand-in for `binlake-task`."""

from __future__ import annotations

import json
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.capturing import differing
from tests.support.dag_run import Airflow
from tests.support.mysql import MySQLServer

PROGRAM = """#!/bin/sh
echo "$1 $BINLAKE_SERVER" >> {folder}/environment
echo "$@" >> {folder}/called
case "$1" in
{cases}
esac
"""
PASSWORD = "s3/cr:t@ w%rd"
WRITTEN = quote(PASSWORD, safe="")
URL = f"mysql://repl:{WRITTEN}@db.example.com:3307"
CONNECTION = {
    "conn_type": "mysql",
    "host": "db.example.com",
    "port": 3307,
    "login": "repl",
    "password": PASSWORD,
    "schema": "shop",
    "extra": {"charset": "utf8"},
}
BOTH = {"capture": True, "seed": True, "server": "shop_db"}
ENDINGS: dict[str, tuple[list[str], Mapping[str, Any]]] = {
    "all": ([], BOTH),
    "unseeded": (["seed) exit 3;;"], BOTH),
    "warned": (["seed) exit 3;;"], {**BOTH, "check": "warn"}),
    "uncaptured": (["capture) exit 2;;"], BOTH),
    "unread": (["seed) exit 2;;"], {"seed": True, "server": "shop_db"}),
    "elsewhere": ([], {"capture": True, "server": "no_such_connection", "retries": 0}),
}
"""How commands end, and what is asked for, by source."""
LAYERS = ("bronze", "silver", "gold", "maintenance")


@dataclass
class Ended:
    """Runs by source, what they called, and where Airflow keeps what it knows of them."""

    runs: dict[str, dict[str, Any]]
    folder: Path
    airflow: Airflow

    def states(self, name: str) -> dict[str, str]:
        return {task: state for task, _, state, _ in self.runs[name]["tasks"]}

    def tries(self, name: str) -> dict[str, int]:
        return {task: tries for task, _, _, tries in self.runs[name]["tasks"]}

    def lines(self, name: str, file: str) -> list[str]:
        return (self.folder / name / file).read_text().splitlines()


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """One run for each way to end, and two of verify; all in one process, which is quick."""
    folder = tmp_path_factory.mktemp("airflow")
    airflow = Airflow(folder, AIRFLOW_CONN_SHOP_DB=json.dumps(CONNECTION))
    for name, (cases, options) in ENDINGS.items():
        _source(airflow, folder / name, cases, options)
    asked = {"server": "shop_db", "verify": "@daily", "verify_wait": "90 minutes"}
    _source(airflow, folder / "equal", [], asked)
    _source(airflow, folder / "differs", ["verify) exit 3;;"], {**asked, "check": "warn"})
    dags = {name: f"binlake_{name}_replication" for name in ENDINGS}
    dags |= {name: f"binlake_{name}_verify" for name in ("equal", "differs")}
    found = airflow.run(*((dag, {}) for dag in dags.values()))
    return Ended(dict(zip(dags, found, strict=True)), folder, airflow)


def _source(
    airflow: Airflow, folder: Path, cases: list[str], options: Mapping[str, Any], **settings: Any
) -> None:
    folder.mkdir()
    program = folder / "binlake-task"
    program.write_text(PROGRAM.format(folder=folder, cases="\n".join(cases)))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    settings |= {
        "source": folder.name,
        "lake": "/nowhere",
        "airflow": {"command": str(program), **options},
    }
    (airflow.sources / f"{folder.name}.yml").write_text(json.dumps(settings))


def test_the_servers_tasks_come_first(ended: Ended) -> None:
    assert ended.runs["all"]["state"] == "success"
    conf = f"--conf={ended.airflow.sources / 'all.yml'}"
    assert ended.lines("all", "called") == [
        f"capture {conf} --log=json",
        f"seed {conf} --log=json",
        f"ingest {conf} --log=json",
        f"decode {conf} --log=json",
        f"apply {conf} --log=json",
        f"maintain {conf} --log=json",
        f"status --check {conf}",
    ]


def test_their_environment_alone_has_the_server(ended: Ended) -> None:
    lines = ended.lines("all", "environment")
    assert lines[:2] == [f"capture {URL}", f"seed {URL}"]
    assert [line.strip() for line in lines[2:]] == [
        "ingest",
        "decode",
        "apply",
        "maintain",
        "status",
    ]


def test_the_password_is_nowhere_else(ended: Ended) -> None:
    """Neither in Airflow's database (templates, XComs), its logs, nor in a program's arguments."""
    kept = [file.read_bytes() for file in ended.airflow.home.rglob("*") if file.is_file()]
    assert any(b"binlake_all_replication" in content for content in kept)
    called = [(ended.folder / name / "called").read_bytes() for name in ("all", "equal")]
    for content in [*kept, *called, ended.airflow.said.encode()]:
        assert PASSWORD.encode() not in content
        assert WRITTEN.encode() not in content


@pytest.mark.parametrize("name", ["unseeded", "unread"])
def test_a_seed_that_fails_holds_nothing_and_is_seen(ended: Ended, name: str) -> None:
    """At once: no retry makes a table readable, or settings right."""
    states = ended.states(name)
    assert (ended.runs[name]["state"], states["seed"]) == ("failed", "failed")
    assert {states[layer] for layer in LAYERS} == {"success"}
    assert states["check"] == "upstream_failed"
    assert ended.tries(name)["seed"] == 1


def test_a_seed_that_fails_may_be_a_warning(ended: Ended) -> None:
    states = ended.states("warned")
    assert (ended.runs["warned"]["state"], states["seed"]) == ("success", "skipped")
    assert {states[task] for task in (*LAYERS, "check")} == {"success"}


@pytest.mark.parametrize("name", ["uncaptured", "elsewhere"])
def test_what_is_landed_is_replicated_behind_a_capture_that_fails(ended: Ended, name: str) -> None:
    """While nothing is seeded: the log from before would not be there."""
    states = ended.states(name)
    assert (ended.runs[name]["state"], states["capture"]) == ("failed", "failed")
    assert {states[layer] for layer in LAYERS} == {"success"}
    assert states["check"] == states.get("seed", "upstream_failed") == "upstream_failed"
    assert "seed" not in [line.split()[0] for line in ended.lines(name, "called")]


def test_a_difference_fails_at_once_whatever_check_says(ended: Ended) -> None:
    assert ended.states("equal") == {"verify": "success"}
    assert ended.states("differs") == {"verify": "failed"}
    assert ended.tries("differs") == {"verify": 1}
    conf = f"--conf={ended.airflow.sources / 'differs.yml'}"
    assert ended.lines("differs", "called") == [f"verify {conf} --against=server --wait=5400"]
    assert ended.lines("differs", "environment") == [f"verify {URL}"]
    assert "Gold is not what the server has" in ended.airflow.said


def test_a_connection_is_all_that_a_capture_needs(mysql: MySQLServer, tmp_path: Path) -> None:
    """The real program, a real server, and a user with a password that has to be encoded."""
    mysql.reset_logs()
    mysql.execute(
        "DROP USER IF EXISTS repl;"
        f" CREATE USER repl IDENTIFIED BY '{PASSWORD}';"
        " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO repl"
    )
    connection = {**CONNECTION, "host": "127.0.0.1", "port": mysql.port}
    airflow = Airflow(tmp_path, AIRFLOW_CONN_SHOP_DB=json.dumps(connection))
    task = f'"{sys.executable}" -c "from pipeline.task import main; main()" "$@"'
    _source(
        airflow,
        tmp_path / "shop",
        [f"capture) {task}; exit $?;;"],
        {"capture": True, "server": "shop_db", "retries": 0},
        capture={"to": str(tmp_path / "landed")},
    )
    (run,) = airflow.run(("binlake_shop_replication", {}))
    assert run["state"] == "success"
    assert not differing(mysql, tmp_path / "landed")
    assert "Captured up to" in airflow.said
    assert PASSWORD not in airflow.said
    assert WRITTEN not in airflow.said
