"""The layers on a cluster, from binlogs in S3 to a lake in S3, with the guide's own settings.

Workers have credentials of their own, as machines with a role have; where the store is, the driver
tells them.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.archives import pack
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLServer
from tests.support.object_store import CREDENTIALS, ObjectStore, object_store, spark_conf
from tests.support.spark_cluster import ROOT, SparkCluster, built_wheel, kill

pytestmark = pytest.mark.long

SCHEMA = "in_buckets"
FIRST = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE orders (id INT UNSIGNED PRIMARY KEY, note VARCHAR(20), total DECIMAL(9, 2));
    INSERT INTO orders VALUES (1, 'ü', 1.5), (4000000000, NULL, 2.25), (3, 'three', 3)
"""
SECOND = f"""
    USE {SCHEMA}; UPDATE orders SET id = 5, total = 9 WHERE id = 3; DELETE FROM orders WHERE id = 1;
    ALTER TABLE orders ADD at DATE DEFAULT '2026-11-23'; INSERT INTO orders (id) VALUES (6)
"""
LAYERS = ("bronze", "silver", "gold")
JOB_SECONDS = 600.0


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        started.files.mkdir("lake")
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster") / "spark", **CREDENTIALS) as started:
        yield started


def submit(cluster: SparkCluster, store: ObjectStore, layer: str, wheel: Path, log: Path) -> str:
    """Submit a layer's job and wait for it; what it said."""
    job = cluster.submit(
        ROOT / "pipeline" / layer / "job.py",
        *("--source", "shop", "--binlogs", "s3://backups/shop", "--lake", "s3a://lake/shop"),
        conf={**spark_conf(), "spark.ui.enabled": "false"},
        wheel=wheel,
        log=log,
        **store.environment,
    )
    try:
        code: object = job.wait(timeout=JOB_SECONDS)
    except subprocess.TimeoutExpired as error:
        code = error
    finally:
        kill(job)
    said = log.read_text(errors="replace")
    assert code == 0, f"{layer}: {code}\n{said[-4000:]}"
    return said


def test_layers_on_a_cluster_from_a_bucket_to_a_bucket(
    spark: SparkSession,
    mysql: MySQLServer,
    cluster: SparkCluster,
    store: ObjectStore,
    tmp_path: Path,
) -> None:
    mysql.reset_logs()
    mysql.execute(FIRST)
    mysql.flush_logs()
    mysql.execute(SECOND)
    mysql.flush_logs()
    first, second, *_ = mysql.binlogs()
    store.put(f"backups/shop/1/{first.name}.zst", pack("zstd", first.read_bytes()))
    store.put_file(second, f"backups/shop/2/{second.name}")

    wheel = built_wheel(tmp_path)
    said = [submit(cluster, store, layer, wheel, tmp_path / f"{layer}.log") for layer in LAYERS]

    workers = [list(worker.said()) for worker in cluster.workers]
    assert all(len({application for application, _ in lines}) == len(LAYERS) for lines in workers)
    said += [line for lines in workers for _, line in lines]
    assert not [line for line in said if CREDENTIALS["AWS_SECRET_ACCESS_KEY"] in line]

    # Delta tables may be moved: these are read where this process's Spark can.
    local = tmp_path / "lake"
    store.files.get("lake/shop/", f"{local}/", recursive=True)
    assert assert_gold_equals_source(spark, mysql, str(local), SCHEMA, "orders") == 3
