"""Runs with a remote Spark, through Spark Connect, and a catalog instead of paths.

Databricks is like that: no JVM in the client, no SparkContext, tables by name. The catalog is
Spark's own, with a Hive-style metastore and warehouse folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from demo.run import FOLDER as DEMO
from pipeline.settings import Settings
from pipeline.verify.run import verify
from tests.e2e.conftest import Run
from tests.support.spark.connect_server import ConnectServer

pytestmark = pytest.mark.long

CATALOG = "spark_catalog"
DAMAGED = {"shop.orders": "id", "binlake.silver_transactions": "__lsn"}
"""Tables of gold and silver that lose rows, and the key of each."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    with ConnectServer(tmp_path_factory.mktemp("connect") / "server") as started:
        yield started


@pytest.fixture(scope="module")
def conf(server: ConnectServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connect_conf")
    settings = {
        "source": "shop",
        "binlogs": str(folder / "binlogs"),
        "lake": str(folder / "scratch"),
        "catalog": CATALOG,
        "lake_schema": "binlake",
        "spark": {"master": server.url},
    }
    (folder / "binlogs").mkdir()
    file = folder / "binlake.yml"
    file.write_text(yaml.safe_dump(settings))
    return file


def binlake(conf: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command on a machine without Java."""
    environment = {**os.environ, "JAVA_HOME": "/nowhere", "PATH": str(Path(sys.executable).parent)}
    return subprocess.run(
        [sys.executable, "-m", "pipeline.cli", *arguments, "--conf", str(conf)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def checksums(found: dict[str, Any]) -> dict[str, tuple[int, str]]:
    return {f"{t['schema']}.{t['table']}": (t["rows"], t["checksum"]) for t in found["tables"]}


def verified(conf: Path) -> dict[str, tuple[int, str]]:
    """Return row count and checksum of each gold table, which `verify` has found correct."""
    done = binlake(conf, "verify", "--json")
    assert done.returncode == 0, done.stderr[-4000:]
    return checksums(json.loads(done.stdout))


def answer(server: ConnectServer, statement: str) -> str:
    """Return what another client of the same Spark gets."""
    program = (
        "from pyspark.sql import SparkSession\n"
        f"spark = SparkSession.builder.remote({server.url!r}).getOrCreate()\n"
        f"print(spark.sql({statement!r}).collect())"
    )
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def keys_of_damaged(server: ConnectServer) -> dict[str, str]:
    """Return the current row counts, whatever is published, and a checksum of the keys."""
    return {
        table: answer(server, f"SELECT count(*), bit_xor(xxhash64({key})) FROM {CATALOG}.{table}")
        for table, key in DAMAGED.items()
    }


@pytest.fixture(scope="module")
def replicated(conf: Path) -> Path:
    """Return the conf of a lake that has reached the end of the logs in two runs."""
    logs = sorted((DEMO / "binlogs").glob("binlog.*"))
    folder = conf.parent / "binlogs"
    for given in (logs[:2], logs[2:]):
        for file in given:
            shutil.copy(file, folder)
        done = binlake(conf, "run")
        assert done.returncode == 0, done.stderr[-4000:]
    return conf


@pytest.fixture(scope="module")
def expected(
    spark: SparkSession, run: Run, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, str]]:
    """Return the same as `verified`, for a run without Spark Connect and a catalog."""
    lake = tmp_path_factory.mktemp("paths") / "lake"
    run(DEMO / "binlogs", lake)
    settings = Settings.load(None, source="e2e", lake=str(lake))
    return checksums(json.loads(verify(spark, settings).to_json()))


def test_a_run_over_spark_connect_into_a_catalog_yields_the_same_gold(
    replicated: Path, expected: dict[str, tuple[int, str]]
) -> None:
    assert "nothing new" in binlake(replicated, "run").stdout

    status = binlake(replicated, "status", "--json")
    assert status.returncode == 0, status.stderr[-4000:]
    tables = {f"{t['schema']}.{t['table']}": t for t in json.loads(status.stdout)["tables"]}
    assert all(t["complete"] and not t["held"] for t in tables.values())
    assert tables["shop.orders"]["gold"] == "`spark_catalog`.`shop`.`orders`"

    assert verified(replicated) == expected
    # The lake's folder is only scratch space.
    assert not [f for f in (replicated.parent / "scratch").rglob("*") if f.is_file()]


def test_a_full_refresh_over_spark_connect_repairs_damaged_silver_and_gold(
    server: ConnectServer, replicated: Path, expected: dict[str, tuple[int, str]]
) -> None:
    before = keys_of_damaged(server)
    for table, key in DAMAGED.items():
        answer(server, f"DELETE FROM {CATALOG}.{table} WHERE {key} % 2 = 0")
    damaged = keys_of_damaged(server)
    assert all(damaged[table] != before[table] for table in DAMAGED)

    done = binlake(replicated, "run", "--full-refresh")
    assert done.returncode == 0, done.stderr[-4000:]
    assert keys_of_damaged(server) == before
    assert verified(replicated) == expected
    assert "nothing new" in binlake(replicated, "run").stdout
