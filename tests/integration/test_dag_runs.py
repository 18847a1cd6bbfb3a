"""Runs of the DAGs with Airflow's own runner, with a stand-in for `binlake-task`: how tasks end."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.support.dag_run import Airflow

PROGRAM = """#!/bin/sh
echo "$@" >> {folder}/called
case "$1 $2 $*" in
{cases}
esac
"""
DONE = '{"event": "run_finished", "outcome": "done", "cut_lsn": 7, "message": "apply is done"}'
NOTHING = '{"event": "run_finished", "outcome": "nothing_new", "message": "nothing new"}'
WRONG = '{"event": "failed", "message": "types.time: the tables were made with text."}'

ENDINGS = {
    "new": [f"apply*) echo '{DONE}';;"],
    "nothing": [f"apply*) echo '{NOTHING}';;"],
    "wrong": [f"decode*) echo '{WRONG}'; exit 2;;"],
    "held": [f"apply*) echo '{DONE}';;", "status*) exit 3;;"],
    "warned": [f"apply*) echo '{DONE}';;", "status*) exit 3;;"],
    # Once: what it leaves behind is in the folder where it runs.
    "retried": [
        "decode*) test -e {folder}/failed || { touch {folder}/failed; exit 1; };;",
        f"apply*) echo '{DONE}';;",
    ],
}
"""How commands end, by source."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """One run for each way to end, and one of the backfill; all in one process, which is quick."""
    folder = tmp_path_factory.mktemp("airflow")
    airflow = Airflow(folder)
    for name, cases in ENDINGS.items():
        _source(airflow, folder / name, name, cases)
    backfill = {
        "binlogs": ["/archive/a", "/archive/b"],
        "since": "2026-01-01T00:00:00Z",
        "until": "2026-01-03T00:00:00Z",
        "every": 24,
    }
    runs: list[tuple[str, dict[str, Any]]] = [
        *((f"binlake_{name}_replication", {}) for name in ENDINGS),
        ("binlake_new_backfill", backfill),
        ("binlake_new_replication", {"until": "binlog.000002:4", "full_refresh": True}),
        ("binlake_new_maintenance", {"dry_run": True}),
    ]
    names = [*ENDINGS, "backfill", "params", "maintenance"]
    found = dict(zip(names, airflow.run(*runs), strict=True))
    called = _called(folder / "new" / "called")
    for name, count in {"new": 5, "backfill": 5, "params": 5, "maintenance": 1}.items():
        found[name]["called"], called = called[:count], called[count:]
    assert not called
    return found


def _called(file: Path) -> list[list[str]]:
    """The words of each command but for the settings' file, which is the same in all."""
    lines = [line.split() for line in file.read_text().splitlines()]
    assert len({word for line in lines for word in line if word.startswith("--conf=")}) == 1
    return [[word for word in line if not word.startswith("--conf=")] for line in lines]


def _source(airflow: Airflow, folder: Path, name: str, cases: list[str]) -> None:
    folder.mkdir()
    program = folder / "binlake-task"
    program.write_text(
        PROGRAM.format(folder=folder, cases="\n".join(cases).replace("{folder}", str(folder)))
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    options = {
        "command": str(program),
        "check": "warn" if name == "warned" else "fail",
        "retry_delay": "1 second",
    }
    settings = {"source": name, "lake": "/nowhere", "airflow": options}
    (airflow.sources / f"{name}.yml").write_text(json.dumps(settings))


def states(run: dict[str, Any]) -> dict[str, str]:
    return {task: state for task, _, state, _ in run["tasks"]}


def test_what_is_new_is_told(ended: dict[str, dict[str, Any]]) -> None:
    run = ended["new"]
    assert run["state"] == "success"
    assert set(states(run).values()) == {"success"}
    assert run["events"] == [["binlake_new_gold", {"outcome": "done", "cut_lsn": 7, "attempt": 1}]]


def test_nothing_new_is_not_told(ended: dict[str, dict[str, Any]]) -> None:
    run = ended["nothing"]
    assert (run["state"], run["events"]) == ("success", [])
    assert states(run)["published"] == "skipped"
    assert states(run)["check"] == "success"


def test_a_wrong_configuration_fails_at_once(ended: dict[str, dict[str, Any]]) -> None:
    """Not up for retry, although its retries are three; nothing behind it runs."""
    run = ended["wrong"]
    assert (run["state"], run["events"]) == ("failed", [])
    assert states(run)["silver"] == "failed"
    assert {states(run)[task] for task in ("gold", "published", "maintenance", "check")} == {
        "upstream_failed"
    }
    assert [tries for task, _, _, tries in run["tasks"] if task == "silver"] == [1]


def test_a_task_that_fails_is_tried_again_and_the_rest_goes_on(
    ended: dict[str, dict[str, Any]],
) -> None:
    run = ended["retried"]
    assert run["state"] == "success"
    tries = {task: number for task, _, _, number in run["tasks"]}
    assert (tries.pop("silver"), set(tries.values())) == (2, {1})
    assert [told["outcome"] for _, told in run["events"]] == ["done"]


def test_something_held_fails_the_check_alone(ended: dict[str, dict[str, Any]]) -> None:
    run = ended["held"]
    assert run["state"] == "failed"
    assert len(run["events"]) == 1
    assert {task for task, state in states(run).items() if state != "success"} == {"check"}


def test_something_held_may_be_a_warning(ended: dict[str, dict[str, Any]]) -> None:
    run = ended["warned"]
    assert run["state"] == "success"
    assert states(run)["check"] == "skipped"


def test_a_backfill_takes_all_places_at_once_and_steps(ended: dict[str, dict[str, Any]]) -> None:
    run = ended["backfill"]
    assert run["state"] == "success"
    assert len(run["events"]) == 1
    # Airflow's scheduler takes mapped tasks in order; its runner for tests, in any.
    *before, one, other, last = run["called"]
    assert [*before, *sorted([one, other]), last] == [
        ["ingest", "--log=json", "--binlogs=/archive/a", "--binlogs=/archive/b"],
        ["decode", "--log=json"],
        ["apply", "--log=json", "--until=2026-01-02T00:00:00+00:00"],
        ["apply", "--log=json", "--until=2026-01-03T00:00:00+00:00"],
        ["status", "--check"],
    ]


def test_parameters_reach_the_commands(ended: dict[str, dict[str, Any]]) -> None:
    assert ended["params"]["called"] == [
        ["ingest", "--log=json"],
        ["decode", "--log=json", "--until=binlog.000002:4", "--full-refresh"],
        ["apply", "--log=json", "--until=binlog.000002:4", "--full-refresh"],
        ["maintain", "--log=json"],
        ["status", "--check"],
    ]
    assert ended["maintenance"]["called"] == [["maintain", "--log=json", "--dry-run"]]
