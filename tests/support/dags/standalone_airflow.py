"""A complete Airflow as `make airflow` starts it: a scheduler, an executor, an API server.

Unlike Airflow's test runner, it has pools with slots and runs that wait for each other.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from demo.in_airflow import REPOSITORY, settings
from tests.support.servers.server import free_port
from tests.support.spark.spark_cluster import until

AIRFLOW = str(Path(sys.executable).parent / "airflow")
START_SECONDS = RUN_SECONDS = 180.0
STOP_SECONDS = 30.0


class StandaloneAirflow:
    """An Airflow in a folder, whose sources are files in `sources`."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.sources = self.home / "sources"
        self.sources.mkdir(parents=True)
        self._log = folder / "airflow.log"
        environment = settings(self.home, str(free_port()))
        self.url = environment["AIRFLOW__API__BASE_URL"]
        self._environment = {
            **os.environ,
            **environment,
            # Its two log servers: another Airflow may use their default ports.
            "AIRFLOW__LOGGING__WORKER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__LOGGING__TRIGGER_LOG_SERVER_PORT": str(free_port()),
            "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "dags")]),
        }

    @contextmanager
    def running(self, pools: Mapping[str, Any]) -> Iterator[None]:
        """Run Airflow with these pools until the end of the `with`; start once all DAGs are
        parsed and the server, which tasks report to, answers.
        """
        file = self.home / "pools.json"
        file.write_text(json.dumps(pools))
        self.command("db", "migrate")
        self.command("pools", "import", str(file))
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [AIRFLOW, "standalone"],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            until(self._has_dags, "Airflow knows the DAGs", patience=START_SECONDS)
            # A task that starts earlier fails.
            until(self._answers, "Airflow's server answers", patience=START_SECONDS)
            yield
        except TimeoutError as error:
            raise AssertionError(self._log.read_text(errors="replace")[-4000:]) from error
        finally:
            _end(process)

    def command(self, *arguments: str) -> None:
        """Run `airflow`; raise CalledProcessError with its output if it fails."""
        subprocess.run(
            [AIRFLOW, *arguments], env=self._environment, check=True, capture_output=True
        )

    def trigger(self, dag: str, run: str) -> None:
        """Trigger a run of a DAG, with this id."""
        self.command("dags", "trigger", dag, "--run-id", run)

    def states(self) -> dict[str, str]:
        """Return the state of each run, by id."""
        return {run: str(state) for run, state in self._asked("SELECT run_id, state FROM dag_run")}

    def wait_for(self, *runs: str) -> None:
        """Wait for all these runs to end; raise TimeoutError if they do not."""
        until(
            lambda: {self.states().get(run) for run in runs} <= {"success", "failed"},
            f"{', '.join(runs)} end",
            patience=RUN_SECONDS,
        )

    def _has_dags(self) -> bool:
        found = {dag for (dag,) in self._asked("SELECT dag_id FROM dag")}
        wanted = {f"binlake_{file.stem}_replication" for file in self.sources.glob("*.yml")}
        return wanted <= found

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.url}/api/v2/monitor/health", timeout=10):
                return True
        except OSError:
            return False

    def _asked(self, query: str) -> list[tuple[Any, ...]]:
        """Query the database directly: an `airflow` command takes seconds."""
        with closing(sqlite3.connect(f"file:{self.home}/airflow.db?mode=ro", uri=True)) as database:
            return database.execute(query).fetchall()


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and all its children, as Ctrl-C does, or by force."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
