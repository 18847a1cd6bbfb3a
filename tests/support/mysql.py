"""Real MySQL servers for tests, benchmarks and the demo."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.installation import Installation
from tests.support.mysql_install import CACHE, installation
from tests.support.server import Server, ServerFactory


class MySQLServer(Server):
    """A server with GTIDs on, checksums on, FULL metadata, full row images."""

    DEFAULTS = (
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--mysqlx=0",
        "--skip-log-replica-updates",
    )
    RESET = "RESET BINARY LOGS AND GTIDS"

    @property
    def programs(self) -> Installation:
        """MySQL's."""
        return installation()

    @property
    def cache(self) -> Path:
        """MySQL's."""
        return CACHE

    def _initialise(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--initialize-insecure"], capture_output=True, text=True, check=False
        )


class MySQLFactory(ServerFactory[MySQLServer]):
    """Starts MySQL servers, and stops them all at the end of the `with`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(MySQLServer, folder)
