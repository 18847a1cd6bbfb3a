"""A database server with its own folder and port: what MySQL's and MariaDB's share."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Generic, TypeVar

import pymysql
from pymysql.constants import CLIENT
from typing_extensions import Self

from tests.support.programs.debian import lock
from tests.support.programs.installation import Installation

TIMESTAMP = slice(4, 8)
"""Offset of the timestamp in a log's first event, after the magic number."""
START_SECONDS = 120
STOP_SECONDS = 120
DEFAULTS = (
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    "--local-infile=1",
    "--secure-file-priv=",
    # Nothing here must survive a power cut, so do not sync.
    "--sync-binlog=0",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=OFF",
    "--innodb-flush-method=fsync",
    "--performance-schema=OFF",
    # The system limits asynchronous I/O requests (fs.aio-max-nr), and a server takes thousands.
    "--innodb-use-native-aio=OFF",
)
"""Options of every server; those of its kind and of `start` follow and take precedence."""


class Server(ABC):
    """A server: `with MySQLServer(folder) as server` starts it, and stops it at the end.

    `folder` holds its data and, in `binlogs`, its binary logs with their index; `port` is on
    127.0.0.1 and the user is root without a password.
    """

    DEFAULTS: ClassVar[tuple[str, ...]] = ()
    LACKS: ClassVar[frozenset[str]] = frozenset()
    """Options that this kind of server does not support."""
    RESET: ClassVar[str]
    """The statement that resets all binary logs."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.options = options
        self.port = 0
        self.binlog_folder = folder / "binlogs"
        self._data = folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._run = Path()

    @property
    @abstractmethod
    def programs(self) -> Installation:
        """Return the programs to start it with."""

    @property
    @abstractmethod
    def cache(self) -> Path:
        """Return the folder that caches initialised data folders."""

    @abstractmethod
    def _initialise(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Initialise the data folder with `command` (the server, its paths)."""

    @property
    def socket(self) -> Path:
        """Return the socket, in a folder with a short name: the system allows about 100
        characters.
        """
        return self._run / "mysql.sock"

    def start(self, *options: str) -> Self:
        """Start (again), with `options` after the earlier ones, and wait until it accepts
        connections.
        """
        self.options = (*self.options, *options)
        if not self._data.exists():
            self.binlog_folder.mkdir(parents=True)
            shutil.copytree(self._initialised(), self._data)
        self._run = Path(tempfile.mkdtemp(prefix="mysql."))
        self.port = self.port or free_port()
        command = [
            *self._command(self._data),
            "--bind-address=127.0.0.1",
            f"--port={self.port}",
            f"--socket={self.socket}",
            f"--pid-file={self._run / 'mysqld.pid'}",
            # A MariaDB that starts removes all temporary tables in it, other servers' too.
            f"--tmpdir={self._run}",
            f"--log-error={self.folder / 'error.log'}",
            f"--log-bin={self.binlog_folder / 'binlog'}",
            *(option for option in DEFAULTS if option.partition("=")[0] not in self.LACKS),
            *self.DEFAULTS,
            *self.options,
        ]
        with (self.folder / "mysqld.out").open("ab") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )
        self._wait_until_it_answers()
        return self

    @property
    def runs(self) -> bool:
        """True if it was started and has not been stopped since."""
        return self._process is not None

    def stop(self) -> None:
        """Shut it down normally: the last binary log gets its STOP event."""
        self._end(subprocess.Popen.terminate)

    def kill(self) -> None:
        """Send SIGKILL: the last binary log stays open, its in-use flag set."""
        self._end(subprocess.Popen.kill)

    def pause(self) -> None:
        """Stop the process (SIGSTOP) until `resume` or `kill`; no thread runs when this returns."""
        os.waitid(os.P_PID, self._signal(signal.SIGSTOP), os.WSTOPPED)

    def resume(self) -> None:
        """Continue after `pause`, unless it was killed."""
        if self._process is not None:
            self._signal(signal.SIGCONT)

    def remove_data(self) -> None:
        """Remove the data of a stopped server; its logs stay for inspection."""
        shutil.rmtree(self._data, ignore_errors=True)

    def connect(self, **options: Any) -> pymysql.Connection[Any]:
        """Return a connection as root, with autocommit and several statements per call."""
        return pymysql.connect(
            **{
                "unix_socket": str(self.socket),
                "user": "root",
                "charset": "utf8mb4",
                "autocommit": True,
                "local_infile": True,
                # By a socket: creating a TLS context takes PyMySQL longer than most statements.
                "ssl_disabled": True,
                "client_flag": CLIENT.MULTI_STATEMENTS,
                **options,
            }
        )

    def execute(self, sql: str, arguments: Any = None) -> list[tuple[Any, ...]]:
        """Run one or several statements in a new session; return the last one's rows."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql, arguments)
            rows = cursor.fetchall()
            while cursor.nextset():
                rows = cursor.fetchall()
        return list(rows)

    def binlogs(self) -> list[Path]:
        """Return the binary logs, in order; a running server writes to the last one."""
        index = self.binlog_folder / "binlog.index"
        return [self.binlog_folder / Path(line).name for line in index.read_text().split()]

    def flush_logs(self) -> None:
        """Close the current binary log with a ROTATE, and begin the next."""
        self.execute("FLUSH BINARY LOGS")

    def reset_logs(self) -> None:
        """Reset all binary logs and GTIDs, restarting at number 1.

        Waits for the next second after the first log was begun: within the same second, its
        successor of the same number would have the same FORMAT_DESCRIPTION, whose time is in
        seconds, and so the same incarnation.
        """
        logs = self.binlogs()
        begun = int.from_bytes(logs[-1].read_bytes()[TIMESTAMP], "little") if logs else 0
        while begun == int(time.time()):
            time.sleep(0.05)
        self.execute(self.RESET)

    def tool(self, name: str, *arguments: str) -> bytes:
        """Return the output of another program such as `mysqlbinlog`. Raises CalledProcessError."""
        command = [*self.programs.command(name), "--no-defaults", *arguments]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def __enter__(self) -> Self:
        return self if self.runs else self.start()

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
                time.sleep(0.02)
        log = self.folder / "error.log"
        self.kill()
        tail = log.read_text(errors="replace").splitlines()[-20:] if log.exists() else []
        raise RuntimeError("mysqld failed to start:\n" + "\n".join(tail))

    def _signal(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.pid

    def _end(self, send: Callable[[subprocess.Popen[bytes]], None]) -> None:
        if self._process is None:
            return
        send(self._process)
        self._process.wait(STOP_SECONDS)
        self._process = None
        shutil.rmtree(self._run, ignore_errors=True)

    def _command(self, data: Path) -> list[str]:
        """Return the server's command line with its folders."""
        programs = self.programs
        command = [*programs.command("mysqld"), "--no-defaults"]
        command += [f"--basedir={programs.base}", f"--datadir={data}"]
        if programs.loader:  # built for /usr, so other folders need options
            command += [
                f"--lc-messages-dir={programs.share}",
                f"--character-sets-dir={programs.share / 'charsets'}",
                f"--plugin-dir={programs.plugins}",
            ]
        return [*command, "--user=root"] if os.geteuid() == 0 else command

    def _initialised(self) -> Path:
        """Return an initialised data folder to copy, created once per server version."""
        version = version_of(tuple(self.programs.command("mysqld")))
        template = self.cache / f"initialised-{version}"
        with lock(template):
            if not template.exists():
                self._make(template)
        return template

    def _make(self, template: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="initialise.", dir=template.parent) as scratch:
            data = Path(scratch) / "data"
            command = [*self._command(data), f"--tmpdir={scratch}", "--disable-log-bin"]
            result = self._initialise(command)
            if result.returncode != 0:
                raise RuntimeError(f"mysqld failed to initialise its data folder:\n{result.stderr}")
            # Each copy generates a new server UUID.
            (data / "auto.cnf").unlink(missing_ok=True)
            data.rename(template)


AnyServer = TypeVar("AnyServer", bound=Server)


class ServerFactory(Generic[AnyServer]):
    """Starts servers of a kind, and stops them all at the end of the `with`."""

    def __init__(self, kind: Callable[..., AnyServer], folder: Path) -> None:
        self._kind = kind
        self._folder = folder
        self._servers: list[AnyServer] = []

    def __call__(self, *options: str, **settings: Any) -> AnyServer:
        """Start a new server with `options` after `DEFAULTS`; `settings` are its kind's own."""
        server = self._kind(self._folder / f"server{len(self._servers)}", *options, **settings)
        self._servers.append(server)
        return server.start()

    def running(self, *options: str) -> tuple[AnyServer, bool]:
        """Return a server with exactly these options and True if an earlier test left one,
        restarted if it was stopped; else a new one and False.
        """
        for server in self._servers:
            if server.options == options:
                return (server if server.runs else server.start()), True
        return self(*options), False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.kill()
            server.remove_data()  # unused, and 200 MB each


@cache
def version_of(program: tuple[str, ...]) -> str:
    """Return the version that a server's program reports."""
    result = subprocess.run(
        [*program, "--no-defaults", "--version"], capture_output=True, text=True, check=True
    ).stdout
    return result.split("Ver ")[-1].split()[0]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
