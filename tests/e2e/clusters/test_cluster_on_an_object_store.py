"""The layers on a cluster, from binlogs in S3 to a lake in S3, with the settings of the guide.

Workers read binlogs with their own credentials, as machines with a role do; the driver passes them
the store's endpoint. (Spark also passes S3A credentials in the driver's environment, if any.)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake, delta
from tests.support.decoder.archives import pack
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.object_store import CREDENTIALS, ObjectStore, object_store, spark_conf
from tests.support.servers.mysql import MySQLServer
from tests.support.spark.spark_cluster import ROOT, SparkCluster, built_wheel, finish

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
WORKERS = {"AWS_ACCESS_KEY_ID": "AKIAOFWORKERS", "AWS_SECRET_ACCESS_KEY": "a-secret-of-workers"}
LAYERS = ("bronze", "silver", "gold")


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        started.files.mkdir("lake")
        yield started


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster") / "spark", **WORKERS) as started:
        yield started


def replicate(cluster: SparkCluster, store: ObjectStore, wheel: Path, folder: Path) -> list[str]:
    """Submit the layers' jobs one after the other; return the output of each."""
    return [submit(cluster, store, layer, wheel, folder / f"{layer}.log") for layer in LAYERS]


def submit(cluster: SparkCluster, store: ObjectStore, layer: str, wheel: Path, log: Path) -> str:
    """Submit a layer's job, wait for it, and return its output."""
    job = cluster.submit(
        ROOT / "pipeline" / layer / "job.py",
        *("--source", "shop", "--binlogs", "s3://backups/shop", "--lake", "s3a://lake/shop"),
        conf={**spark_conf(), "spark.ui.enabled": "false"},
        wheel=wheel,
        log=log,
        **store.environment,
    )
    return finish(job, log)


def test_layers_on_a_cluster_from_a_bucket_to_a_bucket(
    spark: SparkSession,
    mysql: MySQLServer,
    cluster: SparkCluster,
    store: ObjectStore,
    tmp_path: Path,
) -> None:
    wheel = built_wheel(tmp_path)
    mysql.reset_logs()
    mysql.execute(FIRST)
    mysql.flush_logs()
    first, *_ = mysql.binlogs()
    store.put(f"backups/shop/1/{first.name}.zst", pack("zstd", first.read_bytes()))
    output = replicate(cluster, store, wheel, tmp_path)

    mysql.execute(SECOND)
    mysql.flush_logs()
    _, second, *_ = mysql.binlogs()
    store.put_file(second, f"backups/shop/2/{second.name}")
    output += replicate(cluster, store, wheel, tmp_path)

    lines = [line for worker in cluster.workers for _, line in worker.log_lines()]
    secrets = [*CREDENTIALS.values(), *WORKERS.values()]
    assert not [line for line in [*output, *lines] if any(secret in line for secret in secrets)]

    local = tmp_path / "lake"
    store.fetch("lake/shop", local)
    assert assert_gold_equals_source(spark, mysql, str(local), SCHEMA, "orders") == 3
    assert delta.read(spark, Lake(str(local)).cuts).count() == 2, "one of each round"
