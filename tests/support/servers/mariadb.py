"""Real MariaDB servers for tests: 10.11 and the newest release."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.programs.installation import Installation
from tests.support.programs.mariadb_install import CACHE, NEWEST, installation
from tests.support.servers.server import Server, ServerFactory

_ROOT_WITHOUT_PASSWORD = "SET @skip_auth_anonymous = 1, @auth_root_socket = NULL;\n"
_SYSTEM_TABLES = ("system_tables.sql", "performance_tables.sql", "system_tables_data.sql")


def bootstrapped(
    command: list[str], share: Path, afterwards: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the SQL in `share` that creates the schema `mysql`, then the statements in `afterwards`.

    Does what `mariadb-install-db` and `mysql_install_db` do, scripts that only work in /usr.
    `command` is the server with its paths.
    """
    data = Path(next(o for o in command if o.startswith("--datadir=")).partition("=")[2])
    (data / "mysql").mkdir(parents=True)
    return subprocess.run(
        [*command, "--bootstrap"],
        input=_system_tables(share) + afterwards,
        capture_output=True,
        text=True,
        check=False,
    )


def _system_tables(share: Path) -> str:
    texts = [
        path.read_text()
        for name in _SYSTEM_TABLES
        for path in share.glob(f"m*_{name}")  # mysql_… and, since 11, mariadb_…
    ]
    return f"USE mysql;\n{_ROOT_WITHOUT_PASSWORD}{''.join(texts)}"


class MariaDBServer(Server):
    """A server with checksums, FULL metadata, full row images; `binlog_format` ROW."""

    DEFAULTS = ("--binlog-checksum=CRC32",)
    RESET = "RESET MASTER"

    @property
    def programs(self) -> Installation:
        """Return MariaDB 10.11's programs."""
        return installation()

    @property
    def cache(self) -> Path:
        """MariaDB's."""
        return CACHE

    def _initialise(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return bootstrapped(command, self.programs.share)


class NewestMariaDBServer(MariaDBServer):
    """A server of the newest release."""

    @property
    def programs(self) -> Installation:
        """Return the newest MariaDB's programs."""
        return installation(NEWEST)


class MariaDBFactory(ServerFactory[MariaDBServer]):
    """Starts MariaDB servers, and stops them all at the end of the `with`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(MariaDBServer, folder)
