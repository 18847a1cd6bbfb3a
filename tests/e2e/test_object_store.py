"""Binlogs and lake on S3: whole runs of the command, with the settings that the guide gives."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.cache import cache_folder
from pipeline.lake import Lake
from tests.support import traffic
from tests.support.archives import pack
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLFactory
from tests.support.object_store import CREDENTIALS, ObjectStore, object_store

TABLES = ("account", "line", "word", "digest")
GUIDE = Path(__file__).parents[2] / "docs" / "object-stores.md"
LAKE = "s3a://lake/shop"


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with object_store() as started:
        started.files.mkdir("lake")
        yield started


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    """The guide's own settings, with jars kept from run to run and little work for few rows."""
    (block,) = re.findall(r"runs with this block -->\n```yaml\n(.+?)```", GUIDE.read_text(), re.S)
    settings = yaml.safe_load(block)
    settings["spark"]["master"] = "local[2]"
    settings["spark"]["conf"] |= {
        "spark.jars.ivy": str(cache_folder("ivy")),
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "2",
    }
    file = tmp_path / "s3.yml"
    file.write_text(yaml.safe_dump(settings))
    return file


def binlake(store: ObjectStore, command: str, *arguments: str | Path) -> str:
    """Run the command to its end; what it said. No credential is ever said."""
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


def test_from_archives_in_one_bucket_to_tables_in_another(
    spark: SparkSession, mysql_factory: MySQLFactory, store: ObjectStore, conf: Path, tmp_path: Path
) -> None:
    server = mysql_factory("--max-binlog-size=16384")
    with server.connect() as connection:
        traffic.run(connection, 40, seed=1)
    first = server.binlogs()[:-1]
    for number, file in enumerate(first):
        codec, suffix = (("gzip", ".gz"), ("zstd", ".zst"))[number % 2]
        packed = pack(codec, file.read_bytes())
        store.put(f"backups/shop/2026-11-2{number % 2}/{file.name}{suffix}", packed)
    command = ("--conf", conf, "--source", "shop", "--binlogs", "s3://backups/shop")
    binlake(store, "run", *command)
    ledger = len(store.files.find("lake/shop/ledger"))
    assert ledger > 0

    with server.connect() as connection:
        traffic.run(connection, 40, seed=2, create=False)
        connection.cursor().execute("FLUSH BINARY LOGS")
    for file in server.binlogs()[len(first) : -1]:
        store.put(f"backups/shop/2026-11-22/{file.name}", file.read_bytes())
    binlake(store, "run", *command)

    status = json.loads(binlake(store, "status", "--conf", conf, "--json"))
    tables = {table["table"]: table for table in status["tables"]}
    assert tables.keys() == set(TABLES)
    assert all(table["complete"] and not table["held"] for table in tables.values())
    assert tables["line"]["gold"] == f"{LAKE}/gold/{traffic.SCHEMA}/line"

    # Delta tables may be moved: these are read where this process's Spark can.
    local = tmp_path / "lake"
    store.files.get("lake/shop/", f"{local}/", recursive=True)
    for table in TABLES:
        assert_gold_equals_source(spark, server, str(local), traffic.SCHEMA, table)
    assert not [path for path in store.files.find("lake/shop/silver/_staging") if path[-1] != "/"]
    bodies = delta.read(spark, Lake(str(local)).ledger("batches")).select("body").collect()
    assert len(bodies) >= 12
    assert not any(secret in row["body"] for row in bodies for secret in CREDENTIALS.values())
    names = {row["path"] for row in delta.read(spark, Lake(str(local)).files).collect()}
    assert f"s3://backups/shop/2026-11-20/{first[0].name}.gz" in names
