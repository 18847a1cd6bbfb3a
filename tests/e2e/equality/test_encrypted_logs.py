"""A source that encrypts its logs: with its keyring, gold equals SELECT."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from decoder.constants import MAGIC, MAGIC_ENCRYPTED
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory

TABLES = ("account", "digest")


def test_gold_equals_the_server_after_a_key_rotation_and_the_end_of_encryption(
    spark: SparkSession, mysql_factory: MySQLFactory, run: Run, tmp_path: Path
) -> None:
    keyring, lake = tmp_path / "keyring", tmp_path / "lake"
    server = mysql_factory("--binlog-encryption=ON", "--max-binlog-size=16384", keyring=keyring)
    with server.connect() as connection:
        traffic.run(connection, 60, seed=1, create=True)
        connection.cursor().execute("ALTER INSTANCE ROTATE BINLOG MASTER KEY")
        traffic.run(connection, 60, seed=2, create=False)
        connection.cursor().execute("SET GLOBAL binlog_encryption = OFF")
        traffic.run(connection, 60, seed=3, create=False)
    reports = run(
        server.binlog_folder,
        lake,
        encryption={"keyring": str(keyring)},
        include=[f"{traffic.SCHEMA}.{table}" for table in TABLES],
    )
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    for table in TABLES:
        assert_gold_equals_source(spark, server, str(lake), traffic.SCHEMA, table)
    magics = [file.read_bytes()[:4] for file in server.binlogs()]
    assert magics == sorted(magics), "encrypted ones first"
    assert magics.count(MAGIC_ENCRYPTED) > 2
    assert magics.count(MAGIC) > 1
