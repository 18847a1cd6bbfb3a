"""Runs of the DAGs with Airflow's own runner and a stand-in for `binlake-task`: how tasks end."""

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

from tests.support.dags.dag_run import Airflow
from tests.support.servers.mysql import MySQLServer
from tests.support.source.capturing import differing

PROGRAM = """#!/bin/sh
echo "$1 $BINLAKE_SERVER" >> {folder}/environment
echo "$@" >> {folder}/called
case "$1" in
{cases}
esac
"""
_TASK = "from pipeline.cli.databricks_task import main; main()"
REAL = f"""capture) "{sys.executable}" -c "{_TASK}" "$@"; exit $?;;"""
"""The real program."""
DONE = '{"event": "run_finished", "outcome": "done", "cut_lsn": 7, "message": "apply finished"}'
NOTHING = '{"event": "run_finished", "outcome": "nothing_new", "message": "nothing new"}'
WRONG = '{"event": "failed", "message": "types.time: the tables were made with text."}'
NEW = f"run | apply) echo '{DONE}';;"

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
VERIFIED = {"server": "shop_db", "verify": "@daily", "verify_wait": "90 minutes"}
SOON = {"retry_delay": "1 second"}
LAYERED = {"task_per_layer": True}
PAGE = "/srv/lake.html"
REPLICATED: dict[str, tuple[list[str], Mapping[str, Any]]] = {
    "new": ([NEW], {}),
    "nothing": ([f"run) echo '{NOTHING}';;"], {}),
    "wrong": ([f"run) echo '{WRONG}'; exit 2;;"], {**SOON, "report": PAGE}),
    "held": ([NEW, "status) exit 3;;"], {}),
    "held_warned": ([NEW, "status) exit 3;;"], {"check": "warn"}),
    # Fails once: it leaves a marker in its working folder.
    "retried": (
        ["run) test -e {folder}/failed || { touch {folder}/failed; exit 1; }", f"echo '{DONE}';;"],
        SOON,
    ),
    "layered": ([NEW], LAYERED),
    "layered_wrong": ([f"decode) echo '{WRONG}'; exit 2;;"], LAYERED | SOON),
    "all": ([], BOTH),
    "unseeded": (["seed) exit 3;;"], BOTH),
    "warned": (["seed) exit 3;;"], {**BOTH, "check": "warn"}),
    "uncaptured": (["capture) exit 2;;"], BOTH),
    "unread": (["seed) exit 2;;"], {"seed": True, "server": "shop_db"}),
    "elsewhere": ([], {"capture": True, "server": "no_such_connection", "retries": 0}),
    "captured": ([REAL], {"capture": True, "server": "real_db", "retries": 0}),
}
"""By source: the commands' exit codes, and the DAG run's parameters."""
COMPARED: dict[str, tuple[list[str], Mapping[str, Any]]] = {
    "equal": ([], VERIFIED),
    "differs": (["verify) exit 3;;"], {**VERIFIED, "check": "warn"}),
}
"""The same for runs of verify."""
REFRESH = {"until": "binlog.000002:4", "full_refresh": True}
EARLY = '{"event": "failed", "message": "no lake.", "error_type": "NothingReplicatedError"}'
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "backfill": (
        "binlake_new_backfill",
        {
            "binlogs": ["/archive/a", "/archive/b"],
            "since": "2026-01-01T00:00:00Z",
            "until": "2026-01-03T00:00:00Z",
            "every": 24,
        },
    ),
    "params": ("binlake_new_replication", REFRESH),
    "maintenance": ("binlake_new_maintenance", {"dry_run": True}),
    "layered_params": ("binlake_layered_replication", REFRESH),
    "too_early": ("binlake_early_maintenance", {}),
    "too_early_to_verify": ("binlake_early_verify", {}),
}
"""More runs: the DAG, and its parameters."""


CALLS = {
    "new": {"new": 2, "backfill": 5, "params": 2, "maintenance": 1},
    "layered": {"layered": 4, "layered_params": 4},
}
"""How many commands each of a source's runs calls, in order."""


@dataclass
class Ended:
    """Runs by name, the commands they called, and the files of Airflow."""

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
def ended(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Run the DAGs once for each way to end, all in one process, which is faster.

    One run captures from a real server, as a user whose password has to be encoded.
    """
    mysql.reset_logs()
    mysql.execute(
        "DROP USER IF EXISTS repl;"
        f" CREATE USER repl IDENTIFIED BY '{PASSWORD}';"
        " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO repl"
    )
    real = {**CONNECTION, "host": "127.0.0.1", "port": mysql.port}
    folder = tmp_path_factory.mktemp("airflow")
    airflow = Airflow(
        folder,
        AIRFLOW_CONN_SHOP_DB=json.dumps(CONNECTION),
        AIRFLOW_CONN_REAL_DB=json.dumps(real),
    )
    early = ([f"maintain|verify) echo '{EARLY}'; exit 2;;"], VERIFIED)
    for name, (cases, options) in {**REPLICATED, **COMPARED, "early": early}.items():
        _source(airflow, folder / name, cases, options)
    runs: dict[str, tuple[str, dict[str, Any]]] = {
        **{name: (f"binlake_{name}_replication", {}) for name in REPLICATED},
        **OTHERS,
        **{name: (f"binlake_{name}_verify", {}) for name in COMPARED},
    }
    found = dict(zip(runs, airflow.run(*runs.values()), strict=True))
    for source, counts in CALLS.items():
        called = _called(folder / source / "called")
        for name, count in counts.items():
            found[name]["called"], called = called[:count], called[count:]
        assert not called
    return Ended(found, folder, airflow)


def _called(file: Path) -> list[list[str]]:
    """Return the words of each command except for the settings file, which all share."""
    lines = [line.split() for line in file.read_text().splitlines()]
    assert len({word for line in lines for word in line if word.startswith("--conf=")}) == 1
    return [[word for word in line if not word.startswith("--conf=")] for line in lines]


def _source(airflow: Airflow, folder: Path, cases: list[str], options: Mapping[str, Any]) -> None:
    folder.mkdir()
    program = folder / "binlake-task"
    program.write_text(
        PROGRAM.format(folder=folder, cases="\n".join(cases).replace("{folder}", str(folder)))
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    settings = {
        "source": folder.name,
        "lake": "/nowhere",
        "airflow": {"command": str(program), **options},
        "capture": {"to": str(folder / "landed")},
    }
    (airflow.sources / f"{folder.name}.yml").write_text(json.dumps(settings))


def test_new_data_emits_asset_events(ended: Ended) -> None:
    run = ended.runs["new"]
    assert run["state"] == "success"
    assert set(ended.states("new").values()) == {"success"}
    assert run["events"] == [["binlake_new_gold", {"outcome": "done", "cut_lsn": 7, "attempt": 1}]]


def test_nothing_new_emits_no_asset_event(ended: Ended) -> None:
    run = ended.runs["nothing"]
    assert (run["state"], run["events"]) == ("success", [])
    assert ended.states("nothing")["published"] == "skipped"
    assert ended.states("nothing")["check"] == "success"


def test_a_wrong_configuration_fails_at_once(ended: Ended) -> None:
    """It is not retried, although three retries are configured, and nothing after it runs except
    for the page of the lake, which shows the failure."""
    run = ended.runs["wrong"]
    assert (run["state"], run["events"]) == ("failed", [])
    unstarted = dict.fromkeys(("published", "check"), "upstream_failed")
    assert ended.states("wrong") == {"run": "failed", "report": "success", **unstarted}
    assert ended.tries("wrong")["run"] == 1
    conf = f"--conf={ended.airflow.sources / 'wrong.yml'}"
    commands = [f"run {conf} --log=json", f"report {conf} --html={PAGE}"]
    assert ended.lines("wrong", "called") == commands
    states = ended.states("layered_wrong")
    assert (
        states == {"bronze": "success", "silver": "failed", "gold": "upstream_failed"} | unstarted
    )
    assert ended.tries("layered_wrong")["silver"] == 1


def test_a_failed_task_is_retried_and_the_rest_continues(
    ended: Ended,
) -> None:
    run = ended.runs["retried"]
    assert run["state"] == "success"
    tries = ended.tries("retried")
    assert (tries.pop("run"), set(tries.values())) == (2, {1})
    assert [extra["outcome"] for _, extra in run["events"]] == ["done"]


def test_held_tables_fail_only_the_check(ended: Ended) -> None:
    run = ended.runs["held"]
    assert run["state"] == "failed"
    assert len(run["events"]) == 1
    assert {task for task, state in ended.states("held").items() if state != "success"} == {"check"}


def test_held_tables_may_be_a_warning(ended: Ended) -> None:
    run = ended.runs["held_warned"]
    assert run["state"] == "success"
    assert ended.states("held_warned")["check"] == "skipped"


def test_a_backfill_takes_all_pool_slots_and_runs_in_steps(ended: Ended) -> None:
    run = ended.runs["backfill"]
    assert run["state"] == "success"
    assert len(run["events"]) == 1
    # Airflow's scheduler takes mapped tasks in order; its test runner, in any.
    *before, one, other, last = run["called"]
    assert [*before, *sorted([one, other]), last] == [
        ["ingest", "--log=json", "--binlogs=/archive/a", "--binlogs=/archive/b"],
        ["decode", "--log=json"],
        ["apply", "--log=json", "--until=2026-01-02T00:00:00+00:00"],
        ["apply", "--log=json", "--until=2026-01-03T00:00:00+00:00"],
        ["status", "--check"],
    ]


def test_parameters_reach_the_commands(ended: Ended) -> None:
    refresh = ["--log=json", "--until=binlog.000002:4", "--full-refresh"]
    check = ["status", "--check"]
    assert ended.runs["params"]["called"] == [["run", *refresh], check]
    assert ended.runs["maintenance"]["called"] == [["maintain", "--log=json", "--dry-run"]]
    layers = [["ingest", "--log=json"], ["decode", *refresh], ["apply", *refresh], check]
    assert ended.runs["layered_params"]["called"] == layers


def test_one_task_runs_all_layers_unless_each_is_to_have_its_own(ended: Ended) -> None:
    names = [command for command, *_ in ended.runs["new"]["called"]]
    assert names == ["run", "status"]
    names = [command for command, *_ in ended.runs["layered"]["called"]]
    assert names == ["ingest", "decode", "apply", "status"]
    assert ended.runs["layered"]["state"] == "success"
    (event,) = ended.runs["layered"]["events"]
    assert event == ["binlake_layered_gold", {"outcome": "done", "cut_lsn": 7, "attempt": 1}]


@pytest.mark.parametrize(
    ("name", "task"), [("too_early", "maintenance"), ("too_early_to_verify", "verify")]
)
def test_other_dags_wait_for_the_first_replication_without_a_failure(
    name: str, task: str, ended: Ended
) -> None:
    assert ended.runs[name]["state"] == "success"
    assert ended.states(name) == {task: "skipped"}


def test_server_tasks_run_first(ended: Ended) -> None:
    assert ended.runs["all"]["state"] == "success"
    conf = f"--conf={ended.airflow.sources / 'all.yml'}"
    assert ended.lines("all", "called") == [
        f"capture {conf} --log=json",
        f"seed {conf} --log=json",
        f"run {conf} --log=json",
        f"status --check {conf}",
    ]


def test_only_server_tasks_have_the_connection_in_their_environment(ended: Ended) -> None:
    lines = ended.lines("all", "environment")
    assert lines[:2] == [f"capture {URL}", f"seed {URL}"]
    assert [line.strip() for line in lines[2:]] == ["run", "status"]


def test_the_password_is_nowhere_else(ended: Ended) -> None:
    """Not in Airflow's database (templates, XComs), its logs, or a program's arguments."""
    kept = [file.read_bytes() for file in ended.airflow.home.rglob("*") if file.is_file()]
    assert any(b"binlake_all_replication" in content for content in kept)
    called = [
        (ended.folder / name / "called").read_bytes() for name in ("all", "equal", "captured")
    ]
    for content in [*kept, *called, ended.airflow.output.encode()]:
        assert PASSWORD.encode() not in content
        assert WRITTEN.encode() not in content


@pytest.mark.parametrize("name", ["unseeded", "unread"])
def test_a_failed_seed_blocks_nothing_and_fails_the_run(ended: Ended, name: str) -> None:
    """It fails at once: no retry makes a table readable or fixes settings."""
    states = ended.states(name)
    assert (ended.runs[name]["state"], states["seed"]) == ("failed", "failed")
    assert states["run"] == "success"
    assert states["check"] == "upstream_failed"
    assert ended.tries(name)["seed"] == 1


def test_a_failed_seed_may_be_a_warning(ended: Ended) -> None:
    states = ended.states("warned")
    assert (ended.runs["warned"]["state"], states["seed"]) == ("success", "skipped")
    assert (states["run"], states["check"]) == ("success", "success")


@pytest.mark.parametrize("name", ["uncaptured", "elsewhere"])
def test_landed_logs_are_replicated_after_a_failed_capture(ended: Ended, name: str) -> None:
    """As nothing is seeded: after a seed, the log from before it would be missing."""
    states = ended.states(name)
    assert (ended.runs[name]["state"], states["capture"]) == ("failed", "failed")
    assert states["run"] == "success"
    assert states["check"] == states.get("seed", "upstream_failed") == "upstream_failed"
    assert "seed" not in [line.split()[0] for line in ended.lines(name, "called")]


def test_a_difference_fails_at_once_whatever_the_check_is(ended: Ended) -> None:
    assert ended.states("equal") == {"verify": "success"}
    assert ended.states("differs") == {"verify": "failed"}
    assert ended.tries("differs") == {"verify": 1}
    conf = f"--conf={ended.airflow.sources / 'differs.yml'}"
    assert ended.lines("differs", "called") == [
        f"verify {conf} --log=json --against=server --wait=5400"
    ]
    assert ended.lines("differs", "environment") == [f"verify {URL}"]
    assert "Gold differs from the server" in ended.airflow.output


def test_a_capture_needs_only_a_connection(ended: Ended, mysql: MySQLServer) -> None:
    """The real program, with a real server."""
    assert ended.runs["captured"]["state"] == "success"
    assert not differing(mysql, ended.folder / "captured" / "landed")
    assert "Captured up to" in ended.airflow.output
