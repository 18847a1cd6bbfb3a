"""Chunks of a table's key, of any type: together all rows, none twice; and settled log
positions.
"""

from __future__ import annotations

import threading

import pytest

from pipeline.schema_history import TableName
from pipeline.seed.chunks import chunks
from pipeline.seed.source_table import SourceTable, source_table
from pipeline.source.server.log_position import BEGINNING, LogPosition, LogPositions
from pipeline.source.server.login import Login
from pipeline.source.server.version import server_version
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.server import Server

SCHEMA = "chunked"
KEYS = {
    "INT": "n - 500",
    "BIGINT UNSIGNED": "18446744073709551615 - n",
    "DECIMAL(20,3)": "n / 8 - 3",
    "VARCHAR(30) CHARACTER SET latin1": "CONCAT(CHAR(200 + n % 50 USING latin1), '''\"\\\\', n)",
    "VARCHAR(30) COLLATE utf8mb4_bin": "CONCAT('é%', n)",
    "CHAR(9) CHARACTER SET ucs2": "CONCAT('a', n)",
    "VARBINARY(30)": "CONCAT(CHAR(n % 256), x'00', n)",
    "DATE": "'2020-01-01' + INTERVAL n DAY",
    "DATETIME(6)": "'2020-01-01 00:00:00.5' + INTERVAL n * 7 SECOND",
    "TIMESTAMP": "'2020-03-29 00:00:00' + INTERVAL n MINUTE",
    "TIME(3)": "SEC_TO_TIME(n)",
    "ENUM('b','a')": "IF(n = 1, 'a', 'b')",
    "FLOAT": "n / 7",
}
NOT_PARTED = ("TIME(3)", "ENUM('b','a')", "FLOAT")
ROWS, CHUNK = 1000, 150
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
NUMBERS = (
    f"(SELECT a.n + 10 * b.n + 100 * c.n AS n FROM {DIGITS} a, {DIGITS} b, {DIGITS} c) numbers"
)


def table_of(server: Server, name: str) -> SourceTable:
    with server.connect(database=SCHEMA) as connection:
        server.execute(f"ANALYZE TABLE {SCHEMA}.{name}")
        return source_table(connection, server_version(connection), TableName(SCHEMA, name))


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_chunks_of_every_type_of_key_contain_all_rows_once(
    kind: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    for number, (key, value) in enumerate(KEYS.items()):
        name = f"t{number}"
        server.execute(f"""
            USE {SCHEMA}; SET time_zone = '+00:00';
            CREATE TABLE {name} (`k``%` {key} NOT NULL, n INT, PRIMARY KEY (`k``%`, n));
            INSERT INTO {name} SELECT {value}, n FROM {NUMBERS}
        """)
        table = table_of(server, name)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            parts = chunks(connection, table, CHUNK)
            assert (len(parts) == 1) == (key in NOT_PARTED), key
            seen: list[int] = []
            for part in parts:
                where = f" WHERE {part}" if part else ""
                cursor.execute(f"SELECT n FROM {table.place}{where}")
                found = [row[0] for row in cursor.fetchall()]
                assert key in NOT_PARTED or 0 < len(found) <= 2 * CHUNK, (key, part)
                seen += found
        assert sorted(seen) == list(range(ROWS)), key


def test_a_value_with_more_rows_than_a_chunk_is_one_chunk_as_are_small_tables(
    mysql: Server,
) -> None:
    mysql.execute(f"""
        DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
        CREATE TABLE same (k INT, n INT, PRIMARY KEY (k, n));
        INSERT INTO same SELECT n % 2, n FROM {NUMBERS};
        CREATE TABLE keyless (n INT); INSERT INTO keyless SELECT n FROM same
    """)
    with mysql.connect() as connection:
        assert chunks(connection, table_of(mysql, "same"), CHUNK) == [
            "`k` < 0",
            "`k` >= 0 AND `k` < 1",
            "`k` >= 1",
        ]
        assert chunks(connection, table_of(mysql, "same"), 10 * ROWS) == [""]
        assert chunks(connection, table_of(mysql, "keyless"), CHUNK) == [""]


def places_of(server: Server) -> tuple[LogPosition, LogPosition]:
    with server.connect() as connection:
        places = LogPositions(connection, server_version(connection), Login("here", "root"))
        return places.settled(), places.end()


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_settled_position_is_after_committed_transactions(
    kind: str, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue(kind)
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    before = places_of(server)
    assert before[0] == before[1]
    server.execute(f"CREATE TABLE {SCHEMA}.t (n INT PRIMARY KEY)")
    assert places_of(server)[0] > before[0]


def test_without_gtids_the_settled_position_is_the_start_of_the_last_file(
    mysql_factory: MySQLFactory,
) -> None:
    server = mysql_factory("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    server.execute(f"CREATE DATABASE {SCHEMA}")
    settled, end = places_of(server)
    assert settled == (end.file, BEGINNING)
    server.flush_logs()
    assert places_of(server)[0].file > settled.file


def test_everything_before_a_settled_position_is_visible(mysql: Server) -> None:
    """Under many small commits: everything logged before the position is visible to later reads."""
    mysql.execute(f"""
        DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA};
        CREATE TABLE {SCHEMA}.t (n INT PRIMARY KEY AUTO_INCREMENT)
    """)
    mysql.reset_logs()
    done = threading.Event()

    def write() -> None:
        with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            while not done.is_set():
                cursor.execute("INSERT INTO t () VALUES ()")

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    found: list[tuple[LogPosition, int]] = []
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        places = LogPositions(connection, server_version(connection), Login("here", "root"))
        for _ in range(30):
            place = places.settled()
            cursor.execute("SELECT COUNT(*) FROM t")
            ((count,),) = cursor.fetchall()
            found.append((place, count))
    done.set()
    for writer in writers:
        writer.join()
    for place, count in found:
        events = mysql.execute(f"SHOW BINLOG EVENTS IN '{place.file}'")
        logged = [row for row in events if row[2] == "Xid" and int(row[4]) <= place.position]
        assert len(logged) <= count
