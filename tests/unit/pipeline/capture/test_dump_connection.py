"""What goes back to the server while its log is received, on a socket in place of a server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from pipeline.capture import dump_connection
from pipeline.capture.dump_connection import DumpConnection
from pipeline.capture.log_position import LogPosition
from pipeline.capture.replica_commands import acknowledgement
from pipeline.capture.state import Replica
from pipeline.server.login import Login


class Dumping:
    """Stands for PyMySQL's connection: takes any command, and keeps one end of `sockets`."""

    def __init__(self) -> None:
        self._sock, self.server = socket.socketpair()

    def cursor(self) -> nullcontext[Dumping]:
        return nullcontext(self)

    def execute(self, statement: str) -> None:
        pass

    def _execute_command(self, command: int, content: bytes) -> None:
        pass

    def _read_ok_packet(self) -> None:
        pass

    def _force_close(self) -> None:
        self._sock.close()


@pytest.fixture
def dumping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dumping]:
    connection = Dumping()
    monkeypatch.setattr(dump_connection, "connect", lambda _: connection)
    with connection.server:
        connection.server.settimeout(10)
        yield connection


def asked(*, semi_sync: bool) -> DumpConnection:
    start = LogPosition("binlog.000001", 4)
    return DumpConnection(
        Login("localhost", "reader"),
        Replica.new(),
        start,
        mariadb=False,
        wait=True,
        gtids=False,
        semi_sync=semi_sync,
    )


def test_who_acknowledges_never_waits_for_who_receives(dumping: Dumping) -> None:
    dump = asked(semi_sync=True)

    def acknowledge() -> None:
        for position in range(20_000):
            dump.acknowledge(LogPosition("binlog.000001", position))

    writer = threading.Thread(target=acknowledge, daemon=True)
    writer.start()
    writer.join(30)
    waits = writer.is_alive()
    dump.close()
    assert not waits


def test_an_acknowledgement_is_sent_though_more_is_there_to_receive(dumping: Dumping) -> None:
    dump = asked(semi_sync=True)
    dumping.server.sendall(b"x" * 100)
    dump.acknowledge(LogPosition("binlog.000001", 700))
    dump.acknowledge(LogPosition("binlog.000001", 900))
    assert dump.receive_into(memoryview(bytearray(10))) == 10
    content = acknowledgement("binlog.000001", 900)
    expected = len(content).to_bytes(4, "little") + content
    assert dumping.server.recv(1000) == expected  # the last alone
    dump.close()


def test_a_server_that_does_not_wait_gets_no_acknowledgement(dumping: Dumping) -> None:
    dump = asked(semi_sync=False)
    dumping.server.sendall(b"x")
    dump.acknowledge(LogPosition("binlog.000001", 900))
    assert dump.receive_into(memoryview(bytearray(10))) == 1
    dump.close()
    assert dumping.server.recv(1000) == b""


class Tls(socket.socket):
    """As ssl's: its own shutdown ends TLS, and what is read then is not decrypted."""

    def shutdown(self, how: int) -> None:
        raise AssertionError(how)


def test_who_interrupts_leaves_tls_as_it_is(dumping: Dumping) -> None:
    plain = dumping._sock
    dumping._sock = Tls(fileno=plain.detach())
    dump = asked(semi_sync=False)
    dump.interrupt()
    assert dumping.server.recv(1) == b""
    dump.close()
    dump.interrupt()
