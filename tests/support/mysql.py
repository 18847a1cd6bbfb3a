"""Real MySQL servers for tests, benchmarks and the demo: each with a folder and port of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import pymysql
from pymysql.constants import CLIENT

from tests.support.mysql_install import CACHE, Installation, installation, lock
from tests.support.mysql_keyring import with_keyring

START_SECONDS = 120
STOP_SECONDS = 120
DEFAULTS = (
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--binlog-row-metadata=FULL",
    "--local-infile=1",
    "--secure-file-priv=",
    "--mysqlx=0",
    # Nothing here must survive a power cut, so nothing waits for the disk.
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=fsync",
    "--performance-schema=OFF",
    "--skip-log-replica-updates",
)
"""What every server starts with; options given to `start` come after these and win."""


class MySQLServer:
    """One server: `with MySQLServer(folder) as server` starts it, and stops it at the end.

    `folder` holds its data and, in `binlogs`, its binary logs with their index; `port` is on
    127.0.0.1 and the user is root without a password. With `keyring` it keeps its keys in that
    file, as `--binlog-encryption=ON` among the options needs it.
    """

    def __init__(self, folder: Path, *options: str, keyring: Path | None = None) -> None:
        self.folder = folder
        self.keyring = keyring
        self.options = options
        self.port = 0
        self.binlog_folder = folder / "binlogs"
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._run = Path()

    @property
    def socket(self) -> Path:
        """The socket, in a folder with a short name: the system allows about 100 characters."""
        return self._run / "mysql.sock"

    def start(self, *options: str) -> MySQLServer:
        """Start (again), with `options` after those given before, and wait until it answers."""
        self.options = (*self.options, *options)
        programs = installation()
        if not self._data.exists():
            self.binlog_folder.mkdir(parents=True)
            shutil.copytree(_initialised(programs), self._data)
        if self.keyring is not None:
            programs = with_keyring(programs, self.folder / "programs", self.keyring)
        self._run = Path(tempfile.mkdtemp(prefix="mysql."))
        self.port = self.port or _free_port()
        command = [
            *programs.command("mysqld"),
            *_paths(programs, self._data),
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.socket}",
            f"--pid-file={self._run / 'mysqld.pid'}",
            f"--log-error={self.folder / 'error.log'}",
            f"--log-bin={self.binlog_folder / 'binlog'}",
            *DEFAULTS,
            *self.options,
        ]
        with (self.folder / "mysqld.out").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self._wait_until_it_answers()
        return self

    def stop(self) -> None:
        """Shut it down in order: the last binary log gets its STOP event."""
        self._end(subprocess.Popen.terminate)

    def kill(self) -> None:
        """SIGKILL: the last binary log stays without an end, its in-use flag set."""
        self._end(subprocess.Popen.kill)

    def connect(self, **options: Any) -> pymysql.Connection[Any]:
        """A connection as root, with autocommit, several statements per call allowed."""
        return pymysql.connect(
            **{
                "unix_socket": str(self.socket),
                "user": "root",
                "charset": "utf8mb4",
                "autocommit": True,
                "local_infile": True,
                "client_flag": CLIENT.MULTI_STATEMENTS,
                **options,
            }
        )

    def execute(self, sql: str, arguments: Any = None) -> list[tuple[Any, ...]]:
        """Run one or several statements in a session of their own; the last one's rows."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            rows = cursor.fetchall()
            while cursor.nextset():
                rows = cursor.fetchall()
        return list(rows)

    def binlogs(self) -> list[Path]:
        """The binary logs, in order; the last one is being written while the server runs."""
        index = self.binlog_folder / "binlog.index"
        return [self.binlog_folder / Path(line).name for line in index.read_text().split()]

    def flush_logs(self) -> None:
        """Close the current binary log with a ROTATE, and begin the next."""
        self.execute("FLUSH BINARY LOGS")

    def reset_logs(self) -> None:
        """Forget all binary logs and GTIDs, and begin again at number 1."""
        self.execute("RESET BINARY LOGS AND GTIDS")

    def tool(self, name: str, *arguments: str) -> bytes:
        """What another program prints, such as `mysqlbinlog`. Raises CalledProcessError."""
        command = [*installation().command(name), "--no-defaults", *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def sent_log(self, name: str, folder: Path) -> Path:
        """A closed binary log as the server sends it to replicas, decrypted, put into `folder`."""
        self.tool(
            "mysqlbinlog",
            *("--read-from-remote-server", "--raw", f"--socket={self.socket}", "--user=root"),
            *(f"--result-file={folder}/", name),
        )
        return folder / name

    def __enter__(self) -> MySQLServer:
        return self if self._process is not None else self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        patience = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < patience:
            try:
                self.connect().close()
                return
            except pymysql.err.OperationalError:
                time.sleep(0.1)
        log = self.folder / "error.log"
        self.kill()
        tail = log.read_text(errors="replace").splitlines()[-20:] if log.exists() else []
        raise RuntimeError("mysqld does not start:\n" + "\n".join(tail))

    def _end(self, signal: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._process is None:
            return
        signal(self._process)
        self._process.wait(STOP_SECONDS)
        self._process = None
        shutil.rmtree(self._run, ignore_errors=True)


class MySQLFactory:
    """Starts servers, and stops them all at the end of the `with`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[MySQLServer] = []

    def __call__(self, *options: str, keyring: Path | None = None) -> MySQLServer:
        """A new server with `options` after `DEFAULTS`, started."""
        folder = self._folder / f"server{len(self._servers)}"
        server = MySQLServer(folder, *options, keyring=keyring)
        self._servers.append(server)
        return server.start()

    def __enter__(self) -> MySQLFactory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.kill()  # their data is of no use to anyone any more


def _paths(programs: Installation, data: Path) -> list[str]:
    options = ["--no-defaults", f"--basedir={programs.base}", f"--datadir={data}"]
    share = programs.base / "share" / "mysql"
    if programs.loader:  # built for /usr, so the rest of its files must be pointed at
        options += [
            f"--lc-messages-dir={share}",
            f"--character-sets-dir={share / 'charsets'}",
            f"--plugin-dir={programs.base / 'lib' / 'mysql' / 'plugin'}",
        ]
    return [*options, "--user=root"] if os.geteuid() == 0 else options


def _initialised(programs: Installation) -> Path:
    """A data folder that mysqld has initialised, to be copied: made once per server version."""
    told = subprocess.run(
        [*programs.command("mysqld"), "--no-defaults", "--version"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    version = told.split("Ver ")[-1].split()[0]
    template = CACHE / f"initialised-{version}"
    with lock(template.name):
        if not template.exists():
            _initialise(programs, template)
    return template


def _initialise(programs: Installation, template: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="initialise.", dir=CACHE) as scratch:
        data = Path(scratch) / "data"
        command = [*programs.command("mysqld"), *_paths(programs, data), "--initialize-insecure"]
        told = subprocess.run(
            [*command, "--disable-log-bin"], capture_output=True, text=True, check=False
        )
        if told.returncode != 0:
            raise RuntimeError(f"mysqld does not initialise:\n{told.stderr}")
        # Each copy makes up a server UUID of its own.
        (data / "auto.cnf").unlink(missing_ok=True)
        data.rename(template)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
