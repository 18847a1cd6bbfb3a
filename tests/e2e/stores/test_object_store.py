"""Binlogs and lake on S3: whole runs of the command, with the settings of the guide."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipeline.lake import Lake, delta
from pipeline.lake.delta_log.spark_written import clustered_by, state
from pipeline.source import GtidSet
from tests.support.decoder.archives import pack
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.object_store import CREDENTIALS, ObjectStore, object_store, spark_conf
from tests.support.servers.mysql import MySQLFactory
from tests.support.spark.no_spark import NO_SPARK

TABLE = "CREATE TABLE orders (id INT PRIMARY KEY, total DECIMAL(10, 2), note VARCHAR(40));"
LAKE = "s3a://lake/shop"
PATIENCE = 240.0


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


@pytest.mark.long
def test_a_sync_keeps_a_lake_in_a_bucket_equal_to_its_server(
    spark: SparkSession, mysql_factory: MySQLFactory, store: ObjectStore, tmp_path: Path
) -> None:
    server, lake = mysql_factory(), "s3a://lake/synced"
    server.execute("CREATE DATABASE shop; USE shop;" + TABLE + insert(1, 500))
    settings = {
        "source": "shop",
        "server": {"host": "127.0.0.1", "port": server.port, "user": "root"},
        "capture": {
            "to": "s3://landed/shop",
            "spool": str(tmp_path / "spool"),
            "publish": {"seconds": 1, "growth": 0.01},
        },
        "lake": lake,
        "sync": {"every": "1s", "maintain": "5s", "verify": "5s"},
        "spark": {"master": "local[2]", "conf": spark_conf()},
    }
    store.files.mkdir("landed")
    conf, output = tmp_path / "sync.yml", tmp_path / "output"
    conf.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-m", "pipeline.cli", "sync", "--conf", str(conf)]
    with output.open("w") as log:
        sync = subprocess.Popen(
            command, env={**os.environ, **store.environment}, stdout=log, stderr=log
        )
    patience = time.monotonic() + PATIENCE
    try:
        for change in (
            "SELECT 1",
            "UPDATE shop.orders SET total = total * 2 WHERE id < 50",
            "ALTER TABLE shop.orders ADD COLUMN paid INT; DELETE FROM shop.orders WHERE id > 400",
        ):
            server.execute(change)
            executed = GtidSet.of(server.execute("SELECT @@GLOBAL.gtid_executed")[0][0])
            while not (there := published(store, tmp_path / "cuts")).holds(executed):
                assert sync.poll() is None, output.read_text()[-3000:]
                assert time.monotonic() < patience, f"{there}: {output.read_text()[-3000:]}"
                time.sleep(2)
    finally:
        sync.send_signal(signal.SIGTERM)
        code = sync.wait(PATIENCE)
    shown = output.read_text()
    assert code == 0, shown[-3000:]
    assert "Equal to the server: shop.orders." in shown
    assert not any(secret in shown for secret in CREDENTIALS.values())
    local = tmp_path / "lake"
    store.fetch("lake/synced", local)
    assert assert_gold_equals_source(spark, server, str(local), "shop", "orders") == 400


def published(store: ObjectStore, folder: Path) -> GtidSet:
    """Return the transactions of the last published snapshot; its table is copied to a folder."""
    cuts = "lake/synced/gold/_cuts"
    # delta-rs would wait for this process's server without letting it answer.
    if store.files.exists(f"{cuts}/_delta_log"):
        store.fetch(cuts, folder)
    if not DeltaTable.is_deltatable(str(folder)):
        return GtidSet()
    rows = DeltaTable(folder).to_pyarrow_table(columns=["lsn", "gtid_set"])
    return GtidSet.of(max(rows.to_pylist(), key=lambda row: row["lsn"])["gtid_set"])
