"""The cost of loading the DAGs, which Airflow does repeatedly, on a machine without Spark."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

DAGS = Path(__file__).parents[3] / "dags"
FILES = sorted(DAGS.glob("*.py"))
HEAVY = {"binlake", "delta", "numba", "numpy", "pandas", "pyarrow", "pyspark"}

ASKING = """\
source: asking
airflow: {server: db, capture: true, seed: true, verify: "@daily"}
"""
LOAD = """
import json, runpy, sys, time
began = time.process_time()
import airflow.sdk
airflow.sdk.DAG("any")
known = set(sys.modules)
print(json.dumps({"file": "airflow", "seconds": time.process_time() - began, "new": [*known]}))
for file in sys.argv[1:]:
    began = time.process_time()
    runpy.run_path(file)
    new, known = set(sys.modules) - known, set(sys.modules)
    print(json.dumps({"file": file, "seconds": time.process_time() - began, "new": [*new]}))
"""
"""Loads the files of its arguments one by one, and prints the cost of each."""


class Cost(NamedTuple):
    """A file's processor time, and the packages that it imports first."""

    seconds: float
    packages: frozenset[str]


@pytest.fixture(scope="module")
def costs(sources: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cost]:
    """Costs by file name, in a new interpreter; `airflow` is Airflow without our files."""
    heavy = tmp_path_factory.mktemp("heavy") / "heavy.py"
    heavy.write_text("import numpy\n")
    folder = tmp_path_factory.mktemp("costly") / "sources"
    shutil.copytree(sources, folder)
    (folder / "asking.yml").write_text(ASKING)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{DAGS}:{DAGS.parent}",
        "BINLAKE_SOURCES": str(folder),
    }
    command = [sys.executable, "-c", LOAD, *map(str, FILES), str(heavy)]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    printed = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith('{"file"')]
    return {
        Path(one["file"]).name: Cost(
            one["seconds"], frozenset(name.partition(".")[0] for name in one["new"])
        )
        for one in printed
    }


@pytest.mark.parametrize("file", ["airflow", *(file.name for file in FILES)])
def test_nothing_heavy_is_imported(file: str, costs: dict[str, Cost]) -> None:
    assert not costs[file].packages & HEAVY


def test_heavy_imports_are_detected(costs: dict[str, Cost]) -> None:
    assert costs["heavy.py"].packages & HEAVY


def test_all_files_together_take_less_than_airflow_itself(costs: dict[str, Cost]) -> None:
    """Processor time: other processes do not add to it."""
    assert sum(costs[file.name].seconds for file in FILES) < costs["airflow"].seconds


def test_every_dag_can_be_serialized(bag: DagBag) -> None:
    for dag in bag.dags.values():
        kept = json.loads(json.dumps(DagSerialization.to_dict(dag)))
        assert kept["dag"]["dag_id"] == dag.dag_id


def test_airflow_parses_only_dag_files(bag: DagBag) -> None:
    parsed = {Path(dag.fileloc).name for dag in bag.dags.values()}
    assert parsed <= {file.name for file in FILES} | {"unreadable.py"}
    assert {stat.file.rpartition("/")[2] for stat in bag.dagbag_stats} == {f.name for f in FILES}
