"""Keys of every type, in chains and swaps, case changes and re-inserts: gold equals SELECT.

One log and one run: a table for each type, with the same history, some in MINIMAL images.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer

SCHEMA = "key_types"
TYPES = {
    "unsigned_tiny": ("TINYINT UNSIGNED", "255", "0", "128", "1"),
    "unsigned_big": ("BIGINT UNSIGNED", "18446744073709551615", "9223372036854775808", "0", "1"),
    "medium": ("MEDIUMINT", "-8388608", "8388607", "-1", "0"),
    "decimal_small": ("DECIMAL(20, 2)", "-0.01", "0.01", "999999999999999999.99", "0"),
    "decimal_65": (
        "DECIMAL(65, 30)",
        "-1e-30",
        "1e-30",
        "12345678901234567890123456789012345",
        "0",
    ),
    "double_": ("DOUBLE", "-1.5e300", "2.5", "0.1", "0"),
    "float_": ("FLOAT", "-8388608", "2.5", "0.125", "0"),
    "fixed": ("BINARY(4)", "x'00000000'", "x'00010000'", "'abc '", "x'ffffffff'"),
    "bytes": ("VARBINARY(9)", "x''", "x'00'", "x'ff00'", "'a'"),
    "instant": (
        "TIMESTAMP(6)",
        "'2020-02-29 12:00:00.000001'",
        "'2020-02-29 12:00:00'",
        "'2038-01-19 03:14:07.25'",
        "'1970-01-01 00:00:01'",
    ),
    "moment": (
        "DATETIME(6)",
        "'9999-12-31 23:59:59.999999'",
        "'1000-01-01 00:00:00'",
        "'2020-02-29 12:00:00.5'",
        "'2020-02-29 12:00:00'",
    ),
    "day": ("DATE", "'2020-02-29'", "'1000-01-01'", "'9999-12-31'", "'2021-01-01'"),
    "hours": ("TIME(3)", "'-838:59:59'", "'00:00:00.001'", "'838:59:59'", "'-00:00:00.001'"),
    "year_": ("YEAR", "1901", "2020", "2155", "2000"),
    "label": ("ENUM('b', 'a', 'ü')", "'b'", "'a'", "'ü'", "''"),
    "labels": ("SET('x', 'y')", "''", "'x'", "'x,y'", "'y'"),
    "bits": ("BIT(64)", "0", "18446744073709551615", "1", "2"),
    "flag": ("BIT(10)", "0", "1023", "1", "2"),
    "fold": ("VARCHAR(9) COLLATE utf8mb4_0900_ai_ci", "'a'", "'Bb'", "'ç '", "''"),
    "latin": ("CHAR(9) CHARACTER SET latin1", "'é'", "'z'", "'A b'", "''"),
}
MINIMAL_IMAGES = ("unsigned_tiny", "float_", "bytes", "moment", "bits", "fold")
"""A table of each kind of key that the code distinguishes. Spark has to apply the changes of these:
the images of the others are complete."""
UNIQUE = """
    CREATE TABLE promoted (v INT, x VARCHAR(9) NOT NULL, y BINARY(2) NOT NULL, UNIQUE (y, x));
    CREATE TABLE two (v INT, x INT NOT NULL, y INT NOT NULL, z INT, UNIQUE (z), UNIQUE b (x, y),
        UNIQUE a (y));
    CREATE TABLE prefix (v INT, x VARCHAR(9) NOT NULL, y INT NOT NULL, UNIQUE (x(2)), UNIQUE (y));
    CREATE TABLE composite (v INT, a INT, b VARCHAR(9), c DATE, PRIMARY KEY (c, a, b));
    INSERT INTO promoted VALUES (1, 'a', 'a'), (2, 'b', 'a');
    INSERT INTO two VALUES (1, 1, 1, NULL), (2, 2, 2, 2), (3, 3, 3, NULL);
    INSERT INTO prefix VALUES (1, 'abc', 1), (2, 'xyz', 2);
    INSERT INTO composite VALUES (1, 1, 'a', '2020-01-01'), (2, 1, 'b', '2020-01-01');
    UPDATE promoted SET x = 'A', v = 3 WHERE v = 1;
    UPDATE promoted SET y = 'b' WHERE v = 2;
    UPDATE prefix SET x = 'ABd' WHERE y = 1;
    UPDATE prefix SET y = 3 WHERE y = 2;
    SET binlog_row_image = MINIMAL;
    UPDATE two SET x = x + 10, y = y + 10;
    UPDATE two SET z = 5 WHERE v = 1;
    DELETE FROM two WHERE v = 3;
    UPDATE composite SET b = IF(b = 'a', 'c', 'a') ORDER BY b;
    UPDATE composite SET v = 9 WHERE b = 'c';
"""
STORY = """
    CREATE TABLE {t} (k {kind} NOT NULL PRIMARY KEY, v INT, w VARCHAR(9));
    INSERT INTO {t} VALUES ({a}, 1, 'a'), ({b}, 2, 'b'), ({c}, 3, 'c');
    SET binlog_row_image = {image};
    UPDATE {t} SET v = 10 WHERE k = {a};
    UPDATE {t} SET k = {d} WHERE k = {a};
    UPDATE {t} SET k = {a} WHERE k = {b};
    UPDATE {t} SET k = {b}, w = 'swapped' WHERE k = {d};
    UPDATE {t} SET v = v + 1 WHERE k = {b};
    DELETE FROM {t} WHERE k = {c};
    INSERT INTO {t} (k, w) VALUES ({c}, 'again');
    UPDATE {t} SET v = 5 WHERE k = {c};
    INSERT INTO {t} (k, v) VALUES ({d}, 4);
    DELETE FROM {t} WHERE k = {d};
    SET binlog_row_image = FULL;
"""
FOLDED = """
    SET binlog_row_image = MINIMAL;
    UPDATE fold SET k = 'A' WHERE k = 'a';
    UPDATE fold SET v = 77 WHERE k = 'á';
    UPDATE fold SET k = 'BB', w = 'upper' WHERE k = 'bb';
    DELETE FROM fold WHERE k = 'C ';
    INSERT INTO fold (k) VALUES ('Ç ');
    UPDATE latin SET k = 'É' WHERE k = 'é';
"""


def statements(script: str) -> list[str]:
    return [part.strip() for part in script.split(";\n") if part.strip()]


def test_keys_of_every_type(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.reset_logs()
    mysql.execute(f"CREATE DATABASE {SCHEMA} CHARSET utf8mb4")
    script = [
        statement
        for name, (kind, a, b, c, d) in TYPES.items()
        for image in ["MINIMAL" if name in MINIMAL_IMAGES else "FULL"]
        for statement in statements(
            STORY.format(t=name, kind=kind, a=a, b=b, c=c, d=d, image=image)
        )
    ]
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        for statement in [*script, *statements(UNIQUE), *statements(FOLDED)]:
            cursor.execute(statement)
    conf = {"source": "keys", "binlogs": str(mysql.binlog_folder), "lake": str(tmp_path)}
    reports = run_layers(spark, Settings.load(None, **conf), QuietProgress())
    assert [report.faults for report in reports] == [()] * 3
    for name in (*TYPES, "promoted", "two", "prefix", "composite"):
        assert assert_gold_equals_source(spark, mysql, str(tmp_path), SCHEMA, name) >= 2


OF_MARIADB = {
    "uuid_": (
        "UUID",
        "'123e4567-e89b-12d3-a456-426655440000'",
        "'0190163d-8694-739b-aea5-966c26f8ad91'",
        "'00000000-0000-0000-0000-000000000000'",
        "'6ccd780c-baba-1026-9564-5b8c656024db'",
    ),
    "address": ("INET6", "'::1'", "'2001:db8::ff00:42:8329'", "'::ffff:192.0.2.1'", "'::'"),
    "address4": ("INET4", "'127.0.0.1'", "'10.200.0.255'", "'0.0.0.0'", "'10.0.0.1'"),
}


DEFAULTS = """
    ALTER TABLE {t} ADD same {kind} DEFAULT {a}, ADD none {kind} NOT NULL, ADD later {kind};
    ALTER TABLE {t} ALTER later SET DEFAULT {b};
    SET binlog_row_image = {image};
    UPDATE {t} SET none = {c} WHERE k = {a};
    INSERT INTO {t} (k, none) VALUES ({d}, {a});
    SET binlog_row_image = FULL;
"""


@pytest.mark.long
def test_keys_of_mariadbs_own_types(
    spark: SparkSession, mariadb: MariaDBServer, tmp_path: Path
) -> None:
    mariadb.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mariadb.reset_logs()
    mariadb.execute(f"CREATE DATABASE {SCHEMA}")
    with mariadb.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        for image in ("MINIMAL", "FULL"):
            for name, (kind, a, b, c, d) in OF_MARIADB.items():
                table = f"{name}_{image.lower()}"
                values = {"kind": kind, "a": a, "b": b, "c": c, "d": d, "image": image}
                for statement in statements((STORY + DEFAULTS).format(t=table, **values)):
                    cursor.execute(statement)
    conf = {"source": "keys", "binlogs": str(mariadb.binlog_folder), "lake": str(tmp_path)}
    reports = run_layers(spark, Settings.load(None, **conf), QuietProgress())
    assert [report.faults for report in reports] == [()] * 3
    for name in OF_MARIADB:
        for image in ("minimal", "full"):
            table = f"{name}_{image}"
            assert assert_gold_equals_source(spark, mariadb, str(tmp_path), SCHEMA, table) >= 2


GIVEN = """
    CREATE TABLE logged (at INT, who VARCHAR(9), n INT);
    CREATE TABLE other (id INT PRIMARY KEY, at INT NOT NULL, n INT, UNIQUE (at));
    INSERT INTO logged VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3), (NULL, 'a', 4);
    INSERT INTO other VALUES (1, 10, 1), (2, 20, 2), (3, 30, 3);
    UPDATE logged SET n = 10 WHERE at = 1 AND who = 'b';
    UPDATE logged SET who = 'c' WHERE at = 2;
    UPDATE logged SET at = 7 WHERE at IS NULL;
    DELETE FROM logged WHERE at = 1 AND who = 'a';
    INSERT INTO logged VALUES (1, 'a', 5);
    UPDATE other SET at = at + 10 ORDER BY at DESC;
    UPDATE other SET n = 0, id = 5 WHERE id = 2;
    DELETE FROM other WHERE at = 20;
    INSERT INTO other VALUES (8, 10, 8);
"""


def test_keys_from_conf(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.reset_logs()
    mysql.execute(f"CREATE DATABASE {SCHEMA}")
    keys = {f"{SCHEMA}.logged": ["at", "who"], f"{SCHEMA}.other": ["at"]}
    conf = {"source": "keys", "binlogs": str(mysql.binlog_folder), "lake": str(tmp_path)}
    story = statements(GIVEN)
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        for part in (story[:4], story[4:]):
            for statement in part:
                cursor.execute(statement)
            reports = run_layers(spark, Settings.load(None, **conf, keys=keys), QuietProgress())
            assert [report.faults for report in reports] == [()] * 3
            for table in ("logged", "other"):
                assert assert_gold_equals_source(spark, mysql, str(tmp_path), SCHEMA, table) >= 3
