"""Concurrent runs of a source's DAGs by Airflow's scheduler, with its pool.

A stand-in for Binlake records when each command begins and ends.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.support.dags.standalone_airflow import StandaloneAirflow
from tests.support.spark.spark_cluster import until

PROGRAM = """#!/bin/sh
echo "begin $1" >> {folder}/called
while ! test -e {folder}/all_asked_for; do sleep 0.1; done
echo "end $1" >> {folder}/called
"""
PATIENCE = 8.0
"""Seconds in which Airflow, which schedules every second, would start anything not blocked."""
POOL = {"slots": 1, "description": "", "include_deferred": True}
LAYERS = ["ingest", "decode", "apply", "status"]


@pytest.mark.long
def test_concurrent_runs_wait_for_each_other_and_repeat_nothing(tmp_path: Path) -> None:
    airflow = StandaloneAirflow(tmp_path / "airflow")
    program = tmp_path / "binlake-task"
    program.write_text(PROGRAM.format(folder=tmp_path))
    program.chmod(0o755)
    options = {"command": str(program), "retries": 0, "task_per_layer": True}
    options |= {"schedule": None, "maintenance": None}
    settings = {"source": "twice", "lake": "/nowhere", "airflow": options}
    (airflow.sources / "twice.yml").write_text(json.dumps(settings))
    runs = {
        "first": "binlake_twice_replication",
        "second": "binlake_twice_replication",
        "beside": "binlake_twice_maintenance",
    }
    called = tmp_path / "called"
    with airflow.running({"binlake_twice": POOL}):
        airflow.trigger(runs["first"], "first")
        until(called.exists, "the first task begins")
        airflow.trigger(runs["second"], "second")
        airflow.trigger(runs["beside"], "beside")
        until(lambda: airflow.states().get("beside") == "running", "the run beside it begins")
        time.sleep(PATIENCE)
        assert airflow.states() == {"first": "running", "second": "queued", "beside": "running"}
        assert called.read_text().splitlines() == ["begin ingest"], "all others wait"
        (tmp_path / "all_asked_for").touch()
        airflow.wait_for(*runs)
    assert airflow.states() == dict.fromkeys(runs, "success")

    lines = [line.split() for line in called.read_text().splitlines()]
    assert [what for what, _ in lines] == ["begin", "end"] * (len(lines) // 2)
    commands = [command for _, command in lines[::2]]
    assert [command for _, command in lines[1::2]] == commands, "no two ran at once"
    assert commands.pop(1) == "maintain", "maintenance has the next slot"
    assert commands == LAYERS * 2, "the second run began when the first had ended"
