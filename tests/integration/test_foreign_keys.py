"""Foreign keys of real servers: what they do to child tables is in gold, logged or not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.progress import QuietProgress
from pipeline.report import LayerReport
from pipeline.run import run_layers
from pipeline.settings import Settings
from tests.support.compare import assert_gold_equals_source
from tests.support.mysql import MySQLFactory
from tests.support.server import Server

SCHEMA = "referring"
BOTH = "ON DELETE CASCADE ON UPDATE CASCADE"
NULLS = "ON DELETE SET NULL ON UPDATE SET NULL"
TABLES = {
    "p": "id INT PRIMARY KEY, v INT",
    "with_unique": "id INT PRIMARY KEY, u INT, UNIQUE (u)",
    "q": "id INT PRIMARY KEY",
    "child": f"id INT PRIMARY KEY, v TEXT, p_id INT, FOREIGN KEY (p_id) REFERENCES p (id) {BOTH}",
    "grandchild": (
        "id INT PRIMARY KEY, c_id INT NOT NULL, CONSTRAINT up FOREIGN KEY (c_id)"
        f" REFERENCES child (id) {BOTH}"
    ),
    "nulled": f"id INT PRIMARY KEY, p_id INT, v INT, FOREIGN KEY (P_ID) REFERENCES p (ID) {NULLS}",
    "by_unique": f"id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES with_unique (u) {BOTH}",
    "self_gone": (
        "id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES self_gone (id) ON DELETE CASCADE"
    ),
    "self_null": (
        "id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES self_null (id) ON DELETE SET NULL"
    ),
    "word": "k VARCHAR(9) PRIMARY KEY",
    "of_word": f"id INT PRIMARY KEY, k VARCHAR(20), FOREIGN KEY (k) REFERENCES word (k) {BOTH}",
    "pair": "a INT, b VARCHAR(9) COLLATE utf8mb4_bin, PRIMARY KEY (b, a)",
    "of_pair": (
        "a INT, n INT, b VARCHAR(20) COLLATE utf8mb4_bin, v INT, PRIMARY KEY (a, b, n),"
        f" FOREIGN KEY (b, a) REFERENCES pair (b, a) {BOTH}"
    ),
    "two": (
        f"id INT PRIMARY KEY, p_id INT, q_id INT, FOREIGN KEY (p_id) REFERENCES p (id) {BOTH},"
        " FOREIGN KEY (q_id) REFERENCES q (id) ON DELETE SET NULL ON UPDATE CASCADE"
    ),
    "keyless": f"p_id INT, v INT, FOREIGN KEY (p_id) REFERENCES p (id) {BOTH}",
    "dropped": (
        f"id INT PRIMARY KEY, p_id INT, CONSTRAINT gone FOREIGN KEY (p_id) REFERENCES p (id) {BOTH}"
    ),
}
FILL = (
    "INSERT INTO p VALUES " + ", ".join(f"({n}, {n})" for n in range(1, 31)),
    "INSERT INTO with_unique SELECT * FROM p",
    "INSERT INTO q VALUES (1), (2), (3)",
    "INSERT INTO child SELECT 10 * id, 'x', id FROM p",
    "INSERT INTO grandchild SELECT 10 * id, id FROM child",
    "INSERT INTO grandchild SELECT 10 * id + 1, id FROM child",
    "INSERT INTO nulled SELECT id, id, id FROM p",
    "INSERT INTO by_unique SELECT * FROM with_unique",
    "INSERT INTO self_gone VALUES (1, NULL), (2, 1), (3, 2), (4, 3), (5, NULL), (6, 5)",
    "INSERT INTO self_null VALUES (1, NULL), (2, 1), (3, 1), (4, 3), (5, 5)",
    "INSERT INTO pair VALUES (1, 'a'), (1, 'A'), (2, 'b'), (3, 'c')",
    "INSERT INTO of_pair VALUES (1, 1, 'a', 0), (1, 2, 'a', 0), (1, 1, 'A', 0), (2, 1, 'b', 0)",
    "INSERT INTO word VALUES ('a'), ('é'), ('x')",
    "INSERT INTO of_word VALUES (1, 'a'), (2, 'é'), (3, 'x'), (4, 'x')",
    "INSERT INTO two SELECT id, id, 1 + id % 3 FROM p",
    "INSERT INTO keyless SELECT id, id % 2 FROM p",
    "INSERT INTO keyless SELECT id, id % 2 FROM p WHERE id % 3 = 0",
    "INSERT INTO dropped SELECT id, id FROM p",
)
CHANGES = (
    "DELETE FROM p WHERE id = 1",
    "UPDATE p SET id = 102 WHERE id = 2",
    "UPDATE with_unique SET u = 103 WHERE id = 3",
    "UPDATE with_unique SET id = 104 WHERE id = 4",
    "DELETE FROM with_unique WHERE id = 5",
    "DELETE FROM p WHERE id IN (4, 5, 6)",
    "REPLACE INTO p VALUES (7, 107)",
    "REPLACE INTO with_unique VALUES (7, 107)",
    "UPDATE child SET id = 81 WHERE id = 80",
    "DELETE FROM self_gone WHERE id IN (1, 5)",
    "DELETE FROM self_null WHERE id = 1",
    "DELETE FROM self_null WHERE id = 3",
    "UPDATE pair SET a = 11, b = 'aa' WHERE b = 'a'",
    "DELETE FROM pair WHERE b = 'b'",
    "UPDATE word SET k = 'A' WHERE k = 'a'",
    "DELETE FROM word WHERE k = 'X'",
    "UPDATE q SET id = 30 WHERE id = 3",
    "DELETE FROM q WHERE id = 1",
    # children that are changed in the parent's transaction, before and after
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
    # sessions that check nothing
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
    "ALTER TABLE dropped DROP FOREIGN KEY gone",
    "DELETE FROM p WHERE id = 28",
    "DELETE FROM dropped WHERE p_id NOT IN (SELECT id FROM p)",
    "ALTER TABLE dropped ADD FOREIGN KEY (p_id) REFERENCES p (id) ON DELETE SET NULL",
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


def begin(server: Server) -> None:
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA}")
    execute(server, (f"CREATE TABLE {name} ({body})" for name, body in TABLES.items()))


def require_equal(spark: SparkSession, server: Server, lake: Path) -> None:
    reports = run(spark, server, lake)
    assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    rows = server.execute(f"SHOW TABLES FROM {SCHEMA}")
    assert {name for (name,) in rows} - {"parent", "p"} == {*TABLES} - {"p"}
    for (name,) in rows:
        assert_gold_equals_source(spark, server, str(lake), SCHEMA, name)


@pytest.mark.parametrize("native", ["ON", "OFF"])
def test_what_mysql_does_is_in_gold_once(
    spark: SparkSession, mysql_factory: MySQLFactory, tmp_path: Path, native: str
) -> None:
    server = mysql_factory(f"--innodb-native-foreign-keys={native}")
    begin(server)
    execute(server, (*FILL, *CHANGES, *(PARTIAL if native == "ON" else ()), *COMPRESSED))
    require_equal(spark, server, tmp_path)


def test_what_mariadb_does_is_in_gold(spark: SparkSession, mariadb: Server, tmp_path: Path) -> None:
    """Several batches, since definitions change: what is in gold before counts."""
    begin(mariadb)
    execute(mariadb, (*FILL, *CHANGES, *PARTIAL, *DEFINITIONS))
    require_equal(spark, mariadb, tmp_path)
