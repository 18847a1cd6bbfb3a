"""Runs of a source's DAGs that are asked for at once, by Airflow's scheduler, with its pool.

A stand-in for Binlake writes down when each command began and ended.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.standalone_airflow import StandaloneAirflow

PROGRAM = """#!/bin/sh
echo "begin $1" >> {folder}/called
sleep 1
echo "end $1" >> {folder}/called
"""
POOL = {"slots": 1, "description": "", "include_deferred": True}
LAYERS = ["ingest", "decode", "apply", "maintain", "status"]


@pytest.mark.long
def test_runs_at_once_wait_for_each_other_and_double_nothing(tmp_path: Path) -> None:
    airflow = StandaloneAirflow(tmp_path / "airflow")
    program = tmp_path / "binlake-task"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    options = {"command": str(program), "schedule": None, "retries": 0}
    settings = {"source": "twice", "lake": "/nowhere", "airflow": options}
    (airflow.sources / "twice.yml").write_text(json.dumps(settings))
    runs = {
        "first": "binlake_twice_replication",
        "second": "binlake_twice_replication",
        "beside": "binlake_twice_maintenance",
    }
    with airflow.running({"binlake_twice": POOL}):
        for run, dag in runs.items():
            airflow.trigger(dag, run)
        airflow.wait_for(*runs)
    assert airflow.states() == dict.fromkeys(runs, "success")

    called = [line.split() for line in (tmp_path / "called").read_text().splitlines()]
    assert [what for what, _ in called] == ["begin", "end"] * (len(called) // 2)
    commands = [command for _, command in called[::2]]
    assert [command for _, command in called[1::2]] == commands, "no two ran at once"
    assert sorted(commands) == sorted([*LAYERS, *LAYERS, "maintain"])
    of_replications = [command for command in commands if command != "maintain"]
    layers = [command for command in LAYERS if command != "maintain"]
    assert of_replications == layers * 2, "the second run began when the first had ended"
