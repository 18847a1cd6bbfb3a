"""Histories of tables that change in every way that DDL allows, as SQL."""

from __future__ import annotations

SCHEMA = "evolving"
ODD_SCHEMA = "Größe d.q`x"
FILES = 2
FILL = "INSERT INTO {} VALUES (1, 'a', 10), (2, 'b', NULL), (3, NULL, 30)"
TABLE = "CREATE TABLE {} (id INT PRIMARY KEY, v VARCHAR(20), `n.o` INT)"

# By table: ALTERs, with rows in between that only the right definition can decode.
ALTERED: dict[str, tuple[str, ...]] = {
    "adds": (
        (
            "ALTER TABLE {} ADD a INT NOT NULL DEFAULT 7 FIRST,"
            " ADD b CHAR(5) DEFAULT 'x ' AFTER id,"
            " ADD (c DATETIME(3) DEFAULT '2024-01-01 01:02:03.5', d DECIMAL(8,2) DEFAULT (1.5 + 1))"
        ),
        "INSERT INTO {} (id) VALUES (4)",
        (
            "ALTER TABLE {} ADD h VARBINARY(4) NOT NULL DEFAULT x'00ff',"
            " ADD i INT INVISIBLE DEFAULT 3, ADD e ENUM('p','q') NOT NULL,"
            " ADD t TIMESTAMP NULL DEFAULT '2024-06-01 12:00:00'"
        ),
        "UPDATE {} SET e = 'q', i = NULL WHERE id = 2",
        "ALTER TABLE {} ALTER COLUMN a SET DEFAULT 8, DROP COLUMN v",
        "INSERT INTO {} (id, h) VALUES (5, 'x')",
    ),
    "drops": (
        "ALTER TABLE {} DROP COLUMN v, ALGORITHM = INSTANT",
        "INSERT INTO {} VALUES (4, 40)",
        "ALTER TABLE {} ADD v BIGINT DEFAULT 7 AFTER id, DROP `n.o`, ALGORITHM = INSTANT",
        "UPDATE {} SET v = 8 WHERE id = 2",
    ),
    "moves": (
        "ALTER TABLE {} MODIFY `n.o` INT FIRST, ADD x DATE DEFAULT '2024-02-29' AFTER id",
        "INSERT INTO {} VALUES (40, 4, '2020-01-01', 'd')",
        "ALTER TABLE {} MODIFY id INT NOT NULL AFTER v",
        "DELETE FROM {} WHERE id = 1",
    ),
    "converts": (
        "ALTER TABLE {} MODIFY id BIGINT, MODIFY v CHAR(10), MODIFY `n.o` DECIMAL(12,3)",
        "INSERT INTO {} VALUES (5000000000, 'd', 1.125)",
        (
            "ALTER TABLE {} CHANGE `n.o` v INT, CHANGE v `n.o` TEXT, DROP PRIMARY KEY,"
            " ADD PRIMARY KEY (id)"
        ),
        "UPDATE {} SET v = 9 WHERE id = 3",
    ),
    "labels": (
        (
            "ALTER TABLE {} ADD e ENUM('a','b') NOT NULL DEFAULT 'b',"
            " ADD s SET('x','y') DEFAULT 'y,x', MODIFY v VARCHAR(20) CHARACTER SET latin1"
        ),
        "INSERT INTO {} VALUES (4, 'ü', 40, 'a', '')",
        (
            "ALTER TABLE {} MODIFY e ENUM('z','b','a','n') NOT NULL, MODIFY s SET('x','y','z'),"
            " CONVERT TO CHARACTER SET utf8mb4"
        ),
        "INSERT INTO {} VALUES (5, '表', 50, 'n', 'x,z')",
        "ALTER TABLE {} MODIFY e VARCHAR(3)",
        "UPDATE {} SET e = 'any' WHERE id = 2",
    ),
    "rekeyed": (
        "UPDATE {} SET v = 'c' WHERE id = 3",
        (
            "ALTER TABLE {} DROP PRIMARY KEY, MODIFY v VARCHAR(20) NOT NULL DEFAULT '',"
            " ADD PRIMARY KEY (v, id)"
        ),
        "UPDATE {} SET id = 9 WHERE id = 2",
        "INSERT INTO {} VALUES (1, 'other', 1)",
        "ALTER TABLE {} DROP PRIMARY KEY, ADD UNIQUE KEY u (id, v)",
        "UPDATE {} SET v = 'z' WHERE id = 9",
        "ALTER TABLE {} CHANGE id number INT NOT NULL, DROP KEY u, ADD PRIMARY KEY (number, v)",
        "DELETE FROM {} WHERE number = 3",
    ),
    "promoted": (
        "ALTER TABLE {} DROP PRIMARY KEY",
        "INSERT INTO {} VALUES (3, NULL, 30), (3, NULL, 30)",
        "DELETE FROM {} WHERE id = 3 LIMIT 2",
        "CREATE UNIQUE INDEX u ON {} (id)",
        "UPDATE {} SET id = 7 WHERE id = 1",
        "ALTER TABLE {} DROP INDEX u",
        "INSERT INTO {} VALUES (7, 'a', 10)",
        "UPDATE {} SET v = 'one of two' WHERE id = 7 LIMIT 1",
    ),
    "empties": (
        "TRUNCATE TABLE {}",
        "INSERT INTO {} VALUES (1, 'again', 1)",
        "ALTER TABLE {} DROP v",
        "TRUNCATE TABLE {}",
        "INSERT INTO {} VALUES (1, 3)",
    ),
    "unread": (
        "CREATE INDEX i ON {} (v)",
        "ALTER TABLE {} ALTER COLUMN v SET DEFAULT 'x', ADD INDEX j (`n.o`), COMMENT 'DROP v'",
        "ANALYZE TABLE {}",
        "DROP INDEX i ON {}",
        "ALTER TABLE {} ENGINE = InnoDB, ALGORITHM = COPY",
        "INSERT INTO {} VALUES (7, 'ü', 7)",
    ),
    "again": (
        "DROP TABLE {}",
        "CREATE TABLE {} (v INT, id VARCHAR(9) PRIMARY KEY)",
        "INSERT INTO {} VALUES (1, 'a')",
        "UPDATE {} SET v = 2",
    ),
}
BY_FILE = (
    *("converts", "rekeyed", "promoted", "renames", "ranged", "truncated", "exchanged*"),
    *("a", "b", "tmp", "c d", "e", "ctas", "a2", "refreshed", "copied", "old_refreshed"),
)
"""Tables (patterns) that are also applied in one run per file."""
ALTERED_ON_MYSQL: dict[str, tuple[str, ...]] = {
    "renames": (
        "ALTER TABLE {} RENAME COLUMN v TO `w ``x`, RENAME COLUMN `n.o` TO n",
        "INSERT INTO {} VALUES (4, 'd', 40)",
        "ALTER TABLE {} RENAME COLUMN `w ``x` TO n, RENAME COLUMN n TO v",
        "UPDATE {} SET n = 'swapped', v = 5 WHERE id = 1",
        "ALTER TABLE {} CHANGE v `Größe` INT, CHANGE n N VARCHAR(20)",
        "INSERT INTO {} VALUES (5, 'e', 50)",
    ),
}
RENAMED = (
    "CREATE TABLE a (id INT PRIMARY KEY, x INT)",
    "INSERT INTO a VALUES (1, 10), (2, 20)",
    "CREATE TABLE b (y VARCHAR(9), id BIGINT PRIMARY KEY)",
    "INSERT INTO b VALUES ('b', 1), ('bb', 3)",
    "RENAME TABLE a TO tmp, b TO a, tmp TO b",
    "INSERT INTO a VALUES ('was b', 7)",
    "UPDATE b SET x = 11 WHERE id = 1",
    "ALTER TABLE a ADD z INT DEFAULT 3, RENAME TO `c d`",
    "DELETE FROM `c d` WHERE id = 3",
    "CREATE TABLE a LIKE b",
    "INSERT INTO a VALUES (5, 50)",
    "RENAME TABLE a TO e, `c d` TO a",
    "INSERT INTO a VALUES ('end', 9, 9)",
    "CREATE TABLE ctas (PRIMARY KEY (id)) AS SELECT * FROM a",
    "UPDATE ctas SET z = 0",
    "RENAME TABLE b TO a2, a TO b, a2 TO a",
)
ONLINE = (  # as pt-online-schema-change does; the ghost table is replicated, too
    "CREATE TABLE osc (id INT PRIMARY KEY, v INT)",
    "INSERT INTO osc VALUES (1, 1), (2, 2)",
    "CREATE TABLE _osc_new LIKE osc",
    "ALTER TABLE _osc_new ADD COLUMN w INT NOT NULL DEFAULT 4, MODIFY v BIGINT",
    (
        "CREATE TRIGGER osc_ins AFTER INSERT ON osc FOR EACH ROW"
        " REPLACE INTO _osc_new (id, v) VALUES (NEW.id, NEW.v)"
    ),
    "INSERT INTO osc VALUES (3, 3)",
    "INSERT IGNORE INTO _osc_new (id, v) SELECT id, v FROM osc",
    "RENAME TABLE osc TO _osc_old, _osc_new TO osc",
    "DROP TABLE IF EXISTS _osc_old",
    "INSERT INTO osc VALUES (4, 4, 4)",
)
GENERATED = (
    (
        "CREATE TABLE made (id INT PRIMARY KEY, v VARCHAR(10), n DECIMAL(5,2),"
        " hid INT INVISIBLE, st INT AS (id * 2) STORED, vi VARCHAR(20) AS (CONCAT(v, n)) VIRTUAL)"
    ),
    "INSERT INTO made (id, v, n, hid) VALUES (1, 'a', 1.5, 9), (2, NULL, 2, NULL)",
    "ALTER TABLE made ADD w INT DEFAULT 3 AFTER id, MODIFY v VARCHAR(20)",
    "UPDATE made SET n = 4, w = 1 WHERE id = 2",
    "ALTER TABLE made DROP COLUMN st",
    "INSERT INTO made (id, v, n) VALUES (2147483647, 'ü ', -999.99)",
    (
        "ALTER TABLE made ADD (product DECIMAL(20,3) AS (n * id - 0.5) STORED,"
        " said VARCHAR(60) AS (CONCAT(v, ' ''', id, '%', hid)) STORED,"
        " even INT AS (MOD(id, 2)) STORED,"
        " head CHAR(3) AS (LEFT(v, 2)) STORED,"
        " kind VARCHAR(9) AS (CASE WHEN n < 0 THEN 'less' WHEN n IS NULL THEN v ELSE 'more' END)"
        " STORED, sum BIGINT AS (CRC32(id)) STORED, far BIGINT AS (COALESCE(hid, 0) + ABS(n))"
        " STORED)"
    ),
    # for whose values there is no check that they fit
    "ALTER TABLE made ADD (r INT AS (n * (id - w)) VIRTUAL, `bigger than` INT AS (ID + 1))",
    "INSERT INTO made (id, v) VALUES (3, 'c')",
)
NAMES = (
    f"CREATE DATABASE `{ODD_SCHEMA.replace('`', '``')}`",
    f"USE `{ODD_SCHEMA.replace('`', '``')}`",
    'CREATE TABLE `Or.ders` (`i d` INT PRIMARY KEY, `a.b` INT, `"q` INT, `x``y` INT, `表` INT)',
    "CREATE TABLE `or.ders` (id INT PRIMARY KEY)",
    "INSERT INTO `Or.ders` VALUES (1, 2, 3, 4, 5)",
    "INSERT INTO `or.ders` VALUES (1)",
    "ALTER TABLE `Or.ders` ADD `c,;d` INT DEFAULT 6 AFTER `a.b`, RENAME COLUMN `x``y` TO `X'Y`",
    "UPDATE `Or.ders` SET `c,;d` = 7",
    "TRUNCATE TABLE `or.ders`",
    f"USE {SCHEMA}",
)
DATABASES = (
    "CREATE DATABASE gone",
    "CREATE TABLE gone.t (id INT PRIMARY KEY)",
    "INSERT INTO gone.t VALUES (1)",
    "DROP DATABASE gone",
    "CREATE DATABASE gone",
    "CREATE TABLE gone.t (name VARCHAR(9) PRIMARY KEY, id INT)",
    "INSERT INTO gone.t VALUES ('a', 1)",
    "CREATE TABLE gone.u (id INT PRIMARY KEY)",
    "INSERT INTO gone.u VALUES (1)",
    "DROP TABLE gone.u",
    # to another schema, swapped with another table there, and back
    "CREATE TABLE moves_out (id INT PRIMARY KEY, v VARCHAR(9))",
    "INSERT INTO moves_out VALUES (1, 'a'), (2, 'b')",
    f"RENAME TABLE {SCHEMA}.moves_out TO gone.moved",
    "UPDATE gone.moved SET v = 'moved' WHERE id = 1",
    f"ALTER TABLE gone.moved ADD w INT DEFAULT 5, RENAME TO {SCHEMA}.moved",
    f"INSERT INTO {SCHEMA}.moved VALUES (3, 'c', 3)",
    f"RENAME TABLE gone.t TO {SCHEMA}.tmp2, {SCHEMA}.moved TO gone.t, {SCHEMA}.tmp2 TO moved",
    "INSERT INTO moved VALUES ('was gone', 2)",
    "DELETE FROM gone.t WHERE id = 2",
)
NOTHING = (  # change no replicated column, parsable or not
    "CREATE TABLE stays (v INT, id VARCHAR(9) PRIMARY KEY)",
    "INSERT INTO stays VALUES (1, 'a')",
    "CREATE USER IF NOT EXISTS 'ddl'@'%'",
    "GRANT SELECT ON *.* TO 'ddl'@'%'",
    "DROP USER 'ddl'@'%'",
    "CREATE VIEW seen AS SELECT * FROM stays",
    "RENAME TABLE seen TO seen2",
    "DROP VIEW seen2",
    "CREATE PROCEDURE does() BEGIN DROP TABLE IF EXISTS nosuch; SELECT 'ALTER TABLE stays'; END",
    "DROP PROCEDURE does",
    "CREATE TRIGGER tr BEFORE INSERT ON stays FOR EACH ROW SET NEW.v = NEW.v + 1",
    "INSERT INTO stays VALUES (5, 'trigger')",
    "DROP TRIGGER tr",
    "CREATE EVENT ev ON SCHEDULE EVERY 1 YEAR DO TRUNCATE TABLE stays",
    "ALTER EVENT ev DISABLE",
    "DROP EVENT ev",
    "CREATE FUNCTION f(x INT) RETURNS INT DETERMINISTIC RETURN x /*!99999 DROP TABLE stays */",
    "DROP FUNCTION f",
    f"ALTER DATABASE {SCHEMA} CHARACTER SET latin1",
    f"ALTER DATABASE {SCHEMA} CHARACTER SET utf8mb4",
    "/* TRUNCATE TABLE stays */ FLUSH TABLES",
    "DROP TABLE IF EXISTS nosuch, nosuch2",
    "CREATE TABLE IF NOT EXISTS stays (other INT)",
    "CREATE TEMPORARY TABLE stays (x INT)",
    "INSERT INTO stays VALUES (1)",
    "TRUNCATE TABLE stays",
    "ALTER TABLE stays ADD y INT",
    "DROP TEMPORARY TABLE stays",
)
OF_MYSQL = (
    "SET SESSION sql_generate_invisible_primary_key = ON",
    "CREATE TABLE keyed_unseen (a INT)",
    "INSERT INTO keyed_unseen VALUES (1), (1)",
    "ALTER TABLE keyed_unseen ADD b INT DEFAULT 2",
    "DELETE FROM keyed_unseen LIMIT 1",
    "SET SESSION sql_generate_invisible_primary_key = OFF",
    "SET SESSION sql_log_bin = OFF",
    "CREATE TABLE unseen (id INT PRIMARY KEY, v INT)",
    "SET SESSION sql_log_bin = ON",
    "CREATE TABLE like_unseen LIKE unseen",
    "TRUNCATE TABLE like_unseen",
    "ALTER TABLE like_unseen ADD w INT",
    "RENAME TABLE like_unseen TO like_seen",
    "INSERT INTO like_seen VALUES (1, 2, 3)",
    "SET SESSION sql_log_bin = OFF",
    "DROP TABLE unseen",
    "SET SESSION sql_log_bin = ON",
    "SET SESSION binlog_format = STATEMENT",
    "CREATE TABLE stated AS SELECT 1 AS one",
    "SET SESSION binlog_format = ROW",
    "CREATE TABLE black (id INT PRIMARY KEY) ENGINE = BLACKHOLE",
    "INSERT INTO black VALUES (1)",
    "CREATE TABLE black2 LIKE black",
    "INSERT INTO black2 VALUES (1)",
)
OF_MARIADB = (
    (
        "CREATE TABLE made (id INT PRIMARY KEY, v VARCHAR(10), hid INT INVISIBLE,"
        " st INT AS (id * 2) STORED, vi VARCHAR(20) AS (CONCAT(v, id)) VIRTUAL)"
    ),
    "INSERT INTO made (id, v, hid) VALUES (1, 'a', 9), (2, NULL, NULL)",
    "ALTER TABLE made ADD w INT DEFAULT 3 AFTER id",
    "UPDATE made SET v = 'b', w = 1 WHERE id = 2",
    "ALTER TABLE made DROP COLUMN st, ADD product BIGINT AS (id * w) STORED",
    "INSERT INTO made (id, v) VALUES (3, 'ü ')",
    "CREATE TABLE IF NOT EXISTS Maria (Id INT PRIMARY KEY, v INT)",
    "INSERT INTO maria VALUES (1, 1), (2, 2)",
    (
        "ALTER TABLE IF EXISTS MARIA ADD COLUMN IF NOT EXISTS v INT,"
        " ADD COLUMN IF NOT EXISTS w INT DEFAULT 5"
    ),
    "ALTER TABLE maria DROP COLUMN IF EXISTS nosuch, MODIFY COLUMN IF EXISTS v BIGINT",
    "INSERT INTO Maria VALUES (3, 3, 3)",
    "ALTER TABLE IF EXISTS nosuch ADD x INT",
    "CREATE INDEX IF NOT EXISTS i ON Maria (v)",
    "DROP INDEX IF EXISTS i ON Maria",
    "CREATE TABLE Replaced (id INT PRIMARY KEY)",
    "INSERT INTO replaced VALUES (1)",
    (
        "CREATE OR REPLACE TABLE Replaced (v VARCHAR(3), id INT PRIMARY KEY,"
        " w INT /*M!100301 INVISIBLE */)"
    ),
    "INSERT INTO Replaced (id, v) VALUES (2, 'b')",
    "CREATE OR REPLACE TABLE Selected (PRIMARY KEY (Id)) SELECT * FROM MARIA",
    "UPDATE Selected SET v = 0 WHERE Id = 2",
    "RENAME TABLE Replaced TO Other, Selected TO Replaced, Other TO Selected",
    "INSERT INTO Selected (id) VALUES (7)",
    "TRUNCATE TABLE MARIA",
    "INSERT INTO MARIA VALUES (9, 9, 9)",
    "CREATE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING",
    "INSERT INTO versioned VALUES (1, 1)",
    "UPDATE versioned SET v = 2",
    "CREATE TABLE versioned2 LIKE versioned",
    "INSERT INTO versioned2 VALUES (1, 1)",
    "CREATE SEQUENCE numbers",
    "SELECT NEXTVAL(numbers)",
    "CREATE OR REPLACE SEQUENCE numbers START WITH 5",
    "SELECT NEXTVAL(numbers)",
    "ALTER SEQUENCE numbers RESTART 50",
    "CREATE TABLE dropped (id INT PRIMARY KEY)",
    "INSERT INTO dropped VALUES (1)",
    "DROP TABLE IF EXISTS Dropped, Nosuch",
    "CREATE TABLE repeated (id INT PRIMARY KEY, v INT)",
    "INSERT INTO repeated VALUES (1, 1), (2, 1)",
    "ALTER IGNORE TABLE repeated ADD UNIQUE (v)",
)
