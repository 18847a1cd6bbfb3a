"""The MariaDB servers that other tests rely on are configured as documented."""

from __future__ import annotations

import pytest

from decoder.constants import MAGIC
from tests.support.servers.mariadb import MariaDBServer, NewestMariaDBServer


@pytest.mark.parametrize("server", ["mariadb", "newest_mariadb"])
def test_a_server_has_the_settings_it_promises(server: str, request: pytest.FixtureRequest) -> None:
    found = request.getfixturevalue(server)
    settings = "@@binlog_row_metadata, @@binlog_row_image, @@binlog_format, @@binlog_checksum"
    assert found.execute(f"SELECT {settings}") == [("FULL", "FULL", "ROW", "CRC32")]


def test_the_newest_server_is_newer(
    mariadb: MariaDBServer, newest_mariadb: NewestMariaDBServer
) -> None:
    ((stable,),) = mariadb.execute("SELECT @@version")
    ((newest,),) = newest_mariadb.execute("SELECT @@version")
    assert stable.startswith("10.11.")
    assert int(newest.partition(".")[0]) >= 11


def test_logs_are_found_rotated_and_read_by_mariadb_binlog(mariadb: MariaDBServer) -> None:
    mariadb.execute("DROP DATABASE IF EXISTS support; CREATE DATABASE support")
    mariadb.flush_logs()
    log = mariadb.binlogs()[-1]
    mariadb.execute("CREATE TABLE support.t (a INT PRIMARY KEY)")
    mariadb.flush_logs()
    assert log.read_bytes().startswith(MAGIC)
    assert b"CREATE TABLE support.t" in mariadb.tool("mariadb-binlog", str(log))
