"""Captures that are killed, disconnected, slowed down and refused: nothing is lost or repeated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest
from pydantic import SecretStr
from pymysql.constants import ER

from pipeline.errors import BinlakeError
from pipeline.settings.capture import CaptureSettings
from pipeline.settings.server import TlsSettings
from pipeline.source import Capture
from pipeline.source.capture.errors import LostConnectionError, NotLandedError
from pipeline.source.capture.state import read_state
from pipeline.source.server.errors import AccessDeniedError, ServerUnreachableError
from pipeline.source.server.login import Login
from tests.support.servers.cut_network import cut_network
from tests.support.servers.mariadb import MariaDBFactory, MariaDBServer
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server
from tests.support.source.capturing import (
    REPOSITORY,
    capture,
    capturing,
    command,
    differing,
    differing_in_content,
    eventually,
    is_in_use,
    login_of,
)

KILLS = 6
PASSWORD = "ein-sehr-geheimes-Wort"


def make_table(server: Server) -> None:
    server.execute(
        "CREATE DATABASE IF NOT EXISTS shop; DROP TABLE IF EXISTS shop.t;"
        " CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)"
    )


def fill(server: Server, megabytes: int) -> None:
    """Write transactions of a hundred kilobytes, with a new file every ten megabytes."""
    make_table(server)
    with server.connect() as connection, connection.cursor() as cursor:
        for number in range(megabytes * 10):
            letter = chr(97 + number % 26)
            cursor.execute("INSERT INTO shop.t (b) VALUES (REPEAT(%s, 102400))", [letter])
            if number % 100 == 99:
                cursor.execute("FLUSH BINARY LOGS")


@contextmanager
def written(server: Server, *, flush_every: int = 40, pause: float = 0) -> Iterator[threading.Lock]:
    """Write until the end of the `with`, waiting whenever the server is down; yield the lock that
    is held during each statement.

    `flush_every`: statements per file; `pause`: seconds after each.
    """
    ended, statement = threading.Event(), threading.Lock()

    def write() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            try:
                rows = ",".join(["(REPEAT('x', 200))"] * random.randint(1, 200))
                with statement:
                    server.execute(f"INSERT INTO shop.t (b) VALUES {rows}")
                    if number % flush_every == 0:
                        server.flush_logs()
                ended.wait(pause)
            except Exception:
                ended.wait(0.1)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield statement
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize("fixture", ["mysql_factory", "mariadb_factory"])
def test_a_capture_survives_repeated_kills_and_server_restarts(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    factory: MySQLFactory | MariaDBFactory = request.getfixturevalue(fixture)
    server: Server = factory()
    landed = tmp_path / "landed"
    make_table(server)
    chance = random.Random(20)
    with written(server, pause=0.01) as statement:
        for kill in range(KILLS):
            running = command(server, landed, "--forever")
            if kill in (2, 4):  # before a byte, or as it looks at what there is
                time.sleep(chance.uniform(0.3, 1.2))
            else:
                until_more_is_landed(landed)
                time.sleep(chance.uniform(0, 0.5))
            running.kill()
            running.communicate()
            if kill in (1, 3):
                with statement:  # MariaDB repairs no log that ends inside an event
                    (server.stop if kill == 1 else server.kill)()
                server.start()
    capture(server, landed)
    assert [log.name for log in server.binlogs()] == sorted(
        path.name for path in landed.iterdir() if not path.name.startswith(".")
    )
    assert not differing_in_content(server, landed)
    different = differing(server, landed, end=-1)
    # MariaDB leaves the flag in what it was writing as it crashed: in one file, or in two.
    assert len(different) <= (2 if fixture == "mariadb_factory" else 0)
    assert all(is_in_use(server.binlog_folder / name) for name in different)
    server.stop()


def until_more_is_landed(landed: Path) -> None:
    before = landed_bytes(landed)
    eventually(lambda: landed_bytes(landed) > before)


def landed_bytes(landed: Path) -> int:
    return sum(path.stat().st_size for path in landed.glob("binlog.*"))


@pytest.mark.usefixtures("mariadb_factory")
def test_a_capture_continues_after_a_crash_between_two_files(tmp_path: Path) -> None:
    """MariaDB sets the flag in the next file before it clears it in the previous one.

    The server's files are on disk: in memory, where tests usually keep them, it is too fast to be
    stopped in between.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        MariaDBServer(Path(folder) / "server") as server,
    ):
        make_table(server)
        with written(server, flush_every=1):
            crashed = kill_between_two_files(server)
        server.start()
        capture(server, tmp_path)
        assert not differing_in_content(server, tmp_path)
        assert differing(server, tmp_path, end=-1) == crashed


def kill_between_two_files(server: Server) -> list[str]:
    """Pause the server at intervals until it is between two files, and kill it there; return
    them.
    """
    until = time.monotonic() + 60
    while time.monotonic() < until:
        server.pause()
        try:
            in_use = [log.name for log in server.binlogs() if is_in_use(log)]
            if len(in_use) == 2:
                server.kill()
                return in_use
        finally:
            server.resume()
        time.sleep(0.01)
    raise AssertionError("it was never held between two files")


def test_sigterm_ends_the_command_cleanly(mysql: MySQLServer, tmp_path: Path) -> None:
    landed = tmp_path / "landed"
    make_table(mysql)
    running = command(mysql, landed, "--forever", "--log", "json")
    last = len(mysql.binlogs()) - 1
    eventually(lambda: not differing(mysql, landed, first=last))
    running.send_signal(signal.SIGTERM)
    _, output = running.communicate(timeout=30)
    assert running.returncode == 0, output
    assert b"capture_finished" in output
    assert not differing(mysql, landed, first=last)


def test_a_capture_survives_repeated_network_failures(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    fill(mysql, 20)
    mysql.execute("CREATE USER reader IDENTIFIED BY ''; GRANT ALL ON *.* TO reader")
    try:
        with cut_network(mysql.port, after=3 << 20) as network:
            login = Login("127.0.0.1", "reader", port=network.port)
            settings = CaptureSettings(to=str(tmp_path), retry={"longest": 0.1})
            state = Capture(settings, login).run()
        assert network.cuts >= 5
        assert state.reconnects >= 5
        assert state.bytes == sum(log.stat().st_size for log in mysql.binlogs())
        assert not differing(mysql, tmp_path)
    finally:
        mysql.execute("DROP USER reader")


@pytest.mark.parametrize("mode", ["required", "disabled"])
def test_a_user_with_a_password_and_minimal_grants(
    mode: str, mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    make_table(mysql)
    mysql.execute(
        "DROP USER IF EXISTS capturer; CREATE USER capturer IDENTIFIED WITH caching_sha2_password"
        f" BY '{PASSWORD}'; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO capturer"
    )
    tls = TlsSettings.model_validate({"mode": mode})
    login = Login("127.0.0.1", "capturer", mysql.port, password=SecretStr(PASSWORD), tls=tls)
    Capture(CaptureSettings(to=str(tmp_path)), login).run()
    assert not differing(mysql, tmp_path)

    for privilege in ("REPLICATION SLAVE", "REPLICATION CLIENT"):
        mysql.execute(f"REVOKE {privilege} ON *.* FROM capturer")
        with pytest.raises(AccessDeniedError, match="Grant REPLICATION SLAVE and REPLICATION CLI"):
            Capture(CaptureSettings(to=str(tmp_path)), login).run()


def test_the_password_appears_nowhere(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.execute(
        f"DROP USER IF EXISTS capturer; CREATE USER capturer IDENTIFIED BY '{PASSWORD}';"
        " GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO capturer"
    )
    landed = tmp_path / "landed"
    running = subprocess.Popen(
        [
            *(sys.executable, "-m", "pipeline.cli", "capture", "--to", str(landed), "--forever"),
            *("--server", f"mysql://capturer@127.0.0.1:{mysql.port}", "--log", "json"),
        ],
        env={**os.environ, "BINLAKE_SERVER_PASSWORD": PASSWORD, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    eventually(lambda: (landed / ".binlake-capture.json").exists())
    eventually(lambda: any(path.name.startswith("binlog.") for path in landed.iterdir()))
    processes = Path(f"/proc/{running.pid}/cmdline").read_text()
    mysql.execute("DROP USER capturer")
    running.terminate()
    output, _ = running.communicate(timeout=30)
    assert running.returncode == 0, output
    kept = (landed / ".binlake-capture.json").read_text()
    assert not [text for text in (processes, output.decode(), kept) if PASSWORD in text]


def test_memory_stays_flat_when_the_disk_is_slow(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    fill(mysql, 30)
    slow = 20 << 20  # bytes a second

    def write(descriptor: int, data: memoryview, position: int) -> int:
        time.sleep(len(data) / slow)
        return os.pwrite(descriptor, data, position)

    queue = 2 << 20
    capture(mysql, tmp_path / "first", first_file=mysql.binlogs()[-1].name)  # loads the kernels
    before = _resident()
    most = [before]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            most.append(_resident())

    watching = threading.Thread(target=watch)
    watching.start()
    capturing_slowly = Capture(
        CaptureSettings(to=str(tmp_path / "slowly"), queue=queue), login_of(mysql), write=write
    )
    capturing_slowly.run()
    ended.set()
    watching.join()
    assert not differing(mysql, tmp_path / "slowly")
    # It was full, and held no more than its limit.
    assert queue // 2 < capturing_slowly.queue_high_water <= queue
    assert max(most) - before < 24 << 20, "of the 30 MB that were captured"


def _resident() -> int:
    """Return the resident memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_a_full_disk_is_reported_and_the_capture_continues_after_it(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    fill(mysql, 2)
    room = [1 << 20]

    def write(descriptor: int, data: memoryview, position: int) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = os.pwrite(descriptor, data[: room[0]], position)
        room[0] -= written
        return written

    full = Capture(CaptureSettings(to=str(tmp_path)), login_of(mysql), write=write)
    with pytest.raises(NotLandedError, match=r"No space left on device.*Free space"):
        full.run()
    capture(mysql, tmp_path)
    assert not differing(mysql, tmp_path)


def test_a_server_that_is_down_is_given_up_on_unless_forever(tmp_path: Path) -> None:
    login = Login("localhost", "root", socket=str(tmp_path / "none.sock"))
    settings = CaptureSettings(to=str(tmp_path), retry={"longest": 0.01, "tries": 3})
    began = time.monotonic()
    with pytest.raises(ServerUnreachableError) as refused:
        Capture(settings, login).run()
    assert refused.value.retryable
    assert time.monotonic() - began < 5

    for_ever = Capture(settings.model_copy(update={"forever": True}), login)
    thread = threading.Thread(target=for_ever.run)
    thread.start()
    time.sleep(0.5)
    assert thread.is_alive()
    for_ever.stop()
    thread.join(10)
    assert not thread.is_alive()


def test_a_dump_killed_by_the_server_is_requested_again(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    make_table(mysql)
    with capturing(mysql, tmp_path, retry={"longest": 0.1}):
        for number in range(3):
            eventually(lambda: bool(_dumps(mysql)))
            for (thread,) in _dumps(mysql):
                _kill(mysql, thread)
            mysql.execute(f"INSERT INTO shop.t (b) VALUES ('{number}')")
            eventually(lambda: not differing(mysql, tmp_path))
    state = read_state(tmp_path)
    assert state is not None
    assert state.reconnects >= 3


def test_lag_is_queried_again_after_a_lost_connection(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    make_table(mysql)
    with capturing(mysql, tmp_path, checkpoint={"seconds": 0.1}):
        eventually(lambda: bool(_dumps(mysql)))
        idle = "SELECT id FROM information_schema.processlist WHERE command = 'Sleep'"
        for (thread,) in mysql.execute(idle):
            _kill(mysql, thread)
        mysql.execute("INSERT INTO shop.t (b) VALUES ('x')")
        ((_, end, *_),) = mysql.execute("SHOW BINARY LOG STATUS")
        eventually(lambda: _server_position(tmp_path) == end)


def _server_position(landed: Path) -> int:
    state = read_state(landed)
    return 0 if state is None else state.server_position


def _kill(server: MySQLServer, thread: int) -> None:
    """Kill a connection, unless it has ended since it was listed."""
    try:
        server.execute(f"KILL {thread}")
    except pymysql.err.OperationalError as error:
        if error.args[0] != ER.NO_SUCH_THREAD:
            raise


def _dumps(server: MySQLServer) -> list[tuple[int]]:
    dumping = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'"
    return [(int(row[0]),) for row in server.execute(dumping)]


def test_lost_connections_and_full_disks_may_be_retried() -> None:
    retryable: tuple[type[BinlakeError], ...] = (LostConnectionError, NotLandedError)
    assert all(kind.retryable for kind in retryable)
