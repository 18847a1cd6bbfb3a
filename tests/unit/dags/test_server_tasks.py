"""Tasks that connect to the source server, as Airflow loads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization

from binlake_airflow.server_tasks import CONNECTOR, with_connector
from pipeline.spark import jars

DAGS = Path(__file__).parents[3] / "dags"
ENABLED = "server: shop_db, capture: true, seed: true, verify: '0 5 * * 0'"
SOURCES = {
    "here": f"{{{ENABLED}, seed_timeout: 2 days, verify_wait: 10 minutes}}",
    "cluster": f"{{{ENABLED}, connection: spark, conf: there.yml, check: warn, pool: lake,"
    " submit: {packages: 'io.delta:delta:4', executor_cores: 2}}",
    "seeded": "{seed: true}",
    "captured": "{capture: true, task_per_layer: true}",
}
"""The section `airflow` by source."""


@pytest.fixture(scope="module")
def server_bag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagBag]:
    """The DAGs of these sources, without any connection."""
    folder = tmp_path_factory.mktemp("sources")
    for name, options in SOURCES.items():
        (folder / f"{name}.yml").write_text(f"source: {name}\nlake: /lake\nairflow: {options}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BINLAKE_SOURCES", str(folder))
        yield DagBag(str(DAGS), collect_dags=True)


def replicating(bag: DagBag, source: str) -> Any:
    return bag.dags[f"binlake_{source}_replication"]


def test_every_dag_loads_and_can_be_serialized(server_bag: DagBag) -> None:
    assert server_bag.import_errors == {}
    assert {name for name in server_bag.dags if name.endswith(("_verify", "_unreadable"))} == {
        "binlake_here_verify",
        "binlake_cluster_verify",
    }
    for dag in server_bag.dags.values():
        assert json.loads(json.dumps(DagSerialization.to_dict(dag)))["dag"]["dag_id"] == dag.dag_id


@pytest.mark.parametrize(
    ("source", "downstream"),
    [
        (
            "here",
            {"capture": {"seed", "run", "check"}, "seed": {"run", "check"}},
        ),
        ("seeded", {"seed": {"run", "check"}}),
        ("captured", {"capture": {"bronze", "check"}}),
    ],
)
def test_capture_and_seed_run_before_the_layers(
    server_bag: DagBag, source: str, downstream: dict[str, set[str]]
) -> None:
    dag = replicating(server_bag, source)
    found = {name: dag.get_task(name).downstream_task_ids for name in downstream}
    assert found == downstream
    first = "bronze" if source == "captured" else "run"
    assert dag.get_task(first).upstream_task_ids == set(downstream)
    assert dag.get_task(first).trigger_rule == "all_done"
    assert {t.task_id for t in dag.tasks if t.task_id in ("capture", "seed")} == set(downstream)


def test_tasks_on_the_worker_have_the_server_and_their_timeouts(server_bag: DagBag) -> None:
    dag = replicating(server_bag, "here")
    capture, seed, run = (dag.get_task(name) for name in ("capture", "seed", "run"))
    (verify,) = server_bag.dags["binlake_here_verify"].tasks
    every: Any = (capture, seed, verify)
    assert {type(task).__name__ for task in every} == {"BinlakeLocalOperator"}
    assert {task.server for task in every} == {"shop_db"}
    assert run.server is None
    assert [task.execution_timeout for task in every] == [
        timedelta(hours=4),
        timedelta(days=2),
        # timeout and verify_wait
        timedelta(hours=4, minutes=10),
    ]
    assert [task.pool for task in every] == ["binlake_here", "binlake_here", "default_pool"]
    assert (verify.command, verify.options) == (
        ("verify",),
        {"--against": "server", "--wait": "600"},
    )


def test_with_a_spark_connection_only_capture_runs_on_the_worker(server_bag: DagBag) -> None:
    """It reads the worker's copy of the source's file."""
    dag = replicating(server_bag, "cluster")
    capture, seed, run = (dag.get_task(name) for name in ("capture", "seed", "run"))
    (verify,) = server_bag.dags["binlake_cluster_verify"].tasks
    assert type(capture).__name__ == "BinlakeLocalOperator"
    assert Path(capture.settings).name == "cluster.yml"
    assert Path(capture.settings).is_absolute()
    for task in (seed, verify, run):
        assert type(task).__name__ == "BinlakeSparkOperator"
        assert task.settings == "there.yml"
    assert seed.packages == f"io.delta:delta:4,{CONNECTOR}"
    assert (run.packages, verify.packages) == ("io.delta:delta:4", "io.delta:delta:4")
    assert [task.warn for task in (seed, run, verify)] == [True, True, False]
    assert (seed.pool, verify.pool) == ("lake", "default_pool")


@pytest.mark.parametrize(
    ("submit", "packages"),
    [
        ({}, CONNECTOR),
        ({"packages": None}, CONNECTOR),
        ({"packages": "a:b:1", "num_executors": 2}, f"a:b:1,{CONNECTOR}"),
        ({"packages": "org.mariadb.jdbc:mariadb-java-client:4"}, None),
        ({"jars": "/opt/delta.jar,/opt/mariadb-java-client-3.5.6.jar"}, None),
    ],
)
def test_the_connector_is_added_once(submit: dict[str, Any], packages: str | None) -> None:
    expected = submit if packages is None else {**submit, "packages": packages}
    assert with_connector(submit) == expected


def test_the_connector_is_the_version_that_binlake_fetches() -> None:
    assert CONNECTOR == jars.CONNECTOR
