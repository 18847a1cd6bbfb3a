"""A server's tables seeded on a cluster whose workers lack Binlake and the server's connector.

Once by spark-submit itself, with the connector's jar, and once by Airflow's tasks, for which
Spark's resolver fetches the connector; then the layers run on the cluster, and gold equals the
server.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from pipeline.spark.jars import delta_jars
from pipeline.spark.java import java_home
from tests.support.dags.dag_run import Airflow
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.process_list import command_lines_with
from tests.support.spark.spark_cluster import HOST, ROOT, SparkCluster, built_wheel, finish

pytestmark = pytest.mark.long

SCHEMA = "clustered"
PASSWORD = "s3/cr:t@ w%rd-of-clusters"
WRITTEN = quote(PASSWORD, safe="")
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
CREATED = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, name VARCHAR(20), total DECIMAL(9, 2));
    CREATE TABLE items (part VARCHAR(20), n INT, at TIMESTAMP(3), PRIMARY KEY (part, n));
    CREATE TABLE keyless (v INT, note CHAR(3));
    INSERT INTO orders
        SELECT i + 1, CONCAT('ü', i), i / 100 FROM (
            SELECT a.n + 10 * b.n + 100 * c.n AS i FROM {DIGITS} a, {DIGITS} b, {DIGITS} c
        ) numbers;
    INSERT INTO items SELECT CONCAT('é', id % 40), id, NOW(3) FROM orders;
    INSERT INTO keyless SELECT id % 5, 'x' FROM orders WHERE id < 50;
    DROP USER IF EXISTS lake; CREATE USER lake IDENTIFIED BY '{PASSWORD}';
    GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO lake
"""
CHANGED = f"""
    USE {SCHEMA};
    UPDATE orders SET total = total + 1 WHERE id % 7 = 0; DELETE FROM orders WHERE id % 11 = 0;
    UPDATE items SET n = n + 10000 WHERE n < 20; INSERT INTO keyless VALUES (7, 'y'), (7, 'y')
"""
CONNECTOR = "*mariadb-java-client*.jar"


@dataclass
class Ended:
    """The runs of the DAGs, and what was shipped to the cluster's workers meanwhile."""

    folder: Path
    replicated: dict[str, Any]
    verified: dict[str, Any]
    output: str
    shown: list[str]
    """Command lines that contained the password."""
    seed_log: str
    connectors: list[set[str]]
    """The connector's files on both workers after each seed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[SparkCluster]:
    with SparkCluster(folder / "spark") as started:
        yield started


def connectors(cluster: SparkCluster) -> set[str]:
    """Return the connector's files on executors of both workers, each with its application."""
    one, other = (worker.files(CONNECTOR) for worker in cluster.workers)
    return {f"{application}/{name}" for application, name in one & other}


def airflow_over(cluster: SparkCluster, folder: Path, port: int) -> Airflow:
    """Return an Airflow with connections to the cluster and to the server."""
    server = {"conn_type": "mysql", "host": HOST, "port": port, "login": "lake"}
    return Airflow(
        folder,
        AIRFLOW_CONN_CLUSTER=json.dumps({"conn_type": "spark", "host": cluster.url}),
        AIRFLOW_CONN_SHOP_DB=json.dumps({**server, "password": PASSWORD}),
        JAVA_HOME=str(java_home()),
        SPARK_LOCAL_IP=HOST,
        PATH=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    )


def settings_of(cluster: SparkCluster, folder: Path, wheel: Path) -> dict[str, Any]:
    submit = {
        "jars": ",".join(map(str, delta_jars(java_home(), {}))),
        "py_files": str(wheel),
        "driver_memory": "1g",
        "conf": {
            **cluster.settings,
            "spark.ui.enabled": "false",
            "spark.executorEnv.BINLAKE_CACHE": os.environ["BINLAKE_CACHE"],
            "spark.sql.shuffle.partitions": "2",
        },
    }
    return {
        "source": "shop",
        "binlogs": str(folder / "landed"),
        "capture": {"to": str(folder / "landed")},
        "lake": str(folder / "lake"),
        "include": [f"{SCHEMA}.*"],
        "seed": {"chunk_rows": 250, "parallel": 2},
        "airflow": {
            "connection": "cluster",
            "submit": submit,
            "server": "shop_db",
            "capture": True,
            "seed": True,
            "verify": "@weekly",
            "verify_wait": "1 minute",
            "maintenance": "@daily",
            "retries": 0,
        },
    }


@pytest.fixture(scope="module")
def ended(cluster: SparkCluster, folder: Path, mysql: MySQLServer) -> Ended:
    mysql.execute(CREATED)
    mysql.reset_logs()
    airflow = airflow_over(cluster, folder / "airflow", mysql.port)
    conf = airflow.sources / "shop.yml"
    settings = settings_of(cluster, folder, built_wheel(folder))
    conf.write_text(json.dumps(settings))
    brought = []
    with command_lines_with(PASSWORD, WRITTEN) as shown:
        seed_log = seeded(cluster, folder, conf, settings, mysql.port)
        brought.append(connectors(cluster))
        mysql.execute(CHANGED)
        replicated, verified = airflow.run(
            ("binlake_shop_replication", {}), ("binlake_shop_verify", {})
        )
        brought.append(connectors(cluster) - brought[0])
    return Ended(folder, replicated, verified, airflow.output, shown, seed_log, brought)


def seeded(
    cluster: SparkCluster, folder: Path, conf: Path, settings: dict[str, Any], port: int
) -> str:
    """Seed one table by spark-submit of the job; return its output."""
    submit = settings["airflow"]["submit"]
    log = folder / "seed.log"
    job = cluster.submit(
        ROOT / "pipeline" / "seed" / "job.py",
        *("--conf", conf, "--table", f"{SCHEMA}.orders"),
        conf=submit["conf"],
        wheel=Path(submit["py_files"]),
        log=log,
        connector=True,
        BINLAKE_SERVER=f"mysql://lake:{WRITTEN}@{HOST}:{port}",
    )
    return finish(job, log)


def test_the_job_seeds_with_the_connectors_jar(ended: Ended) -> None:
    assert f"{SCHEMA}.orders: 1,000 rows, read between" in ended.seed_log
    assert len(ended.connectors[0]) == 1, "both workers were brought it, by one application"


def test_every_task_succeeds_over_the_connection_to_the_cluster(ended: Ended) -> None:
    states = {task: state for task, _, state, _ in ended.replicated["tasks"]}
    outcome = ended.replicated["state"], set(states.values())
    assert outcome == ("success", {"success"}), ended.output
    assert list(states)[:2] == ["capture", "seed"]
    # Of the tables that the job has left: its own waits for silver.
    assert f"{SCHEMA}.items: 1,000 rows, read between" in ended.output
    assert f"{SCHEMA}.keyless: 51 rows, read at" in ended.output
    assert f"{SCHEMA}.orders: " not in ended.output
    assert len(ended.connectors[1]) == 1, "the seed's executors alone were brought it by packages"


def test_gold_equals_the_server(ended: Ended) -> None:
    assert ended.verified["state"] == "success"
    assert [task for task, *_ in ended.verified["tasks"]] == ["verify"]


def test_the_password_appears_nowhere(ended: Ended) -> None:
    """Not in any command line, log, or file: of the cluster, the lake, or Airflow."""
    assert ended.shown == []
    kept = [file for file in ended.folder.rglob("*") if file.is_file()]
    assert {"airflow.db", "stderr", "seed.log"} <= {file.name for file in kept}
    for content in [*(file.read_bytes() for file in kept), ended.output.encode()]:
        assert PASSWORD.encode() not in content
        assert WRITTEN.encode() not in content
