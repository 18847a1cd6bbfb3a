"""Generated columns that MariaDB omits from row images: gold equals SELECT."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.servers.mariadb import MariaDBServer

TABLES = """
    CREATE TABLE numbers (id INT PRIMARY KEY, a INT, b BIGINT, d DECIMAL(9,3), other INT,
        v INT AS (a + 1) VIRTUAL, p INT AS (a * 2 - b) PERSISTENT, i INT AS (-a) VIRTUAL,
        dep INT AS (p + v) VIRTUAL, small TINYINT AS (a + 100) PERSISTENT,
        whole INT AS (d * 3) PERSISTENT, cut DECIMAL(5,1) AS (d * a) PERSISTENT,
        half INT AS (a DIV 3) PERSISTENT, rest INT AS (MOD(a, 3)) VIRTUAL,
        sign INT AS (IF(a > 0, 1, IF(a < 0, -1, 0))) PERSISTENT, far INT AS (ABS(a)) PERSISTENT,
        big BIGINT UNSIGNED AS (b + 1) VIRTUAL, some INT AS (COALESCE(a, other, 7)) PERSISTENT,
        what VARCHAR(9) AS (CASE WHEN a IS NULL THEN 'none' WHEN a < b THEN 'less' ELSE 'more' END)
            PERSISTENT,
        is_null TINYINT AS (a IS NULL) PERSISTENT, both_ TINYINT AS (a > 1 AND NOT b <= 3) VIRTUAL,
        opposite INT AS (NULLIF(a, b)) VIRTUAL, KEY (i));
    CREATE TABLE texts (id INT PRIMARY KEY, first VARCHAR(20), note TEXT, n INT,
        last VARCHAR(20) CHARACTER SET latin1,
        full VARCHAR(60) AS (CONCAT(first, ' ', n)) PERSISTENT,
        low VARCHAR(20) AS (LOWER(first)) PERSISTENT,
        up VARCHAR(20) AS (UPPER(last)) PERSISTENT, ini CHAR(1) AS (LEFT(first, 1)) PERSISTENT,
        ends VARCHAR(3) AS (RIGHT(first, 3)) PERSISTENT, mid VARCHAR(9) AS (SUBSTR(first, 2, 3)),
        len INT AS (CHAR_LENGTH(first)) PERSISTENT, hash CHAR(32) AS (MD5(first)) PERSISTENT,
        sha CHAR(40) AS (SHA1(last)) PERSISTENT, longer CHAR(64) AS (SHA2(first, 256)) PERSISTENT,
        crc INT UNSIGNED AS (CRC32(first)) PERSISTENT, known VARCHAR(20) AS (IFNULL(first, '-')),
        trimmed VARCHAR(20) AS (TRIM(first)), joined VARCHAR(99) AS (CONCAT_WS('/', first, n)),
        big TEXT AS (CONCAT(note, '!')) PERSISTENT);
    CREATE TABLE hashed (id INT PRIMARY KEY, note TEXT, n INT,
        big TEXT AS (CONCAT(note, '!')) PERSISTENT, UNIQUE (note));
    CREATE TABLE documents (id INT PRIMARY KEY, j JSON,
        a INT AS (JSON_VALUE(j, '$.a')) PERSISTENT, price DECIMAL(9,2) AS (JSON_VALUE(j, '$.p')),
        name VARCHAR(30) AS (JSON_VALUE(j, '$.n.first')) PERSISTENT,
        raw VARCHAR(30) AS (JSON_EXTRACT(j, '$.n.first')) VIRTUAL,
        plain VARCHAR(30) AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.n.first'))) VIRTUAL,
        flag TINYINT AS (JSON_VALUE(j, '$.f')) PERSISTENT,
        shown VARCHAR(9) AS (JSON_UNQUOTE(JSON_EXTRACT(j, '$.f'))) VIRTUAL);
    CREATE TABLE times (id INT PRIMARY KEY, at DATETIME(3) NOT NULL, day DATE NOT NULL,
        seen TIMESTAMP NULL, n INT,
        y INT AS (YEAR(at)) PERSISTENT, m TINYINT AS (MONTH(day)) PERSISTENT,
        d INT AS (DAY(at)) VIRTUAL, q INT AS (QUARTER(day)), h INT AS (HOUR(at)) PERSISTENT,
        mi INT AS (MINUTE(at)), s INT AS (SECOND(at)), dd DATE AS (DATE(at)) PERSISTENT);
    CREATE TABLE keyless (a INT, b INT, v INT AS (a + 1) VIRTUAL, p INT AS (a + b) PERSISTENT);
    CREATE TABLE unknown_kept (id INT PRIMARY KEY, a INT, t VARCHAR(20), n INT,
        p VARCHAR(40) AS (REVERSE(t)) PERSISTENT, v DOUBLE AS (SQRT(a)) VIRTUAL);
    CREATE TABLE renamed (id INT PRIMARY KEY, a INT, p INT AS (a + 1) PERSISTENT);
    CREATE TABLE unknown_changed (id INT PRIMARY KEY, t VARCHAR(20),
        p VARCHAR(40) AS (REVERSE(t)) PERSISTENT)
"""
ROWS = """
    INSERT INTO numbers (id, a, b, d) VALUES (1, 1, 1, 1.5), (2, NULL, 2, -2.125), (3, -7, 3, NULL),
        (4, 5, NULL, 99.999), (5, 20, 4, 0.166);
    UPDATE numbers SET other = 3 WHERE id < 100;
    UPDATE numbers SET a = a + 1 WHERE id < 4;
    UPDATE numbers SET b = 9, d = d * 2 WHERE id = 4;
    UPDATE numbers SET a = 27, d = 100.55 WHERE id = 5;
    UPDATE numbers SET a = NULL WHERE id = 4;
    UPDATE numbers SET id = 14 WHERE id = 4;
    UPDATE numbers SET d = 0.5 WHERE id = 14;
    INSERT INTO numbers (id, a, b) VALUES (1, 9, 9) ON DUPLICATE KEY UPDATE a = 9;
    DELETE FROM numbers WHERE id = 3;
    SET sql_mode = '';
    UPDATE numbers SET a = 90 WHERE id = 1;
    UPDATE numbers SET a = -300, d = -5 WHERE id = 2;
    UPDATE numbers SET d = 9999.5 WHERE id = 1;
    SET sql_mode = DEFAULT;
    INSERT INTO texts (id, first, last, note, n) VALUES (1, 'Ann', 'Lee', 'x', 1),
        (2, 'Zoë', 'Müller', 'é', 2), (3, NULL, NULL, NULL, NULL), (4, ' bob ', 'O''Neil', 'y', 4);
    UPDATE texts SET n = 10 WHERE id < 100;
    UPDATE texts SET first = 'Bertha' WHERE id = 1;
    UPDATE texts SET last = 'Ray', n = 7 WHERE id IN (2, 3);
    UPDATE texts SET note = 'ü changed' WHERE id = 2;
    UPDATE texts SET first = 'Cy ' WHERE id = 3;
    DELETE FROM texts WHERE id = 4;
    INSERT INTO hashed (id, note) VALUES (1, 'a'), (2, 'b');
    UPDATE hashed SET note = 'c' WHERE id = 1;
    UPDATE hashed SET n = 5 WHERE id < 100;
    DELETE FROM hashed WHERE id = 2;
    INSERT INTO documents (id, j) VALUES (1, '{"a": 1, "p": 9.99, "n": {"first": "Ann"}}'),
        (2, '{}'), (3, NULL), (4, '{"a": 44, "f": true}');
    UPDATE documents SET j = '{"a": 2, "p": 1.005, "f": false, "n": {"first": "Zoë"}}' WHERE id = 1;
    UPDATE documents SET j = '{"p": -3, "n": {"first": "x"}}' WHERE id IN (2, 3);
    UPDATE documents SET id = 40 WHERE id = 4;
    INSERT INTO times (id, at, day, n) VALUES (1, '2024-02-29 23:59:58.9', '1999-12-31', 1),
        (2, '1000-01-01 00:00:00', '9999-12-31', 2);
    UPDATE times SET n = 3 WHERE id < 100;
    UPDATE times SET at = '2031-07-04 05:06:07.89' WHERE id = 1;
    UPDATE times SET day = '2000-02-29' WHERE id = 2;
    INSERT INTO keyless (a, b) VALUES (1, 1), (1, 1), (2, NULL);
    UPDATE keyless SET a = 5 WHERE a = 1 LIMIT 1;
    UPDATE keyless SET b = 7 WHERE b IS NULL;
    DELETE FROM keyless WHERE a = 1;
    INSERT INTO unknown_kept (id, a, t) VALUES (1, 4, 'abc'), (2, 9, 'déf');
    UPDATE unknown_kept SET n = 5;
    UPDATE unknown_kept SET id = 12 WHERE id = 2;
    DELETE FROM unknown_kept WHERE id = 1;
    INSERT INTO renamed (id, a) VALUES (1, 1), (2, 2);
    ALTER TABLE renamed RENAME COLUMN a TO `b c`;
    UPDATE renamed SET `b c` = 5 WHERE id = 1;
    SET binlog_row_image = MINIMAL; UPDATE renamed SET `b c` = 7 WHERE id = 2;
    SET binlog_row_image = FULL; ALTER TABLE renamed ADD COLUMN late INT AS (p * 2) PERSISTENT;
    UPDATE renamed SET `b c` = 6 WHERE id = 1;
    SET binlog_row_image = MINIMAL; UPDATE renamed SET `b c` = 8 WHERE id = 2;
    INSERT INTO unknown_changed (id, t) VALUES (1, 'abc');
    UPDATE unknown_changed SET t = 'xyz'
"""
SCHEMA = "generated"
IMAGES = {
    "MINIMAL": ("MINIMAL", "numbers texts times keyless"),
    "NOBLOB": ("FULL", "texts hashed"),
    "FULL_NODUP": ("FULL", "numbers keyless hashed unknown_changed"),
    "FULL": ("NO_LOG", "numbers texts documents times keyless unknown_kept renamed"),
}
"""By row image: the metadata setting, and the tables whose statements are logged with both."""
KEPT = """
    SET sql_mode = '';
    UPDATE numbers SET id = id + {0} WHERE id < 100;
    UPDATE texts SET id = id + {0} WHERE id < 100;
    UPDATE times SET id = id + {0} WHERE id < 100;
    UPDATE hashed SET id = id + {0}, note = CONCAT(note, {0}) WHERE id < 100;
    UPDATE numbers SET a = 4, d = 2.5 WHERE id = {0} + 1;
    UPDATE texts SET first = 'Dan', last = 'Roy', note = 'z' WHERE id = {0} + 1;
    UPDATE times SET at = '2030-01-02 03:04:05.6', day = '2001-01-01' WHERE id = {0} + 1;
    UPDATE hashed SET note = CONCAT('d', {0}) WHERE id = {0} + 1;
    UPDATE hashed SET n = 6 WHERE id > {0}
"""
"""Moves the new rows to higher ids, which makes room for the same statements under the next image.

One row of each image ends with a change of the columns that others are generated from; the other
rows keep what was computed, rounded, clamped or omitted before.
"""


def split(script: str) -> list[str]:
    return [statement.strip() for statement in script.split(";\n") if statement.strip()]


def of_tables(statements: Sequence[str], tables: Collection[str]) -> list[str]:
    """Return the statements about one of the tables, or about none."""
    others = {statement.split()[2] for statement in split(TABLES)} - {*tables}
    return [statement for statement in statements if not others.intersection(statement.split())]


def play(server: MariaDBServer, images: Sequence[str]) -> None:
    """Run the same statements under each image, for its tables."""
    tables = {name for image in images for name in IMAGES[image][1].split()}
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA} CHARSET utf8mb4")
    server.execute(f"USE {SCHEMA}; {';'.join(of_tables(split(TABLES), tables))}")
    for number, image in enumerate(images, 1):
        metadata, names = IMAGES[image]
        server.execute(f"SET GLOBAL binlog_row_metadata = {metadata}")
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            cursor.execute(f"SET binlog_row_image = {image}")
            kept = split(KEPT.format(100 * number)) if image != images[-1] else ()
            statements = [*split(ROWS), *kept]
            for statement in of_tables(statements, names.split()):
                cursor.execute(statement)


@pytest.mark.parametrize(
    ("fixture", "images", "held"),
    [
        ("newest_mariadb", list(IMAGES), [f"{SCHEMA}.unknown_changed"]),
        pytest.param("mariadb", ["MINIMAL", "FULL"], [], marks=pytest.mark.long),
    ],
)
def test_gold_has_generated_values_that_are_not_logged(
    spark: SparkSession,
    request: pytest.FixtureRequest,
    run: Run,
    tmp_path: Path,
    fixture: str,
    images: Sequence[str],
    held: Sequence[str],
) -> None:
    server: MariaDBServer = request.getfixturevalue(fixture)
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    server.reset_logs()
    try:
        play(server, images)
    finally:
        server.execute("SET GLOBAL binlog_row_metadata = FULL")
    reports = run(server.binlog_folder, tmp_path)
    assert [report.gaps for report in reports] == [()] * 3
    faults = [fault for report in reports for fault in report.faults]
    assert [fault.split(" is held")[0] for fault in faults] == held, faults
    for fault in reports[-1].faults:
        assert "p (generated as REVERSE(t): REVERSE in its expression)" in fault
        assert "docs/reference/types.md" in fault
    for (name,) in server.execute(f"SHOW TABLES FROM {SCHEMA}"):
        if f"{SCHEMA}.{name}" not in held:
            assert assert_gold_equals_source(spark, server, str(tmp_path), SCHEMA, name), name
