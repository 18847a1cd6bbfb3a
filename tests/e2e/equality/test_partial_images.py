"""Partial row images and JSON diffs: gold equals SELECT, run after run."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.observe import LayerReport
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers.mariadb import NewestMariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server
from tests.support.zoo import partial_history

SCHEMA = "partial_to_gold"
TABLES = """
    CREATE TABLE keyless (a INT DEFAULT 3, b INT, j JSON, c TEXT);
    CREATE TABLE all_key (a INT, b INT DEFAULT 1, PRIMARY KEY (a, b));
    CREATE TABLE promoted (c INT, x INT NOT NULL, a INT NOT NULL, b INT DEFAULT 2, UNIQUE ux (x),
        UNIQUE (a));
    CREATE TABLE default_key (id INT DEFAULT 5 PRIMARY KEY, a INT, b INT NOT NULL DEFAULT 6);
    CREATE TABLE blobs (id INT PRIMARY KEY, a INT DEFAULT 7, t TEXT, u BLOB);
    CREATE TABLE defaults (
        id INT AUTO_INCREMENT PRIMARY KEY, a INT DEFAULT 7, b INT, c INT NOT NULL,
        d TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3), e DATETIME(3) ON UPDATE CURRENT_TIMESTAMP(3),
        f INT DEFAULT (1 + 1), g VARCHAR(40) DEFAULT (uuid()), l ENUM('x', 'y') NOT NULL,
        m SET('p', 'q') NOT NULL DEFAULT 'q', o TEXT NOT NULL, p DATE NOT NULL DEFAULT '2020-02-29',
        q TIMESTAMP NOT NULL DEFAULT '2020-02-29 12:00:00', r VARCHAR(10) NOT NULL DEFAULT 'é ü',
        s BINARY(4) NOT NULL, u BIT(3) NOT NULL DEFAULT b'101', w YEAR NOT NULL, x TIME NOT NULL,
        y DECIMAL(65, 30) NOT NULL DEFAULT -0.5, z CHAR(5) DEFAULT 'ab  ')
"""
BEGUN = """
    INSERT INTO keyless (b) VALUES (1), (1), (2);
    INSERT INTO all_key VALUES (1, 1), (2, 2), (3, 3);
    INSERT INTO promoted (a, x) VALUES (1, 2), (2, 3);
    INSERT INTO default_key (a) VALUES (1);
    INSERT INTO blobs (id) VALUES (1), (2);
    INSERT INTO blobs (id, t) VALUES (3, 'three');
    INSERT INTO defaults () VALUES ();
"""
"""First rows, to which gold needs no Spark: it applies what follows to rows that are there."""
OTHERS = """
    UPDATE keyless SET b = 3 WHERE b = 1 LIMIT 1;
    INSERT INTO keyless (b, j) VALUES (2, '{"a": 1}');
    DELETE FROM keyless WHERE b = 2 LIMIT 1;
    UPDATE keyless SET c = 'x', j = '[]' WHERE b = 3;
    INSERT INTO all_key (a) VALUES (5);
    UPDATE all_key SET a = a + 10 WHERE b = 1;
    UPDATE all_key SET b = 3 WHERE a = 2;
    DELETE FROM all_key WHERE a = 3;
    UPDATE promoted SET c = 5 WHERE a = 1;
    UPDATE promoted SET x = x + 10;
    UPDATE promoted SET a = 6 WHERE a = 1;
    DELETE FROM promoted WHERE a = 2;
    UPDATE default_key SET a = 2 WHERE id = 5;
    ALTER TABLE default_key ALTER id SET DEFAULT 8, ALTER b SET DEFAULT 9;
    INSERT INTO default_key (a) VALUES (3);
    UPDATE default_key SET id = 7 WHERE id = 8;
    INSERT INTO default_key (b) VALUES (DEFAULT);
    ALTER TABLE default_key ADD c INT DEFAULT 4, ALTER b DROP DEFAULT, RENAME COLUMN a TO d;
    INSERT INTO default_key (id) VALUES (20);
    UPDATE blobs SET a = a + 1;
    UPDATE blobs SET t = 'y', u = x'00ff' WHERE id = 2;
    UPDATE blobs SET id = id + 10 WHERE id > 1;
    DELETE FROM blobs WHERE id = 13;
    INSERT INTO blobs (id, a) VALUES (3, NULL);
    INSERT INTO defaults (a, r) VALUES (DEFAULT, 'r'), (NULL, 's');
    SET time_zone = '+05:00';
    ALTER TABLE defaults MODIFY q TIMESTAMP NULL DEFAULT '2021-01-01 03:00:00',
        ALTER a SET DEFAULT 8;
    SET time_zone = '+00:00';
    INSERT INTO defaults (b) SELECT 1;
    UPDATE defaults SET b = 2 WHERE id < 3;
    INSERT INTO defaults (id, c) VALUES (1, 5), (50, 5) ON DUPLICATE KEY UPDATE c = 6;
"""
BEGUN_ON_MYSQL = """
    CREATE TABLE tickets (id INT AUTO_INCREMENT PRIMARY KEY, stub CHAR(1) NOT NULL UNIQUE,
        n INT DEFAULT 4, m INT);
    REPLACE INTO tickets (stub, m) VALUES ('a', 1);
    CREATE TABLE computed (id INT PRIMARY KEY, a INT DEFAULT 7, b INT, h INT AS (a + 1) STORED,
        i INT AS (a + 2) VIRTUAL);
    INSERT INTO computed (id) VALUES (1), (2);
"""
REPLACED = """
    UPDATE tickets SET n = 9;
    REPLACE INTO tickets (stub) VALUES ('a');
    REPLACE INTO tickets (stub) VALUES ('a');
    UPDATE tickets SET m = 5;
    REPLACE INTO tickets (stub, n) VALUES ('b', 1), ('a', 2);
    UPDATE computed SET b = 9 WHERE id = 1;
    UPDATE computed SET a = 10 WHERE id = 2;
"""
COMPUTED = """
    CREATE TABLE computed (id INT PRIMARY KEY, a INT DEFAULT 7, i INT AS (a + 2) VIRTUAL);
    SET binlog_row_image = 'FULL';
    INSERT INTO computed (id) VALUES (1);
    SET binlog_row_image = 'MINIMAL';
    UPDATE computed SET a = 8;
"""


def split(script: str) -> list[str]:
    return [statement.strip() for statement in script.split(";\n") if statement.strip()]


def mixed(chance: random.Random, *histories: Sequence[str]) -> Iterator[str]:
    """Interleave the statements of several histories, each in its own order."""
    left = [list(history) for history in histories]
    while any(left):
        yield chance.choices(left, [len(history) for history in left])[0].pop(0)


def play(server: Server, statements: Sequence[str], images: Sequence[str]) -> None:
    """Run statements, each with a random row image that the server allows for it."""
    chance = random.Random(len(statements))
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        for statement in statements:
            if isinstance(server, MySQLServer):
                compressed = chance.choice(("ON", "OFF"))
                cursor.execute(f"SET binlog_transaction_compression = {compressed}")
                cursor.execute(partial_history.settings(chance))
            elif "binlog_row_image" not in statement:
                cursor.execute(f"SET binlog_row_image = '{chance.choice(images)}'")
            if statement.startswith("INSERT INTO") and "computed" not in statement:
                cursor.execute("SET binlog_row_image = 'MINIMAL'")
            cursor.execute(statement)


def begin(server: Server) -> None:
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    server.execute(f"CREATE DATABASE {SCHEMA}")


def assert_equal(spark: SparkSession, server: Server, lake: Path) -> None:
    for (name,) in server.execute(f"SHOW TABLES FROM {SCHEMA}"):
        assert assert_gold_equals_source(spark, server, str(lake), SCHEMA, name)


def clean(reports: Sequence[LayerReport]) -> bool:
    return [(report.faults, report.gaps) for report in reports] == [((), ())] * 3


def test_gold_equals_the_source(
    spark: SparkSession, mysql: MySQLServer, run: Run, tmp_path: Path
) -> None:
    chance = random.Random(11)
    begin(mysql)
    documents = list(partial_history.statements(chance))
    play(mysql, [partial_history.CREATE, *split(TABLES)], ())
    for part in (
        mixed(chance, documents[:40], split(BEGUN), split(BEGUN_ON_MYSQL)),
        mixed(chance, documents[40:90], split(OTHERS), split(REPLACED)),
    ):
        play(mysql, list(part), ())
        assert clean(run(mysql.binlog_folder, tmp_path))
    assert_equal(spark, mysql, tmp_path)


@pytest.mark.long
def test_gold_equals_a_mariadb(
    spark: SparkSession, newest_mariadb: NewestMariaDBServer, run: Run, tmp_path: Path
) -> None:
    begin(newest_mariadb)
    images = ("MINIMAL", "NOBLOB", "FULL_NODUP", "FULL")
    play(newest_mariadb, [*split(TABLES), *split(BEGUN), *split(OTHERS), *split(COMPUTED)], images)
    assert clean(run(newest_mariadb.binlog_folder, tmp_path))
    assert_equal(spark, newest_mariadb, tmp_path)
