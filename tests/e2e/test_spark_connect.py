"""Runs whose Spark is elsewhere, behind Spark Connect, with a catalog instead of paths.

So it is on Databricks: no JVM in the client, no SparkContext, tables by name. The catalog is
Spark's own, over a metastore and a warehouse folder as Hive has them.
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
from tests.support.connect_server import ConnectServer


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
        "catalog": "spark_catalog",
        "lake_schema": "binlake",
        "spark": {"master": server.url},
    }
    (folder / "binlogs").mkdir()
    file = folder / "binlake.yml"
    file.write_text(yaml.safe_dump(settings))
    return file


def binlake(conf: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command where there is no Java to be found."""
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


@pytest.mark.long
def test_a_run_over_spark_connect_into_a_catalog_gives_the_same_gold(
    spark: SparkSession, run: Run, conf: Path, tmp_path: Path
) -> None:
    logs = sorted((DEMO / "binlogs").glob("binlog.*"))
    folder = conf.parent / "binlogs"
    for given in (logs[:2], logs[2:]):
        for file in given:
            shutil.copy(file, folder)
        done = binlake(conf, "run")
        assert done.returncode == 0, done.stderr[-4000:]
    assert "nothing new" in binlake(conf, "run").stdout

    told = binlake(conf, "status", "--json")
    assert told.returncode == 0, told.stderr[-4000:]
    tables = {f"{t['schema']}.{t['table']}": t for t in json.loads(told.stdout)["tables"]}
    assert all(t["complete"] and not t["held"] for t in tables.values())
    assert tables["shop.orders"]["gold"] == "`spark_catalog`.`shop`.`orders`"

    verified = binlake(conf, "verify", "--json")
    assert verified.returncode == 0, verified.stderr[-4000:]
    run(DEMO / "binlogs", tmp_path / "lake")
    settings = Settings.load(None, source="e2e", lake=str(tmp_path / "lake"))
    expected = json.loads(verify(spark, settings).to_json())
    assert checksums(json.loads(verified.stdout)) == checksums(expected)
    # The lake's folder is scratch space alone.
    assert not [f for f in (conf.parent / "scratch").rglob("*") if f.is_file()]
