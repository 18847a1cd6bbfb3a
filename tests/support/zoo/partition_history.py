"""ALTER TABLE of partitions, as SQL: with and without the affected rows in the log."""

from __future__ import annotations

PARTITIONED = (
    (
        "CREATE TABLE ranged (id INT PRIMARY KEY, v INT) PARTITION BY RANGE (id) ("
        " PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20),"
        " PARTITION p2 VALUES LESS THAN (30) COMMENT = 'x', PARTITION p3 VALUES LESS THAN (40))"
    ),
    "INSERT INTO ranged VALUES (-5, 0), (9, 0), (10, 1), (19, 1), (20, 2), (29, 2), (30, 3)",
    "ALTER TABLE ranged DROP PARTITION p0, p2",
    "INSERT INTO ranged VALUES (-4, 4), (25, 4), (31, 4)",
    (
        "ALTER TABLE ranged REORGANIZE PARTITION p3 INTO ("
        " PARTITION p3 VALUES LESS THAN (35), PARTITION p4 VALUES LESS THAN (50))"
    ),
    "ALTER TABLE ranged ADD PARTITION (PARTITION p5 VALUES LESS THAN (60))",
    "INSERT INTO ranged VALUES (40, 5), (50, 6)",
    "ALTER TABLE ranged TRUNCATE PARTITION p1, p5",
    "INSERT INTO ranged VALUES (12, 7), (51, 7)",
    (
        "CREATE TABLE listed (id INT, r SMALLINT) PARTITION BY LIST (r) ("
        " PARTITION a VALUES IN (1, -2, NULL), PARTITION b VALUES IN (3, 4))"
    ),
    "INSERT INTO listed VALUES (1, 1), (1, 1), (2, -2), (3, NULL), (4, 3), (5, 4)",
    "ALTER TABLE listed ADD PARTITION (PARTITION c VALUES IN (5))",
    "ALTER TABLE listed TRUNCATE PARTITION a",
    "INSERT INTO listed VALUES (6, NULL), (7, 5), (8, 3)",
    "ALTER TABLE listed DROP PARTITION b",
    (
        "CREATE TABLE days (id INT, d DATETIME(2), PRIMARY KEY (id, d))"
        " PARTITION BY RANGE (TO_DAYS(d)) ("
        " PARTITION `2023` VALUES LESS THAN (TO_DAYS('2024-01-01')),"
        " PARTITION `2024` VALUES LESS THAN (739617), PARTITION p VALUES LESS THAN (MAXVALUE))"
    ),
    (
        "INSERT INTO days VALUES (1, '2023-12-31 23:59:59.99'), (2, '2024-01-01'),"
        " (3, '2024-12-31 23:59:59.99'), (4, '2025-01-01'), (5, '2026-01-01')"
    ),
    "ALTER TABLE days DROP PARTITION `2023`",
    "INSERT INTO days VALUES (6, '2023-01-01')",
    "ALTER TABLE days TRUNCATE PARTITION p",
    (
        "CREATE TABLE years (d DATE NOT NULL PRIMARY KEY) PARTITION BY RANGE COLUMNS (d) ("
        " PARTITION a VALUES LESS THAN ('2000-01-01'), PARTITION b VALUES LESS THAN (MAXVALUE))"
    ),
    "INSERT INTO years VALUES ('1999-12-31'), ('2000-01-01')",
    "ALTER TABLE years DROP PARTITION a",
    "CREATE TABLE hashed (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO hashed VALUES (1), (2), (3)",
    "ALTER TABLE hashed COALESCE PARTITION 1",
    "INSERT INTO hashed VALUES (4)",
    "ALTER TABLE hashed REMOVE PARTITIONING",
    "INSERT INTO hashed VALUES (5)",
)
HASHED = (
    "CREATE TABLE truncated (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
    "INSERT INTO truncated VALUES (1), (2), (3)",
    "ALTER TABLE truncated TRUNCATE PARTITION p1",
    "INSERT INTO truncated VALUES (4)",
    "CREATE TABLE refreshed LIKE truncated",
    "INSERT INTO refreshed VALUES (1), (2), (3)",
    "ALTER TABLE refreshed TRUNCATE PARTITION p1",
    # the reverse
    "CREATE TABLE copied LIKE refreshed",
    "INSERT INTO copied SELECT * FROM refreshed",
    "RENAME TABLE refreshed TO old_refreshed, copied TO refreshed",
    "DROP TABLE old_refreshed",
    "INSERT INTO refreshed VALUES (40)",
    (
        "CREATE TABLE exchanged (id INT PRIMARY KEY) PARTITION BY RANGE (id) ("
        " PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (20))"
    ),
    "CREATE TABLE exchanged_with (id INT PRIMARY KEY)",
    "INSERT INTO exchanged VALUES (1), (11)",
    "INSERT INTO exchanged_with VALUES (2)",
    "ALTER TABLE exchanged EXCHANGE PARTITION p0 WITH TABLE exchanged_with",
    "INSERT INTO exchanged VALUES (3)",
    "CREATE TABLE computed (id INT PRIMARY KEY, v INT)",
    "INSERT INTO computed VALUES (1, 1)",
    "ALTER TABLE computed ADD g INT AS (ROUND(v / 2)) STORED",
    "CREATE TABLE numbered (v INT)",
    "INSERT INTO numbered VALUES (1), (2)",
    "ALTER TABLE numbered ADD id INT AUTO_INCREMENT PRIMARY KEY",
)
