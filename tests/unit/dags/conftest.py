"""A temporary Airflow home, and the DAGs of two sources: one per operator."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from airflow.dag_processing.dagbag import DagBag

_HOME = tempfile.TemporaryDirectory(prefix="binlake-airflow-")
# Set before Airflow is imported, which happens when the tests of this folder are collected.
os.environ["AIRFLOW_HOME"] = _HOME.name
os.environ["AIRFLOW__CORE__LOAD_EXAMPLES"] = "False"

DAGS = Path(__file__).parents[3] / "dags"

SHOP = """\
source: shop
binlogs: /backup/shop
lake: /data/lake
"""
CRM = """\
source: crm
binlogs: s3://backup/crm/
lake: s3a://lake/crm
airflow:
  schedule: "@hourly"
  maintenance: "0 3 * * *"
  task_per_layer: true
  connection: spark_cluster
  submit:
    py_files: /opt/binlake.whl
    conf: {spark.executor.memory: 8g}
  pool: lake
  retries: 5
  retry_delay: 30 minutes
  timeout: 2 days
  check: warn
"""


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of two sources, and an invalid one."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "shop.yml").write_text(SHOP)
    (folder / "crm.yml").write_text(CRM)
    (folder / "wrong.yml").write_text("source: wrong\nairflow: {schedul: never}\n")
    return folder


@pytest.fixture(scope="session")
def bag(sources: Path) -> Iterator[DagBag]:
    """Airflow's DagBag of all DAGs, without a connection or a database."""
    from airflow.dag_processing.dagbag import DagBag

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BINLAKE_SOURCES", str(sources))
        yield DagBag(str(DAGS), collect_dags=True)
