"""Foreign keys of real servers: gold has their effect on child tables, logged or not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.lake import Lake
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.server import Server

SCHEMA = "referring"
BOTH = "ON DELETE CASCADE ON UPDATE CASCADE"
NULLS = "ON DELETE SET NULL ON UPDATE SET NULL"
TABLES = {
    "p": "id INT PRIMARY KEY, v INT",
    "q": (
        "id INT, a INT, b VARCHAR(9) COLLATE utf8mb4_bin, k VARCHAR(9), up INT, other INT,"
        " PRIMARY KEY (b, a), UNIQUE (id), UNIQUE (k),"
        " FOREIGN KEY (up) REFERENCES q (id) ON DELETE CASCADE,"
        " FOREIGN KEY (other) REFERENCES q (id) ON DELETE SET NULL"
    ),
    "child": f"id INT PRIMARY KEY, v TEXT, p_id INT, FOREIGN KEY (p_id) REFERENCES p (id) {BOTH}",
    "grandchild": (
        "id INT PRIMARY KEY, c_id INT, q_id INT, k VARCHAR(20),"
        f" CONSTRAINT up FOREIGN KEY (c_id) REFERENCES child (id) {BOTH},"
        " FOREIGN KEY (q_id) REFERENCES q (id) ON DELETE SET NULL ON UPDATE CASCADE,"
        f" FOREIGN KEY (k) REFERENCES q (k) {BOTH}"
    ),
    "nulled": (
        "id INT PRIMARY KEY, p_id INT, v INT,"
        f" CONSTRAINT gone FOREIGN KEY (P_ID) REFERENCES p (ID) {NULLS}"
    ),
    "keyless": f"p_id INT, v INT, FOREIGN KEY (p_id) REFERENCES p (id) {BOTH}",
    "of_pair": (
        "a INT, n INT, b VARCHAR(20) COLLATE utf8mb4_bin, v INT, PRIMARY KEY (a, b, n),"
        f" FOREIGN KEY (b, a) REFERENCES q (b, a) {BOTH}"
    ),
}
LOGGED = ("p", "child", "nulled")
OF_P = ("p", "q", "child", "grandchild", "nulled")
"""Tables changed by `CHANGES_OF_P` and the following ones; q has no rows then."""
FILL = {
    "p": "INSERT INTO p VALUES " + ", ".join(f"({n}, {n})" for n in range(1, 31)),
    "child": "INSERT INTO child SELECT 10 * id, 'x', id FROM p",
    "grandchild": (
        "INSERT INTO grandchild SELECT 10 * id, id, NULL, NULL FROM child"
        " UNION ALL SELECT 10 * child.id + 1, child.id, q.id, NULL"
        " FROM child LEFT JOIN q ON q.id = 1 + child.id DIV 10 % 3"
        " UNION ALL SELECT -id, NULL, id, NULL FROM q"
        " UNION ALL SELECT -100 - id, NULL, NULL, k FROM q"
    ),
    "nulled": "INSERT INTO nulled SELECT id, id, id FROM p",
    "keyless": (
        "INSERT INTO keyless"
        " SELECT id, id % 2 FROM p UNION ALL SELECT id, id % 2 FROM p WHERE id % 3 = 0"
    ),
    "of_pair": (
        "INSERT INTO of_pair VALUES (1, 1, 'a', 0), (1, 2, 'a', 0), (1, 1, 'A', 0), (2, 1, 'b', 0),"
        " (5, 1, 'e', 0)"
    ),
}
FILL_Q = (
    (
        "INSERT INTO q (id, a, b, k) VALUES (1, 1, 'a', 'a'), (2, 1, 'A', 'é'), (3, 2, 'b', 'x'),"
        " (4, 3, 'c', 'w'), (5, 5, 'e', 'v'), (6, 6, 'f', 'u'), (7, 7, 'g', 't')"
    ),
    (
        "INSERT INTO q (id, a, b, up) VALUES (51, 51, 's', NULL), (52, 52, 's', 51),"
        " (53, 53, 's', 52), (54, 54, 's', 53), (55, 55, 's', NULL), (56, 56, 's', 55)"
    ),
    (
        "INSERT INTO q (id, a, b, other) VALUES (61, 61, 's', NULL), (62, 62, 's', 61),"
        " (63, 63, 's', 61), (64, 64, 's', 63), (65, 65, 's', 65)"
    ),
)
CHANGES_OF_P = (
    "DELETE FROM p WHERE id = 1",
    "UPDATE p SET id = 102 WHERE id = 2",
    "DELETE FROM p WHERE id IN (4, 5, 6)",
    "REPLACE INTO p VALUES (7, 107)",
    "UPDATE child SET id = 81 WHERE id = 80",
    # children that also change in the parent's transaction, before and after
    "BEGIN",
    "UPDATE child SET p_id = 10 WHERE id = 90",
    "INSERT INTO child VALUES (1000, 'y', 9)",
    "UPDATE nulled SET v = -1 WHERE id = 9",
    "DELETE FROM p WHERE id = 9",
    "UPDATE nulled SET v = v - 1, p_id = 10 WHERE id = 9",
    "INSERT INTO p VALUES (9, 9)",
    "INSERT INTO child VALUES (1000, 'z', 9)",
    "UPDATE p SET id = 110 WHERE id = 10",
    "DELETE FROM p WHERE id = 110",
    "COMMIT",
    # sessions with foreign_key_checks off
    "SET foreign_key_checks = 0",
    "DELETE FROM p WHERE id = 11",
    "UPDATE p SET id = 112 WHERE id = 12",
    "SET foreign_key_checks = 1",
    "BEGIN",
    "DELETE FROM p WHERE id = 13",
    "SET foreign_key_checks = 0",
    "DELETE FROM p WHERE id = 14",
    "SET foreign_key_checks = 1",
    "DELETE FROM p WHERE id = 15",
    "ROLLBACK",
    "BEGIN",
    "DELETE FROM p WHERE id = 16",
    "SET foreign_key_checks = 0",
    "DELETE FROM p WHERE id = 17",
    "SET foreign_key_checks = 1",
    "DELETE FROM p WHERE id = 18",
    "COMMIT",
    "XA START 'x'",
    "DELETE FROM p WHERE id = 19",
    "UPDATE p SET id = 120 WHERE id = 20",
    "XA END 'x'",
    "XA PREPARE 'x'",
    "XA COMMIT 'x'",
)
CHANGES_OF_Q = (
    "DELETE FROM q WHERE id IN (51, 55)",
    "DELETE FROM q WHERE id = 61",
    "DELETE FROM q WHERE id = 63",
    "UPDATE q SET a = 11, b = 'aa' WHERE b = 'a'",
    "UPDATE q SET k = 'A' WHERE k = 'a'",
    "UPDATE q SET id = 30 WHERE id = 3",
    "DELETE FROM q WHERE k = 'X'",
    "UPDATE q SET id = 40 WHERE id = 4",
    "DELETE FROM q WHERE id = 2",
    "DELETE FROM q WHERE b = 'e'",
    "UPDATE q SET a = 16 WHERE id = 6",
    "REPLACE INTO q (id, a, b, k) VALUES (7, 17, 'g', 's')",
)
PARTIAL = (
    "SET binlog_row_image = MINIMAL",
    "UPDATE nulled SET v = 5 WHERE id = 21",
    "DELETE FROM p WHERE id = 21",
    "UPDATE p SET id = 122 WHERE id = 22",
    "UPDATE grandchild SET id = 1 WHERE id = 2300",
    "UPDATE child SET p_id = 24 WHERE id = 230",
    "DELETE FROM p WHERE id = 24",
    "SET binlog_row_image = FULL",
)
COMPRESSED = (
    "SET binlog_transaction_compression = ON",
    "BEGIN",
    "DELETE FROM p WHERE id = 25",
    "SET foreign_key_checks = 0",
    "DELETE FROM p WHERE id = 26",
    "SET foreign_key_checks = 1",
    "UPDATE child SET v = 'later' WHERE id = 260",
    "UPDATE p SET id = 127 WHERE id = 27",
    "DELETE FROM child WHERE id = 270",
    "COMMIT",
    "SET binlog_transaction_compression = OFF",
)
DEFINITIONS = (
    "ALTER TABLE nulled DROP FOREIGN KEY gone",
    "DELETE FROM p WHERE id = 28",
    "DELETE FROM nulled WHERE p_id NOT IN (SELECT id FROM p)",
    "ALTER TABLE nulled ADD FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE CASCADE",
    "ALTER TABLE p CHANGE id number INT",
    "RENAME TABLE p TO parent",
    "DELETE FROM parent WHERE number = 29",
)


def execute(server: Server, statements: Iterable[str]) -> None:
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)


def run(spark: SparkSession, server: Server, lake: Path) -> list[LayerReport]:
    settings = Settings.load(
        None, source="e2e", binlogs=str(server.binlog_folder), lake=str(lake), parallel_tables=4
    )
    return run_layers(spark, settings, QuietProgress())


def begin(server: Server, tables: Iterable[str]) -> None:
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA}")
    execute(server, [f"CREATE TABLE {name} ({TABLES[name]})" for name in tables])


def fill(server: Server, tables: Iterable[str]) -> None:
    execute(server, [FILL[name] for name in tables if name in FILL])


def require_equal(spark: SparkSession, server: Server, lake: Path, tables: Iterable[str]) -> None:
    reports = run(spark, server, lake)
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    rows = server.execute(f"SHOW TABLES FROM {SCHEMA}")
    assert {name for (name,) in rows} == {*tables}
    for name in tables:
        assert_gold_equals_source(spark, server, str(lake), SCHEMA, name)


def test_cascades_that_mysql_does_not_log_are_in_gold(
    spark: SparkSession, mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    server = mysql_factory("--innodb-native-foreign-keys=ON")
    begin(server, TABLES)
    execute(server, FILL_Q)
    fill(server, TABLES)
    execute(server, (*CHANGES_OF_P, *CHANGES_OF_Q, *PARTIAL, *COMPRESSED))
    require_equal(spark, server, tmp_path, TABLES)


def test_cascades_that_mysql_logs_are_not_applied_twice(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    """Applying a cascade twice may yield the same rows, so require that gold computed none."""
    assert mysql.execute("SELECT @@innodb_native_foreign_keys") == [(0,)]
    begin(mysql, LOGGED)
    fill(mysql, LOGGED)
    execute(mysql, (*CHANGES_OF_P, *COMPRESSED))
    require_equal(spark, mysql, tmp_path, LOGGED)
    assert not Path(Lake(str(tmp_path)).cascades).exists()


@pytest.mark.long
def test_cascades_of_mariadb_are_in_gold(
    spark: SparkSession, mariadb: Server, tmp_path: Path
) -> None:
    """In several batches, since definitions change: gold's earlier rows matter."""
    begin(mariadb, OF_P)
    fill(mariadb, OF_P)
    execute(mariadb, (*CHANGES_OF_P, *PARTIAL, *DEFINITIONS))
    require_equal(spark, mariadb, tmp_path, {*OF_P, "parent"} - {"p"})


IN_DOUBT = (
    "CREATE TABLE texts (k VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY)",
    "CREATE TABLE left_out (id INT PRIMARY KEY)",
    "CREATE TABLE sure (id INT PRIMARY KEY)",
    (
        "CREATE TABLE of_texts (id INT PRIMARY KEY, k VARCHAR(9) COLLATE utf8mb4_general_ci,"
        " FOREIGN KEY (k) REFERENCES texts (k) ON DELETE CASCADE)"
    ),
    (
        "CREATE TABLE of_left_out (id INT PRIMARY KEY, up INT,"
        " FOREIGN KEY (up) REFERENCES left_out (id) ON DELETE CASCADE)"
    ),
    (
        "CREATE TABLE below (id INT PRIMARY KEY, up INT,"
        " FOREIGN KEY (up) REFERENCES of_left_out (id) ON DELETE SET NULL)"
    ),
    (
        "CREATE TABLE of_sure (id INT PRIMARY KEY, up INT,"
        " FOREIGN KEY (up) REFERENCES sure (id) ON DELETE CASCADE)"
    ),
    "INSERT INTO texts VALUES ('A'), ('b')",
    "INSERT INTO left_out VALUES (1), (2)",
    "INSERT INTO sure VALUES (1), (2)",
    "INSERT INTO of_texts VALUES (1, 'a'), (2, 'B')",
    "INSERT INTO of_left_out VALUES (1, 1), (2, 2)",
    "INSERT INTO below VALUES (1, 1), (2, 2)",
    "INSERT INTO of_sure VALUES (1, 1), (2, 2)",
    "DELETE FROM texts WHERE k = 'a'",
    "DELETE FROM left_out WHERE id = 1",
    "DELETE FROM sure WHERE id = 1",
)


def test_a_child_whose_rows_cannot_be_determined_is_held_with_the_reason(
    spark: SparkSession, mariadb: Server, tmp_path: Path
) -> None:
    begin(mariadb, ())
    execute(mariadb, IN_DOUBT)
    place = {"binlogs": str(mariadb.binlog_folder), "lake": str(tmp_path)}
    settings = Settings.load(None, source="e2e", exclude=[f"{SCHEMA}.left_out"], **place)
    faults = run_layers(spark, settings, QuietProgress())[-1].faults
    reasons = {fault.split(" ")[0].removeprefix(f"{SCHEMA}."): fault for fault in faults}
    assert "depends on their collation" in reasons.pop("of_texts")
    of_left_out = reasons.pop("of_left_out")
    assert f"changes of {SCHEMA}.left_out are not applied" in of_left_out
    assert "CREATE TABLE … LIKE" in of_left_out
    assert "below" in reasons.pop("below")
    assert not reasons
    for table in ("texts", "sure", "of_sure"):
        assert_gold_equals_source(spark, mariadb, str(tmp_path), SCHEMA, table)
