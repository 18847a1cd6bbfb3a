"""Histories of tables with features that only MariaDB has: types, table elements, hidden columns.

By table, which is `{}` in its statements. Each runs under every `binlog_row_metadata`.
"""

from __future__ import annotations

UUIDS = (
    "6ccd780c-baba-1026-9564-5b8c656024db",  # version 1, which tables store in another byte order
    "0190163d-8694-739b-aea5-966c26f8ad00",
    "123e4567-e89b-42d3-a456-426614174000",
    "00000000-0000-0000-0000-000000000000",
)
_ONE, _TWO, _THREE, _NIL = (f"'{uuid}'" for uuid in UUIDS)
_RAW_ONE, _RAW_TWO, _RAW_THREE, _ = (f"x'{uuid.replace('-', '')}'" for uuid in UUIDS)
_RAW_INET6 = f"x'0001{'0000' * 7}'"
_V3 = "x'0000803f0000004000004040'"
_V4 = "x'0000803f000000400000404000008040'"
_V1 = "x'0000803f'"

ADDRESSES: dict[str, tuple[str, ...]] = {
    "keyed": (
        "CREATE TABLE {} (u UUID PRIMARY KEY, n INT, i INET6, w UUID DEFAULT " + _ONE + ")",
        f"INSERT INTO {{}} VALUES ({_ONE}, 1, '::1', {_TWO}), ({_TWO}, 2, '::', NULL)",
        f"INSERT INTO {{}} VALUES ({_NIL}, 3, '1:0:3:0:5:0:7:0', {_NIL})",
        "SET binlog_row_image = MINIMAL",
        f"UPDATE {{}} SET n = 20 WHERE u = {_TWO}",
        f"UPDATE {{}} SET u = {_THREE}, i = '::ffff:1.2.3.4' WHERE u = {_ONE}",
        f"INSERT INTO {{}} (u) VALUES ({_ONE})",
        f"DELETE FROM {{}} WHERE u = {_NIL}",
        "SET binlog_row_image = FULL",
        (
            "ALTER TABLE {} ADD x UUID DEFAULT '6CCD780Cbaba102695645b8c656024db',"
            " ADD y INET6 NOT NULL, ADD z UUID NOT NULL FIRST"
        ),
        f"UPDATE {{}} SET z = u, y = '::2' WHERE u = {_THREE}",
        f"INSERT INTO {{}} (u, y, z) VALUES ({_NIL}, '::', {_TWO})",
    ),
    "converted": (
        (
            "CREATE TABLE {} (id INT PRIMARY KEY, a UUID, b UUID, c VARCHAR(40), d BINARY(16),"
            " e INET6, f VARBINARY(20), g BLOB, h CHAR(39))"
        ),
        (
            f"INSERT INTO {{}} VALUES (1, {_ONE}, {_TWO}, {_ONE}, {_RAW_ONE},"
            f" '::1.2.3.4', {_RAW_TWO}, {_RAW_INET6}, '0:0:3::0A')"
        ),
        "INSERT INTO {} VALUES (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
        (
            "ALTER TABLE {} MODIFY a BINARY(20), MODIFY b VARCHAR(36), MODIFY c UUID,"
            " MODIFY d UUID, MODIFY e VARBINARY(16), MODIFY f UUID, MODIFY g INET6, MODIFY h INET6"
        ),
        f"INSERT INTO {{}} VALUES (3, 'a', 'b', {_NIL}, {_THREE}, 'c', {_ONE}, '::', '1::')",
        "ALTER TABLE {} MODIFY c TEXT, MODIFY d BINARY(16), MODIFY f BLOB, MODIFY h CHAR(40)",
        "INSERT INTO {} VALUES (4, 'a', 'b', 'c', 'd', 'e', 'f', '::2', 'g')",
    ),
    "became": (  # BINARY(16) in the log, before and after
        "CREATE TABLE {} (id BINARY(16) PRIMARY KEY, v INT)",
        f"INSERT INTO {{}} VALUES ({_RAW_ONE}, 1), ({_RAW_TWO}, 2)",
        "ALTER TABLE {} MODIFY id UUID NOT NULL",
        f"UPDATE {{}} SET v = 10 WHERE id = {_ONE}",
        f"INSERT INTO {{}} VALUES ({_THREE}, 3)",
        "ALTER TABLE {} MODIFY id BINARY(16) NOT NULL",
        f"DELETE FROM {{}} WHERE id = {_RAW_THREE}",
    ),
    "again": (
        "CREATE TABLE {} (id INT PRIMARY KEY, u UUID)",
        f"INSERT INTO {{}} VALUES (1, {_ONE})",
        "DROP TABLE {}",
        "CREATE TABLE {} (id INT PRIMARY KEY, u BINARY(16))",
        f"INSERT INTO {{}} VALUES (1, {_RAW_ONE})",
        "CREATE OR REPLACE TABLE {} (id INT PRIMARY KEY, u INET6)",
        "INSERT INTO {} VALUES (1, '::ffff:0.0.0.1')",
    ),
    "copied": (
        "CREATE TABLE {}_of (u UUID, i INET6 NOT NULL)",
        f"INSERT INTO {{}}_of VALUES ({_ONE}, '::1'), ({_ONE}, '::1'), (NULL, '::')",
        "CREATE TABLE {}_like LIKE {}_of",
        "INSERT INTO {}_like SELECT * FROM {}_of",
        "CREATE TABLE {} AS SELECT * FROM {}_of",
        "RENAME TABLE {}_like TO {}_renamed",
        f"DELETE FROM {{}}_renamed WHERE u = {_ONE} LIMIT 1",
    ),
    "parents": (
        "CREATE TABLE {} (u UUID PRIMARY KEY, n INT)",
        (
            "CREATE TABLE {}_children (id INT PRIMARY KEY, p UUID,"
            " FOREIGN KEY (p) REFERENCES {} (u) ON UPDATE CASCADE ON DELETE SET NULL)"
        ),
        f"INSERT INTO {{}} VALUES ({_ONE}, 1), ({_TWO}, 2)",
        f"INSERT INTO {{}}_children VALUES (1, {_ONE}), (2, {_ONE}), (3, {_TWO})",
        f"UPDATE {{}} SET u = {_THREE} WHERE u = {_ONE}",
        f"DELETE FROM {{}} WHERE u = {_TWO}",
    ),
}
"""For MariaDB 10.11 and newer."""

ELEMENTS: dict[str, tuple[str, ...]] = {
    "periods": (
        (
            "CREATE TABLE {} (id INT, s DATE, e DATE, PERIOD FOR p (s, e), v INT,"
            " PRIMARY KEY (id, p WITHOUT OVERLAPS))"
        ),
        "INSERT INTO {} VALUES (1, '2020-01-01', '2021-01-01', 5)",
        "DELETE FROM {} FOR PORTION OF p FROM '2020-03-01' TO '2020-04-01'",
        "UPDATE {} FOR PORTION OF p FROM '2020-01-15' TO '2020-02-01' SET v = 6",
        "SET binlog_row_image = MINIMAL",
        "UPDATE {} SET v = 7 WHERE v = 5",
        "SET binlog_row_image = FULL",
        "ALTER TABLE {} DROP PRIMARY KEY, DROP PERIOD FOR p",
        "INSERT INTO {} VALUES (1, '2020-01-01', '2020-02-01', 5)",
        "ALTER TABLE {} ADD PERIOD IF NOT EXISTS FOR q (s, e)",
        "INSERT INTO {} VALUES (1, '2020-01-01', '2020-02-02', 5)",
        "DELETE FROM {}",
        (
            "ALTER TABLE {} ADD (w INT DEFAULT 3, CHECK (w > 0), INDEX (w) IGNORED),"
            " ADD UNIQUE u (v, w, q WITHOUT OVERLAPS)"
        ),
        "INSERT INTO {} VALUES (7, '2020-01-01', '2020-02-02', 6, 1)",
        "ALTER TABLE {} DROP KEY u, DROP PERIOD IF EXISTS FOR q",
        "INSERT INTO {} VALUES (9, '2020-01-01', '2020-02-02', 6, 1)",
    ),
    "named": (  # also the first word of other table elements
        "CREATE TABLE {} (period INT, `check` INT, id INT PRIMARY KEY, system INT, `vector` INT)",
        "INSERT INTO {} VALUES (1, 2, 3, 4, 5)",
        "ALTER TABLE {} DROP COLUMN period, DROP `vector`, ADD COLUMN period VARCHAR(3)",
        "INSERT INTO {} VALUES (2, 30, 4, 'x')",
    ),
    "elements": (
        (
            "CREATE TABLE {} (id INT PRIMARY KEY, t TEXT, g POINT NOT NULL,"
            " CONSTRAINT c CHECK (id > 0), FULLTEXT f (t), SPATIAL KEY (g),"
            " KEY k (id DESC) IGNORED, x INT COMMENT 'CHECK (' CHECK (x > 0),"
            " CONSTRAINT CHECK (x < 10))"
        ),
        "INSERT INTO {} VALUES (1, 'a', POINT(1, 2), 3)",
        (
            "ALTER TABLE {} ADD CONSTRAINT IF NOT EXISTS cc CHECK (id > 0),"
            " DROP CONSTRAINT IF EXISTS c, ADD KEY IF NOT EXISTS k2 (x),"
            " RENAME INDEX IF EXISTS k TO k3, ADD FULLTEXT INDEX IF NOT EXISTS f2 (t),"
            " ADD y INT INVISIBLE DEFAULT 3 CHECK (y > 0)"
        ),
        "INSERT INTO {} (id, t, g, x, y) VALUES (2, 'a', POINT(1, 2), 3, 4)",
        (
            "ALTER TABLE {} DROP CONSTRAINT PRIMARY KEY, ADD CONSTRAINT PRIMARY KEY (id, x),"
            " ADD COLUMN IF NOT EXISTS (z INT, y INT), DROP FOREIGN KEY IF EXISTS nosuch,"
            " ALTER COLUMN IF EXISTS nosuch SET DEFAULT 3, ALTER INDEX k2 IGNORED"
        ),
        "INSERT INTO {} (id, t, g, x, y, z) VALUES (3, 'a', POINT(1, 2), 3, 4, 5)",
        "DELETE FROM {} WHERE id = 1",
    ),
    "hashed": (
        (
            "CREATE TABLE {} (id INT PRIMARY KEY, b BLOB UNIQUE, t TEXT NOT NULL, UNIQUE (t),"
            " n INT UNIQUE, w VARCHAR(9), UNIQUE h (w) USING HASH, UNIQUE (id, b), j JSON)"
        ),
        "INSERT INTO {} VALUES (1, 'x', 'y', 2, 'z', '[]'), (2, NULL, 'yy', 3, NULL, NULL)",
        "SET binlog_row_image = MINIMAL",
        "UPDATE {} SET t = 'yyy' WHERE id = 2",
        "SET binlog_row_image = FULL",
        "ALTER TABLE {} ADD c BIGINT FIRST, DROP INDEX h",
        "INSERT INTO {} VALUES (5, 3, 'x2', 'y2', 4, 'z', '[]')",
        "ALTER TABLE {} DROP INDEX t, ADD d BIGINT",
        "INSERT INTO {} VALUES (5, 4, 'x3', 'y2', 5, 'z', '[]', 8)",
        "ALTER TABLE {} DROP INDEX b, DROP INDEX id",
        "UPDATE {} SET n = 9 WHERE id = 1",
    ),
    "packed": (
        (
            "CREATE TABLE {} (id INT PRIMARY KEY, a VARCHAR(99) COMPRESSED CHARACTER SET latin1,"
            " b TEXT COMPRESSED=zlib CHARACTER SET ucs2 NOT NULL, c BLOB COMPRESSED)"
        ),
        "INSERT INTO {} VALUES (1, 'é', 'é', x'00'), (2, REPEAT('ß', 99), REPEAT('é', 500), NULL)",
        "ALTER TABLE {} MODIFY a VARCHAR(99) CHARACTER SET utf8mb4, ADD d INT DEFAULT 4",
        "UPDATE {} SET a = 'ł' WHERE id = 1",
    ),
}
"""The same for table elements other than columns, and for columns that SELECT * omits."""

NEWEST: dict[str, tuple[str, ...]] = {
    "vectors": (
        "CREATE TABLE {} (id INT PRIMARY KEY, v VECTOR(3) NOT NULL, VECTOR INDEX (v))",
        f"INSERT INTO {{}} VALUES (1, {_V3})",
        "ALTER TABLE {} DROP INDEX v, ADD VECTOR INDEX vi (v) M=8 DISTANCE=cosine",
        f"INSERT INTO {{}} VALUES (2, {_V3})",
        "DROP INDEX vi ON {}",
        "CREATE VECTOR INDEX IF NOT EXISTS vj ON {} (v) M=4",
        "ALTER TABLE {} ADD w VECTOR(1)",
        f"INSERT INTO {{}} VALUES (3, {_V3}, {_V1})",
        "CREATE OR REPLACE VECTOR INDEX vj ON {} (v)",
        "ALTER TABLE {} DROP KEY vj, MODIFY v VECTOR(4) NOT NULL, MODIFY w VECTOR(2)",
        f"INSERT INTO {{}} VALUES (4, {_V4}, NULL)",
    ),
    "vector_elements": (
        (
            "CREATE TABLE {} (VECTOR vk (`vector`), id INT PRIMARY KEY,"
            " `vector` VECTOR(1) NOT NULL, u UUID)"
        ),
        f"INSERT INTO {{}} VALUES (1, {_V1}, {_ONE})",
        "ALTER TABLE {} DROP INDEX vk",
        "ALTER TABLE {} ADD (x INT, VECTOR KEY IF NOT EXISTS (`vector`))",
        f"INSERT INTO {{}} VALUES (2, {_V1}, {_TWO}, 2)",
        "ALTER TABLE {} ALTER INDEX `vector` IGNORED",
        "UPDATE {} SET `vector` = x'00000000' WHERE id = 1",
    ),
    "bytes_to_vector": (
        "CREATE TABLE {} (id INT PRIMARY KEY, v VARBINARY(12))",
        f"INSERT INTO {{}} VALUES (1, {_V3}), (2, NULL)",
        "ALTER TABLE {} MODIFY v VECTOR(3)",
        f"INSERT INTO {{}} VALUES (3, {_V3})",
    ),
    "mapped": (
        "CREATE TABLE {} (id INT PRIMARY KEY, i INET4, j INET4, k INET4)",
        "INSERT INTO {} VALUES (1, '1.2.3.4', '255.0.2.0', '9.8.7.6'), (2, NULL, '0.0.0.0', NULL)",
        "ALTER TABLE {} MODIFY i INET6, MODIFY k BINARY(6), ADD l INET4 NOT NULL",
        "INSERT INTO {} VALUES (3, '::ffff:1.2.3.5', '1.0.0.0', 'abc', '1.1.1.1')",
        "ALTER TABLE {} MODIFY j VARCHAR(15)",
        "DELETE FROM {} WHERE id = 2",
    ),
}
"""For the newest release: VECTOR (11.7), INET4 to INET6 (11.3)."""
