"""Features that only MariaDB has, under each binlog_row_metadata, in one log: gold equals
SELECT.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.run import run_command
from pipeline.settings import Settings
from pipeline.verify.run import verify_with_server
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mariadb import NewestMariaDBServer
from tests.support.zoo.mariadb_changes import ADDRESSES, ELEMENTS, NEWEST, UUIDS

SCHEMA = "only_mariadb"
METADATA = ("NO_LOG", "MINIMAL", "FULL")


TABLES = {**ADDRESSES, **ELEMENTS, **NEWEST}
FEW = ("keyed", "converted", "became", "parents", "periods", "hashed", "vectors", "mapped")
TURNS = [(FEW, 0), *(pytest.param(TABLES, n, marks=pytest.mark.long) for n in range(3))]


@pytest.mark.parametrize(("names", "turn"), TURNS)
def test_gold_equals_the_source(
    spark: SparkSession,
    newest_mariadb: NewestMariaDBServer,
    run: Run,
    tmp_path: Path,
    names: Collection[str],
    turn: int,
) -> None:
    """Each table is logged under one of the settings, in the other rounds under another.

    The log is applied in one run, and in the other rounds in two.
    """
    server, tables = newest_mariadb, {name: TABLES[name] for name in names}
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4")
    try:
        for part in range(2):
            for number, (table, statements) in enumerate(tables.items(), turn):
                server.execute(f"SET GLOBAL binlog_row_metadata = {METADATA[number % 3]}")
                middle = len(statements) // 2
                with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
                    for statement in statements[middle:] if part else statements[:middle]:
                        cursor.execute(statement.replace("{}", table))
            if part or turn:
                reports = run(server.binlog_folder, tmp_path)
                assert [report.faults for report in reports] == [()] * 3
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")
    found = server.execute(
        "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s", [SCHEMA]
    )
    assert {name for (name,) in found} > set(tables)
    for (table,) in found:
        assert assert_gold_equals_source(spark, server, str(tmp_path), SCHEMA, table)


OLDER = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE older (u UUID PRIMARY KEY, i INET6, j INET4, v VECTOR(1), n INT);
    INSERT INTO older VALUES
        ('{UUIDS[0]}', '::1', '1.2.3.4', x'0000803f', 1), ('{UUIDS[1]}', '::', NULL, NULL, 2);
"""
LATER = f"""
    USE {SCHEMA};
    UPDATE older SET n = 10, i = '::ffff:1.2.3.4' WHERE u = '{UUIDS[0]}';
    INSERT INTO older VALUES ('{UUIDS[2]}', '1::', '0.0.0.0', x'00000000', 3);
    DELETE FROM older WHERE u = '{UUIDS[1]}';
"""


def test_a_seed_supplies_the_types_of_a_table_that_precedes_the_log(
    spark: SparkSession, newest_mariadb: NewestMariaDBServer, tmp_path: Path
) -> None:
    server = newest_mariadb
    server.execute(OLDER)
    server.reset_logs()
    settings = Settings.load(
        None,
        source="older",
        binlogs=str(server.binlog_folder),
        lake=str(tmp_path),
        include=[f"{SCHEMA}.*"],
        server=f"mysql://root@127.0.0.1:{server.port}",
    )
    (report,) = run_command(spark, settings, QuietProgress(), "seed")
    assert report.faults == ()
    server.execute(LATER)
    reports = run_layers(spark, settings, QuietProgress())
    assert [report.faults for report in reports] == [()] * 3
    assert assert_gold_equals_source(spark, server, str(tmp_path), SCHEMA, "older") == 2
    found = verify_with_server(spark, settings, QuietProgress(), patience=0)
    assert found.against is not None
    assert (found.against.differences, found.against.compared) == ((), 1)
