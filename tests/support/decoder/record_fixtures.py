"""Record tests/data from a real MySQL server; run as a module from the repository's root.

python -m tests.support.decoder.record_fixtures [NAME…]

Each recording is one binary log file of a separate server, small enough to mutate byte by byte in
tests. Times, UUIDs and ports differ between recordings, so tests do not depend on them. "encrypted"
is a folder: a log with `binlog_encryption=ON`, the server's keyring, and in `plain` the same log as
the server itself sends it, decrypted.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.support.servers.mysql import MySQLServer

DATA = Path(__file__).parent.parent.parent / "data"
ENCRYPTED = "encrypted"
SERVER_OPTIONS = ("--innodb-buffer-pool-size=32M", "--log-bin-trust-function-creators=ON")


@dataclass(frozen=True)
class Recording:
    """A recording of the log file in which one session runs `statements`.

    `before` runs in an earlier file (`FLUSH BINARY LOGS` between the two).
    """

    statements: tuple[str, ...]
    options: tuple[str, ...] = ()
    before: tuple[str, ...] = ()


ZOO = """
CREATE TABLE zoo (
  id INT UNSIGNED NOT NULL, y YEAR, ti TINYINT, si SMALLINT UNSIGNED, mi MEDIUMINT,
  bi BIGINT UNSIGNED, f FLOAT UNSIGNED, d DOUBLE, de DECIMAL(65,30) UNSIGNED,
  c CHAR(255) CHARACTER SET utf8mb4, c2 CHAR(10) CHARACTER SET latin1,
  vc VARCHAR(300) CHARACTER SET gbk, b BINARY(16), vb VARBINARY(200),
  tx TEXT, bl LONGBLOB, tb TINYBLOB, mt MEDIUMTEXT CHARACTER SET latin1,
  e ENUM('a','ü','c,d') CHARACTER SET latin1, s SET('x','y'), e2 ENUM('é') CHARACTER SET utf8mb3,
  bt BIT(13), bt1 BIT(1), dt DATETIME(6), ts TIMESTAMP(3) NULL, tm TIME(2), da DATE,
  j JSON, g GEOMETRY, p POINT, vec VECTOR(7), vec2 VECTOR(3), inv INT INVISIBLE,
  gen INT GENERATED ALWAYS AS (ti * 2) STORED, PRIMARY KEY (id, c2(4)))
"""
ZOO_ROW = """
INSERT INTO zoo (id, y, ti, si, mi, bi, f, d, de, c, c2, vc, b, vb, tx, bl, tb, mt, e, s, e2, bt,
  bt1, dt, ts, tm, da, j, g, p, vec, vec2, inv)
VALUES (4294967295, 2155, -128, 65535, -8388608, 18446744073709551615, 1.5, -2.5,
  12345678901234567890123456789012345.123456789012345678901234567890, 'grüße', 'käse', '汉字',
  'binary', X'00FF', 'text', X'DEADBEEF', 'tiny', 'medium', 'ü', 'x,y', 'é', b'1010101010101', 1,
  '2024-02-29 23:59:59.999999', '2038-01-19 03:14:07.999', '-838:59:59', '9999-12-31',
  '{"k": [1, 2.5, "x", null, true]}', ST_GeomFromText('LINESTRING(0 0, 1 1)'), POINT(1, 2),
  TO_VECTOR('[1,2,3,4,5,6,7]'), TO_VECTOR('[0.5,-1,3e10]'), 7)
"""
SHOP = (
    "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(8,2))",
    "INSERT INTO item VALUES (1, 'cup', 3.50), (2, 'pot', 12.00), (3, 'pan', 25.90)",
    "UPDATE item SET price = price + 1 WHERE id < 3",
    "DELETE FROM item WHERE id = 2",
)

RECORDINGS: dict[str, Recording] = {
    "full_metadata": Recording((ZOO, ZOO_ROW)),
    "minimal_metadata": Recording((ZOO, ZOO_ROW), ("--binlog-row-metadata=MINIMAL",)),
    "plain": Recording(SHOP),
    "no_checksum": Recording(SHOP, ("--binlog-checksum=NONE",)),
    "no_gtid": Recording(SHOP, ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")),
    "tagged": Recording(
        (*SHOP[:2], "SET gtid_next = 'AUTOMATIC:shop_2'", *SHOP[2:]),
        before=(
            "CREATE TABLE old (id INT PRIMARY KEY)",
            "SET gtid_next = 'AUTOMATIC:archive'",
            "INSERT INTO old VALUES (1)",
            "INSERT INTO old VALUES (2)",
            "SET gtid_next = 'AUTOMATIC'",
        ),
    ),
    "compressed": Recording(
        (
            SHOP[0],
            "SET binlog_transaction_compression = ON",
            "BEGIN",
            *SHOP[1:],
            "COMMIT",
            (
                "INSERT INTO item SELECT 10 + a.a * 10 + b.a, REPEAT('compress', 2), 1 FROM "
                "(VALUES ROW(0), ROW(1), ROW(2), ROW(3)) a (a), "
                "(VALUES ROW(0), ROW(1), ROW(2), ROW(3), ROW(4), ROW(5)) b (a)"
            ),
        ),
    ),
    "partial_images": Recording(
        (
            "CREATE TABLE doc (id INT PRIMARY KEY, j JSON, note VARCHAR(10))",
            "INSERT INTO doc VALUES (1, JSON_OBJECT('a', 1, 'b', 2, 'pad', 'xxxxxxxxxxxx'), 'n')",
            "SET binlog_row_image = MINIMAL",
            "UPDATE doc SET note = 'm'",
            "SET binlog_row_value_options = PARTIAL_JSON",
            "UPDATE doc SET j = JSON_SET(j, '$.a', 2)",
            "DELETE FROM doc",
        )
    ),
    "statements": Recording(
        (
            "SET binlog_rows_query_log_events = ON",
            "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(30), at TIMESTAMP(6))",
            "INSERT INTO t (a) VALUES ('rows')",
            "SET binlog_rows_query_log_events = OFF, binlog_format = STATEMENT",
            (
                "SET time_zone = '+05:30', lc_time_names = 'de_DE', sql_mode = '', "
                "auto_increment_increment = 3, default_collation_for_utf8mb4 = 'utf8mb4_general_ci'"
            ),
            "SET @text = 'ü', @number = -5, @decimal = 1.50, @real = 1e10, @nothing = NULL",
            (
                "INSERT INTO t (a, at) VALUES (@text, NOW(6)), (@number, NULL), (@decimal, NULL), "
                "(@real, NULL), (@nothing, NULL)"
            ),
            "UPDATE t SET a = RAND() WHERE id = 1",
            "LOAD DATA INFILE 'load.txt' IGNORE INTO TABLE t (a)",
            "CREATE DATABASE other COLLATE latin1_swedish_ci",
            "CREATE TABLE other.u (id INT) COMMENT 'ü'",
            "UPDATE t, other.u SET t.a = 'x', other.u.id = 1 WHERE t.id = other.u.id",
            "USE other",
            "CREATE DEFINER = CURRENT_USER PROCEDURE p() SELECT 1",
            "GRANT SELECT ON other.* TO root@localhost",
            "SET NAMES latin1",
            "CREATE TABLE u2 (id INT, e ENUM('ü')) COMMENT 'latin'",
            "DROP TABLE shop.t, u",
            "SET NAMES utf8mb4",
            "SET binlog_format = ROW",
            "CREATE TABLE x (id INT PRIMARY KEY)",
            "XA START 'global', 'branch', 7",
            "INSERT INTO x VALUES (1)",
            "XA END 'global', 'branch', 7",
            "XA PREPARE 'global', 'branch', 7",
            "XA COMMIT 'global', 'branch', 7",
            "XA START 'once'",
            "INSERT INTO x VALUES (2)",
            "XA END 'once'",
            "XA COMMIT 'once' ONE PHASE",
        )
    ),
    "partitioned": Recording(
        (
            (
                "CREATE TABLE p (id INT PRIMARY KEY, a INT) PARTITION BY RANGE (id) "
                "(PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (100))"
            ),
            "INSERT INTO p VALUES (1, 1), (20, 2)",
            "UPDATE p SET id = 30 WHERE id = 1",
            "DELETE FROM p WHERE id = 20",
        )
    ),
}


def record(name: str, folder: Path) -> Path:
    """Run a recording on a new server in `folder`; return the file written to tests/data."""
    recording = RECORDINGS[name]
    with MySQLServer(folder / name, *SERVER_OPTIONS, *recording.options) as server:
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("USE shop")
            (server.folder / "data" / "shop" / "load.txt").write_text("loaded\nlines\n")
            for statement in recording.before:
                cursor.execute(statement)
            cursor.execute(
                "FLUSH BINARY LOGS" if recording.before else "RESET BINARY LOGS AND GTIDS"
            )
            for statement in recording.statements:
                cursor.execute(statement)
        server.stop()
        recorded = server.binlogs()[-1].read_bytes()
    target = DATA / f"{name}.binlog"
    target.write_bytes(recorded)
    return target


def record_encrypted(folder: Path) -> Path:
    """Record a log, its keyring and its decrypted form; return the folder written to tests/data."""
    target = DATA / ENCRYPTED
    target.mkdir(exist_ok=True)
    keyring = folder / "keyring"
    options = (*SERVER_OPTIONS, "--binlog-encryption=ON")
    with MySQLServer(folder / ENCRYPTED, *options, keyring=keyring) as server:
        server.execute("CREATE DATABASE shop")
        server.reset_logs()
        with server.connect(database="shop") as connection, connection.cursor() as cursor:
            for statement in SHOP:
                cursor.execute(statement)
        server.flush_logs()
        recorded = server.binlogs()[0]
        shutil.copy(recorded, target)
        shutil.copy(keyring, target)
        shutil.move(server.sent_log(recorded.name, folder), target / "plain")
    return target


def main(names: list[str]) -> None:
    """Record these, or all."""
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names or (*RECORDINGS, ENCRYPTED):
            if name == ENCRYPTED:
                target = record_encrypted(Path(folder))
            else:
                target = record(name, Path(folder))
            print(f"{target.name}: recorded")


if __name__ == "__main__":
    main(sys.argv[1:])
