"""Real MySQL servers for tests, benchmarks and the demo."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import ClassVar

from tests.support.programs.installation import Installation
from tests.support.programs.mysql_install import CACHE, installation
from tests.support.servers.mysql_keyring import with_keyring
from tests.support.servers.server import Server, ServerFactory


class MySQLServer(Server):
    """A server with GTIDs, checksums, FULL metadata, full row images.

    With `keyring`, it keeps its keys in that file, which the option `--binlog-encryption=ON`
    requires.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = (
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--mysqlx=0",
        "--skip-log-replica-updates",
    )
    RESET = "RESET BINARY LOGS AND GTIDS"

    def __init__(self, folder: Path, *options: str, keyring: Path | None = None) -> None:
        super().__init__(folder, *options)
        self.keyring = keyring

    @property
    def programs(self) -> Installation:
        """Return MySQL's programs."""
        if self.keyring is None:
            return installation()
        return with_keyring(installation(), self.folder / "programs", self.keyring)

    @property
    def cache(self) -> Path:
        """MySQL's."""
        return CACHE

    def sent_log(self, name: str, folder: Path) -> Path:
        """Return a closed binary log as the server sends it to replicas: decrypted, in `folder`."""
        self.tool(
            "mysqlbinlog",
            *("--read-from-remote-server", "--raw", f"--socket={self.socket}", "--user=root"),
            *(f"--result-file={folder}/", name),
        )
        return folder / name

    def _initialise(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--initialize-insecure"], capture_output=True, text=True, check=False
        )


class MySQLFactory(ServerFactory[MySQLServer]):
    """Starts MySQL servers, and stops them all at the end of the `with`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(MySQLServer, folder)
