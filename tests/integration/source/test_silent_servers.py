"""Servers and networks that do not answer: commands time out, and end when interrupted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.seed.jdbc import JdbcSource
from pipeline.source.capture.state import read_state
from pipeline.source.server.connection import connect
from pipeline.source.server.errors import ServerUnreachableError
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.silent_network import SilentNetwork, full_listener, silent_network
from tests.support.source.capturing import REPOSITORY, differing, eventually

LIMIT = 1.0
ENDED_WITHIN = 5
"""Seconds from a signal to the end of the process."""


@pytest.fixture
def black_hole() -> Iterator[SilentNetwork]:
    """Accept connections without ever answering."""
    with silent_network() as network:
        yield network


def login(port: int, host: str = "127.0.0.1") -> Login:
    return Login(host, "root", port, connect_timeout=LIMIT)


def binlake(folder: Path, *command: str, port: int, limit: float = LIMIT) -> subprocess.Popen[str]:
    """Start a command for a server at that port."""
    conf = folder / "conf.yml"
    conf.write_text(
        f"server: {{host: 127.0.0.1, port: {port}, user: root, connect_timeout: {limit}}}\n"
        f"capture: {{to: {folder / 'landed'}, checkpoint: {{seconds: 0.2}}}}\n"
    )
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.cli", *command, "--conf", str(conf)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_server_that_accepts_a_connection_and_stays_silent_times_out(
    black_hole: SilentNetwork,
) -> None:
    began = time.monotonic()
    with pytest.raises(ServerUnreachableError, match=r"the login did not finish within 1 s"):
        connect(login(black_hole.port), read_timeout=3600)
    assert LIMIT <= time.monotonic() - began < LIMIT + 2


def test_a_host_that_drops_packets_times_out() -> None:
    began = time.monotonic()
    with (
        full_listener() as port,
        pytest.raises(ServerUnreachableError, match=r"no answer within 1 s .*firewall"),
    ):
        connect(login(port))
    assert LIMIT <= time.monotonic() - began < LIMIT + 2


def test_a_silent_name_server_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def hanging(*_: object, **__: object) -> list[object]:
        time.sleep(6)
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", hanging)
    began = time.monotonic()
    with pytest.raises(ServerUnreachableError, match=r"no answer within 1 s .*name resolution"):
        connect(login(3306, "db.invalid"))
    assert LIMIT <= time.monotonic() - began < LIMIT + 2


@pytest.mark.parametrize("after", [80, 1200, 2600])
def test_a_server_that_falls_silent_during_login_times_out(mysql: MySQLServer, after: int) -> None:
    """In the TLS handshake or after it: the timeout covers everything after the greeting."""
    began = time.monotonic()
    with (
        silent_network(mysql.port, after) as network,
        pytest.raises(ServerUnreachableError, match=r"the login did not finish within 1 s"),
    ):
        connect(login(network.port))
    assert LIMIT <= time.monotonic() - began < LIMIT + 2


def test_statements_may_take_longer_than_a_login(mysql: MySQLServer) -> None:
    with connect(login(mysql.port)) as connected, connected.cursor() as cursor:
        began = time.monotonic()
        cursor.execute("SELECT SLEEP(1.5)")
        assert time.monotonic() - began > LIMIT


def test_a_capture_in_a_black_hole_ends_in_time_and_keeps_what_it_received(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    mysql.execute("CREATE DATABASE silent; DROP DATABASE silent")
    with silent_network(mysql.port) as network:
        running = binlake(tmp_path, "capture", "--forever", port=network.port)
        landed = tmp_path / "landed"
        eventually(lambda: not differing(mysql, landed))
        network.swallow()
        # By then it asks where the server's log ends, and gets no answer.
        time.sleep(6)
        ended_in_time(running, signal.SIGTERM, 0)
    assert not differing(mysql, landed)
    state = read_state(landed)
    assert state is not None
    assert state.position == mysql.binlogs()[-1].stat().st_size


@pytest.mark.parametrize(
    ("command", "number", "code"),
    [
        (("capture", "--forever"), signal.SIGTERM, 0),
        (("capture",), signal.SIGINT, 130),
        (("check",), signal.SIGINT, 130),
        (("check",), signal.SIGTERM, 143),
    ],
)
def test_commands_waiting_for_a_silent_server_end_in_time(
    black_hole: SilentNetwork,
    tmp_path: Path,
    command: tuple[str, ...],
    number: signal.Signals,
    code: int,
) -> None:
    running = binlake(tmp_path, *command, port=black_hole.port, limit=60)
    eventually(lambda: black_hole.taken > 0)
    output = ended_in_time(running, number, code)
    assert ("Interrupted" in output) == bool(code)
    assert len(output.splitlines()) <= 1 or not code
    assert "Traceback" not in output


def test_a_seed_chunk_times_out_on_a_silent_server(
    spark: SparkSession, black_hole: SilentNetwork
) -> None:
    source = JdbcSource(login(black_hole.port), ServerVersion.read("9.7.0"))
    began = time.monotonic()
    with pytest.raises(Exception, match="connect to the database"):
        source.read(spark, "SELECT 1")
    assert LIMIT <= time.monotonic() - began < LIMIT + 5


def ended_in_time(running: subprocess.Popen[str], number: signal.Signals, code: int) -> str:
    """Return the standard error of a process that has to end in time."""
    sent = time.monotonic()
    running.send_signal(number)
    try:
        _, output = running.communicate(timeout=60)
    finally:
        running.kill()
    assert time.monotonic() - sent < ENDED_WITHIN
    assert running.returncode == code, output
    return output
