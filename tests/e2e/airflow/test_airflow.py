"""The replication DAG on recorded binlogs, with Airflow's own runner and real spark-submits."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import binlake
from demo.show import show_figures
from pipeline.run import read_status
from pipeline.settings import Settings
from pipeline.spark.jars import delta_jars
from pipeline.spark.java import java_home
from tests.support.dags.dag_run import Airflow
from tests.support.spark.cheap_spark import JAVA, LOCAL_FILES
from tests.support.spark.no_spark import NO_SPARK

DEMO = Path(__file__).parents[3] / "demo"
TASKS = ["run", "check"]
SUBMIT_CONF = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.ui.enabled": "false",
    **LOCAL_FILES,
}
"""Settings for a cheaper start of Java, with less memory; all else is as users have it."""


@pytest.fixture(scope="module")
def settings_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the settings of a source that is replicated through a Spark connection."""
    return tmp_path_factory.mktemp("airflow") / "sources" / "shop.yml"


@pytest.fixture(scope="module")
def ended(settings_file: Path) -> dict[str, Any]:
    folder = settings_file.parents[1]
    java = java_home()
    airflow = Airflow(
        folder,
        AIRFLOW_CONN_SPARK_HERE='{"conn_type": "spark", "host": "local[2]"}',
        JAVA_HOME=str(java),
        SPARK_LAUNCHER_OPTS=JAVA,
        # For spark-submit, and the Python that it starts.
        PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    )
    jars = ",".join(str(jar) for jar in delta_jars(java, {}))
    settings = {
        "source": "shop",
        "binlogs": str(DEMO / "binlogs"),
        "lake": str(folder / "lake"),
        "airflow": {
            "connection": "spark_here",
            "submit": {"jars": jars, "driver_memory": "1g", "conf": SUBMIT_CONF},
            "retries": 0,
        },
    }
    settings_file.write_text(json.dumps(settings))
    return airflow.run(("binlake_shop_replication", {}))[0]


def test_every_task_succeeds_in_order(ended: dict[str, Any]) -> None:
    assert ended["state"] == "success"
    tasks = {task: state for task, _, state, _ in ended["tasks"]}
    assert set(tasks.values()) == {"success"}
    assert [task for task in tasks if task != "published"] == TASKS


def test_gold_equals_the_server(ended: dict[str, Any], settings_file: Path) -> None:
    assert ended["state"] == "success"
    gold = binlake.read(Settings.load(settings_file), engine="arrow")
    assert show_figures(gold, DEMO / "expected.json", Console(quiet=True))


def test_the_asset_event_has_the_published_snapshot(
    ended: dict[str, Any], settings_file: Path
) -> None:
    status = read_status(NO_SPARK, Settings.load(settings_file))
    [(asset, extra)] = ended["events"]
    assert asset == "binlake_shop_gold"
    assert extra["outcome"] == "done"
    assert extra["cut_lsn"] == max(table.lsn for table in status.tables)
