"""Real servers of older versions, with the ways in which they differ from the newer ones."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.programs import older_install
from tests.support.programs.debian import UnavailableError
from tests.support.programs.installation import Installation
from tests.support.servers.mariadb import MariaDBServer, bootstrapped
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server


class _OlderMySQLServer(MySQLServer):
    RESET = "RESET MASTER"

    @property
    def cache(self) -> Path:
        """Return the cache of all older servers."""
        return older_install.CACHE


class MySQL80Server(_OlderMySQLServer):
    """MySQL 8.0.33, configured like the newest."""

    @property
    def programs(self) -> Installation:
        """Return the programs of an archive."""
        return older_install.of_archive(older_install.MYSQL_8_0, "mysql-8.0")


class MySQL57Server(_OlderMySQLServer):
    """MySQL 5.7.29 with GTIDs and log_slave_updates, which 5.6 requires for GTIDs."""

    LACKS = frozenset({"--binlog-row-metadata"})
    DEFAULTS = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-slave-updates=ON")

    @property
    def programs(self) -> Installation:
        """Return the programs of an archive."""
        return older_install.of_archive(older_install.MYSQL_5_7, "mysql-5.7")


class MySQL56Server(MySQL57Server):
    """MySQL 5.6.24, whose system tables are created by SQL."""

    @property
    def programs(self) -> Installation:
        """Return the programs of an archive."""
        return older_install.of_archive(older_install.MYSQL_5_6, "mysql-5.6")

    def _initialise(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        # Anonymous users would take precedence over named ones.
        without = "DELETE FROM mysql.user WHERE User = '';\n"
        return bootstrapped(command, self.programs.share, without)


class _OlderMariaDBServer(MariaDBServer):
    @property
    def cache(self) -> Path:
        """Return the cache of all older servers."""
        return older_install.CACHE


class MariaDB114Server(_OlderMariaDBServer):
    """MariaDB 11.4.5."""

    @property
    def programs(self) -> Installation:
        """Return the programs of an archive."""
        return older_install.of_archive(older_install.MARIADB_11_4, "mariadb-11.4")


class MariaDB105Server(_OlderMariaDBServer):
    """MariaDB 10.5."""

    @property
    def programs(self) -> Installation:
        """Return Debian's programs."""
        return older_install.of_debian("bullseye", older_install.MARIADB_10_5, "mariadb-10.5")


class MariaDB102Server(_OlderMariaDBServer):
    """MariaDB 10.2.11."""

    LACKS = frozenset({"--binlog-row-metadata"})

    @property
    def programs(self) -> Installation:
        """Return the programs of an archive."""
        return older_install.of_archive(older_install.MARIADB_10_2, "mariadb-10.2")


KINDS: tuple[type[Server], ...] = (
    MySQL80Server,
    MySQL57Server,
    MySQL56Server,
    MariaDB114Server,
    MariaDB105Server,
    MariaDB102Server,
)
"""All older servers."""


@contextmanager
def running(kind: type[Server], folder: Path, *options: str) -> Iterator[Server]:
    """Start one of them, or skip the test if it cannot be installed."""
    server = kind(folder, *options)
    try:
        _ = server.programs
    except UnavailableError as error:
        pytest.skip(f"no {kind.__name__}: {error}")
    with server:
        yield server
