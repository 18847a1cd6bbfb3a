"""The servers that other tests rely on behave as documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder.constants import MAGIC
from tests.support.programs.debian import UnavailableError
from tests.support.programs.installation import Installation
from tests.support.programs.mysql_install import installation, why_unavailable
from tests.support.servers.mysql import MySQLFactory, MySQLServer


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("gtid_mode", "ON"),
        ("binlog_row_metadata", "FULL"),
        ("binlog_row_image", "FULL"),
        ("binlog_format", "ROW"),
        ("binlog_checksum", "CRC32"),
    ],
)
def test_the_shared_server_has_the_settings_it_promises(
    mysql: MySQLServer, variable: str, value: str
) -> None:
    assert mysql.execute(f"SELECT @@global.{variable}") == [(value,)]


def test_logs_are_found_rotated_and_read_by_mysqlbinlog(mysql_factory: MySQLFactory) -> None:
    server = mysql_factory("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
    server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY)")
    server.flush_logs()
    server.execute("INSERT INTO shop.t VALUES (1); COMMIT")

    logs = server.binlogs()
    assert [log.name for log in logs] == ["binlog.000001", "binlog.000002"]
    assert all(log.read_bytes().startswith(MAGIC) for log in logs)
    assert b"CREATE TABLE shop.t" in server.tool("mysqlbinlog", str(logs[0]))
    assert server.execute("SELECT @@gtid_mode") == [("OFF",)]

    server.reset_logs()
    assert [log.name for log in server.binlogs()] == ["binlog.000001"]


def test_a_stopped_server_closes_its_log_and_a_killed_one_does_not(
    mysql_factory: MySQLFactory,
) -> None:
    server = mysql_factory()
    server.stop()
    server.start()
    server.kill()
    closed, open_ = server.binlogs()
    flags = {log.name: log.read_bytes()[4 + 17] & 1 for log in (closed, open_)}
    assert flags == {"binlog.000001": 0, "binlog.000002": 1}


def test_two_servers_have_separate_ports_and_uuids(
    mysql: MySQLServer, mysql_factory: MySQLFactory
) -> None:
    other = mysql_factory()
    uuid = "SELECT @@server_uuid, @@port"
    assert other.execute(uuid) != mysql.execute(uuid)
    assert other.execute("SELECT @@port") == [(other.port,)]


def test_a_server_that_rejects_its_options_raises_with_its_log(
    mysql_factory: MySQLFactory,
) -> None:
    with pytest.raises(RuntimeError, match="no-such-option"):
        mysql_factory("--no-such-option")


def test_a_configured_mysqld_is_used_or_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mysqld = tmp_path / "base" / "bin" / "mysqld"
    mysqld.parent.mkdir(parents=True)
    mysqld.write_text("#!/bin/sh\n")
    monkeypatch.setenv("BINLAKE_MYSQLD", str(mysqld))
    installation.cache_clear()
    try:
        assert "is not a program" in (why_unavailable() or "")
        mysqld.chmod(0o755)
        assert why_unavailable() is None
        found = installation()
    finally:
        installation.cache_clear()
    assert found == Installation(mysqld)
    assert found.base == tmp_path / "base"
    assert found.command("mysqld") == [str(mysqld)]
    with pytest.raises(UnavailableError, match="no_such_program"):
        found.command("no_such_program")
