"""MariaDB's logs as its servers write them: GTIDs, compressed rows and statements, against
SELECT.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

import decoder
from decoder.compression.payload import INNER_WINDOW
from decoder.events.mariadb_gtid import MariadbGtidEvent
from tests.support.gold.partial_changes import Replica

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer

SCHEMA = "mariadb_rows"
COLUMNS = ("id", "a", "b", "blurb")
CREATE = "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(300), blurb LONGTEXT)"
COMPRESSION = ("--log-bin-compress=ON", "--log-bin-compress-min-len=10")
WIDE = 2 * INNER_WINDOW
"""Bytes of a row that alone exceeds a window."""


@pytest.fixture(scope="module", params=["10.11 compressed", "10.11", "newest compressed"])
def server(request: pytest.FixtureRequest) -> MariaDBServer:
    if request.param == "10.11":
        plain: MariaDBServer = request.getfixturevalue("mariadb")
        return plain
    if request.param == "newest compressed":
        newest: MariaDBServer = request.getfixturevalue("newest_mariadb")
        newest.execute("SET GLOBAL log_bin_compress = ON, log_bin_compress_min_len = 10")
        return newest
    factory: MariaDBFactory = request.getfixturevalue("mariadb_factory")
    return factory(*COMPRESSION, "--max-allowed-packet=64M")


def write(cursor: Any) -> None:
    """Run some hundred statements: small and large rows, several to an event, every operation."""
    chance = random.Random(8)
    cursor.execute(CREATE)
    for first in range(0, 3000, 100):
        rows = [f"({n}, {n % 7}, '{'b' * (n % 300)}', NULL)" for n in range(first, first + 100)]
        cursor.execute(f"INSERT INTO t VALUES {', '.join(rows)}")
    cursor.execute(f"UPDATE t SET blurb = REPEAT('x', {WIDE}) WHERE id = 1")
    for _ in range(60):
        low = chance.randint(0, 3000)
        cursor.execute(f"UPDATE t SET a = a + 1, blurb = REPEAT('ä', {low}) WHERE id = {low}")
        cursor.execute(f"UPDATE t SET b = NULL WHERE id BETWEEN {low} AND {low + 40}")
        cursor.execute(f"DELETE FROM t WHERE id BETWEEN {low} AND {low + 9}")
        cursor.execute(f"UPDATE t SET id = id + 10000 WHERE id = {low + 20}")
    cursor.execute("UPDATE t SET blurb = REPEAT('y', 20000) WHERE id BETWEEN 100 AND 1900")


def recorded(server: MariaDBServer) -> tuple[Path, dict[int, dict[str, Any]]]:
    """Return a closed log with the table's whole history, and the table's final rows."""
    server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    server.flush_logs()
    log = server.binlogs()[-1]
    with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        write(cursor)
        cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM t")
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    server.flush_logs()
    return log, {row["id"]: row for row in rows}


def test_applied_changes_equal_select(server: MariaDBServer) -> None:
    log, expected = recorded(server)
    replica = Replica("id", (), {})
    gtids = set()
    changes = [
        (row["__lsn"], row["__pos"], row["__row"], row)
        for batch in decoder.read(log.read_bytes(), file=log.name)
        for row in batch.batch.to_pylist()
    ]
    for *_, change in sorted(changes, key=lambda item: item[:3]):
        gtids.add(change["__gtid"])
        replica.apply(change)
    assert replica.rows == expected

    events = list(decoder.events(log.read_bytes()))
    logged = {event.gtid for event in events if isinstance(event, MariadbGtidEvent)}
    assert gtids
    assert gtids <= logged
    is_compressed = server.execute("SELECT @@log_bin_compress")[0][0]
    assert any("ROWS_COMPRESSED" in event.name for event in events) == bool(is_compressed)
