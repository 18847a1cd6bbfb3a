"""Binlogs and lake on S3: whole runs of the command, with the settings of the guide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipeline.lake import Lake, delta
from pipeline.lake.delta_log.spark_written import clustered_by, state
from tests.support.decoder.archives import pack
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.object_store import CREDENTIALS, ObjectStore, object_store, spark_conf
from tests.support.servers.mysql import MySQLFactory
from tests.support.spark.no_spark import NO_SPARK

TABLE = "CREATE TABLE orders (id INT PRIMARY KEY, total DECIMAL(10, 2), note VARCHAR(40));"
LAKE = "s3a://lake/shop"


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        started.files.mkdir("lake")
        yield started


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """Return the guide's Spark settings, for this machine."""
    file = tmp_path / "s3.yml"
    file.write_text(yaml.safe_dump({"spark": {"master": "local[2]", "conf": spark_conf()}}))
    return file


def insert(first: int, end: int) -> str:
    rows = ", ".join(f"({number}, {number}.25, 'of {number}')" for number in range(first, end + 1))
    return f"INSERT INTO orders VALUES {rows};"


def binlake(store: ObjectStore, command: str, *arguments: str | Path) -> str:
    """Run the command and return its output, which must not contain credentials."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.cli", command, "--lake", LAKE, *map(str, arguments)],
        env={**os.environ, **store.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
    assert not any(secret in done.stdout + done.stderr for secret in CREDENTIALS.values())
    return done.stdout


@pytest.mark.long
def test_from_archives_in_one_bucket_to_a_table_in_another(
    spark: SparkSession,
    mysql_factory: MySQLFactory,
    store: ObjectStore,
    conf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = mysql_factory()
    server.execute("CREATE DATABASE shop; USE shop;" + TABLE + insert(1, 500))
    server.execute("FLUSH BINARY LOGS; UPDATE shop.orders SET total = total * 2 WHERE id < 50")
    server.execute("FLUSH BINARY LOGS")
    first, second, third = server.binlogs()
    store.put(f"backups/shop/2026-11-21/{first.name}.gz", pack("gzip", first.read_bytes()))
    store.put(f"backups/shop/2026-11-22/{second.name}.zst", pack("zstd", second.read_bytes()))
    command = ("--conf", conf, "--source", "shop", "--binlogs", "s3://backups/shop")
    binlake(store, "run", *command)

    server.execute("USE shop; DELETE FROM orders WHERE id > 400;" + insert(1000, 1099))
    server.execute("FLUSH BINARY LOGS")
    store.put(f"backups/shop/2026-11-22/{third.name}", third.read_bytes())
    binlake(store, "run", *command)

    status = json.loads(binlake(store, "status", "--conf", conf, "--json"))
    (table,) = status["tables"]
    assert (table["gold"], table["complete"]) == (f"{LAKE}/gold/shop/orders", True)

    local = tmp_path / "lake"
    store.fetch("lake/shop", local)
    assert assert_gold_equals_source(spark, server, str(local), "shop", "orders") == 500
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    for look in (state, clustered_by):
        assert look(NO_SPARK, f"{LAKE}/gold/shop/orders") == look(
            spark, f"{local}/gold/shop/orders"
        )
    left = [
        *store.files.find("lake/shop/silver/_staging"),
        *store.files.find("lake/shop/ledger/_run"),
    ]
    assert [path for path in left if not path.endswith("/")] == []
    bodies = delta.read(spark, Lake(str(local)).ledger("batches")).select("body").collect()
    assert len(bodies) == 12, "two batches of each layer, planned and finished"
    assert not any(secret in row["body"] for row in bodies for secret in CREDENTIALS.values())
    rows = delta.read(spark, Lake(str(local)).files).select("path").collect()
    assert {row["path"] for row in rows} == {f"s3://{path}" for path in store.files.find("backups")}
