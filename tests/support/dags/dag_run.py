"""Run DAGs with Airflow's own runner, in a separate process with its own Airflow home.

`python -m tests.support.dags.dag_run '[["binlake_shop_replication", {}], …]'` runs one after the
other, in the Airflow home of the environment, and prints the result of each as a JSON object.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import DEFAULT, patch

ROOT = Path(__file__).parents[3]
MARK = "dag_run: "
"""Precedes each object, since Airflow also prints."""


class Airflow:
    """An Airflow home with its own database, and a folder of sources."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.sources = folder / "sources"
        self.sources.mkdir(parents=True)
        self.home = folder / "home"
        self.output = ""
        """The output of the last runs, including their tasks' logs."""
        self._environment = {
            **os.environ,
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "BINLAKE_SOURCES": str(self.sources),
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "dags")]),
            **environment,
        }

    def run(self, *runs: tuple[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Run DAGs with their parameters; return the state, tasks and events of each run."""
        command = [sys.executable, "-m", "tests.support.dags.dag_run", json.dumps(runs)]
        ran = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True
        )
        self.output = ran.stdout + ran.stderr
        lines = [line for line in ran.stdout.splitlines() if line.startswith(MARK)]
        # Pytest shows it if the test fails.
        print(ran.stdout[-6000:], ran.stderr[-2000:])
        assert len(lines) == len(runs), "Airflow itself failed"
        return [json.loads(line.removeprefix(MARK)) for line in lines]


def main(runs: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Create the database, then run the DAGs."""
    from airflow.dag_processing import dagbag
    from airflow.utils.db import initdb

    initdb()
    bag = dagbag.DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    for number, (dag_id, conf) in enumerate(runs):
        if number == 1:
            # In each call, `DAG.test` of Airflow 3.3.2 parses and stores all DAGs again, for those
            # that are triggered. They have not changed, and it takes longer than a run.
            patch.multiple(dagbag, BundleDagBag=DEFAULT, sync_bag_to_db=DEFAULT).start()
        run = bag.dags[dag_id].test(run_conf=conf)
        print(MARK + json.dumps(_ended(run)), flush=True)


def _ended(run: Any) -> dict[str, Any]:
    """Return the states of the run and its tasks, by start time, and the events of its assets."""
    from airflow.models.asset import AssetEvent
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        tasks = session.scalars(
            select(TaskInstance)
            .where(TaskInstance.run_id == run.run_id, TaskInstance.dag_id == run.dag_id)
            .order_by(TaskInstance.start_date, TaskInstance.map_index)
        ).all()
        events = session.scalars(
            select(AssetEvent).where(AssetEvent.source_run_id == run.run_id)
        ).all()
        return {
            "state": str(run.state),
            "tasks": [
                [task.task_id, task.map_index, str(task.state), task.try_number] for task in tasks
            ],
            "events": [[event.asset.name, event.extra] for event in events],
        }


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
