"""Runs DAGs with Airflow's own runner, in a process and an Airflow of their own.

`python -m tests.support.dags.dag_run '[["binlake_shop_replication", {}], …]'` runs one after the
other, in the Airflow that the environment names, and prints a JSON object for each: how it ended.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
MARK = "dag_run: "
"""Before each object, since Airflow prints too."""


class Airflow:
    """A home with a database of its own, and a folder of sources."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.sources = folder / "sources"
        self.sources.mkdir(parents=True)
        self.home = folder / "home"
        self.said = ""
        """All that the last runs printed, their tasks' logs too."""
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
        """How each run of a DAG, with its parameters, ended: its state, tasks, and events."""
        command = [sys.executable, "-m", "tests.support.dags.dag_run", json.dumps(runs)]
        ran = subprocess.run(
            command, cwd=ROOT, env=self._environment, capture_output=True, text=True
        )
        self.said = ran.stdout + ran.stderr
        lines = [line for line in ran.stdout.splitlines() if line.startswith(MARK)]
        # pytest shows it with a test that fails.
        print(ran.stdout[-6000:], ran.stderr[-2000:])
        assert len(lines) == len(runs), "Airflow itself failed"
        return [json.loads(line.removeprefix(MARK)) for line in lines]


def main(runs: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """Make the database, then run."""
    from airflow.dag_processing.dagbag import DagBag
    from airflow.utils.db import initdb

    initdb()
    bag = DagBag(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    for dag_id, conf in runs:
        run = bag.dags[dag_id].test(run_conf=conf)
        print(MARK + json.dumps(_ended(run)), flush=True)


def _ended(run: Any) -> dict[str, Any]:
    """The state of a run, of its tasks in the order of their starts, and its assets' events."""
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
