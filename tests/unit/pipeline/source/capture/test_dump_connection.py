"""The commands of a replica; acknowledgements and interruptions of a dump, on a socket pair."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from pipeline.source.capture import dump_connection
from pipeline.source.capture.dump_connection import (
    BINLOG_DUMP_NON_BLOCK,
    DumpConnection,
    acknowledgement,
    binlog_dump,
    binlog_dump_gtid,
    register_replica,
)
from pipeline.source.capture.errors import LostConnectionError
from pipeline.source.capture.source import Identity
from pipeline.source.capture.state import Replica
from pipeline.source.server.log_position import LogPosition
from pipeline.source.server.login import Login
from pipeline.source.server.version import ServerVersion


class Dumping:
    """A fake of PyMySQL's connection: accepts any command, and keeps one end of `sockets`."""

    def __init__(self) -> None:
        self._sock, self.server = socket.socketpair()
        self.who = {"server_id": "1", "server_uuid": "one"}
        self.commands: list[int] = []

    def cursor(self) -> nullcontext[Dumping]:
        return nullcontext(self)

    def execute(self, statement: str, values: None = None) -> None:
        pass

    def fetchall(self) -> list[tuple[str, str]]:
        return list(self.who.items())

    def _execute_command(self, command: int, content: bytes) -> None:
        self.commands.append(command)

    def _read_ok_packet(self) -> None:
        pass

    def _force_close(self) -> None:
        self._sock.close()


@pytest.fixture
def dumping(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dumping]:
    connection = Dumping()
    monkeypatch.setattr(dump_connection, "connect", lambda *_, **__: connection)
    with connection.server:
        connection.server.settimeout(10)
        yield connection


ONE = Identity(ServerVersion.read("9.7.4"), 1, "one")
MARIA = Identity(ServerVersion.read("10.11.8-MariaDB"), 1, None)


def asked(*, semi_sync: bool, server: Identity = ONE) -> DumpConnection:
    start = LogPosition("binlog.000001", 4)
    return DumpConnection(
        Login("localhost", "reader"),
        Replica.new(),
        start,
        server=server,
        wait=True,
        gtids=False,
        semi_sync=semi_sync,
    )


def test_acknowledging_never_waits_for_the_receiver(dumping: Dumping) -> None:
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


def test_an_acknowledgement_is_sent_before_receiving_more(dumping: Dumping) -> None:
    dump = asked(semi_sync=True)
    dumping.server.sendall(b"x" * 100)
    dump.acknowledge(LogPosition("binlog.000001", 700))
    dump.acknowledge(LogPosition("binlog.000001", 900))
    assert dump.receive_into(memoryview(bytearray(10))) == 10
    content = acknowledgement("binlog.000001", 900)
    expected = len(content).to_bytes(4, "little") + content
    assert dumping.server.recv(1000) == expected  # the last alone
    dump.close()


def test_no_acknowledgement_is_sent_without_semi_sync(dumping: Dumping) -> None:
    dump = asked(semi_sync=False)
    dumping.server.sendall(b"x")
    dump.acknowledge(LogPosition("binlog.000001", 900))
    assert dump.receive_into(memoryview(bytearray(10))) == 1
    dump.close()
    assert dumping.server.recv(1000) == b""


class Tls(socket.socket):
    """Like ssl's: its own shutdown ends TLS, and later reads are not decrypted."""

    def shutdown(self, how: int) -> None:
        raise AssertionError(how)


def test_interrupting_keeps_tls_in_place(dumping: Dumping) -> None:
    plain = dumping._sock
    dumping._sock = Tls(fileno=plain.detach())
    dump = asked(semi_sync=False)
    dump.interrupt()
    assert dumping.server.recv(1) == b""
    dump.close()
    dump.interrupt()


@pytest.mark.parametrize(
    ("server", "who", "same"),
    [
        (ONE, {"server_id": "1", "server_uuid": "one"}, True),
        (ONE, {"server_id": "1", "server_uuid": "two"}, False),
        (ONE, {"server_id": "2", "server_uuid": "one"}, False),
        (ONE, {"server_id": "1"}, False),
        (MARIA, {"server_id": "1"}, True),
        (MARIA, {"server_id": "2"}, False),
    ],
)
def test_no_dump_is_requested_from_another_server(
    server: Identity, who: dict[str, str], same: bool, dumping: Dumping
) -> None:
    dumping.who = who
    if same:
        asked(semi_sync=False, server=server).close()
        assert len(dumping.commands) == 2
    else:
        with pytest.raises(LostConnectionError, match="is the address of several servers"):
            asked(semi_sync=False, server=server)
        assert (dumping.commands, dumping._sock.fileno()) == ([], -1)


def test_binlog_dump_matches_mariadbs_documentation() -> None:
    """The example on its page "COM_BINLOG_DUMP", after the command byte."""
    shown = "34 06 00 00 02 00 75 27 00 00 6d 79 73 71 6c 2d 62 69 6e 2e 30 30 30 30 33 34"
    assert binlog_dump(10101, "mysql-bin.000034", 0x634, 2) == bytes.fromhex(shown)


def test_binlog_dump_gtid_supports_positions_after_4_gib() -> None:
    made = binlog_dump_gtid(7, "b.000001", 5 << 32, BINLOG_DUMP_NON_BLOCK)
    assert made == bytes.fromhex(
        "0100 07000000 08000000 622e303030303031 0000000005000000 08000000 0000000000000000"
    )


def test_a_replica_is_registered_without_a_host_name() -> None:
    assert register_replica(7, 3306) == bytes.fromhex("07000000 00 00 00 ea0c 00000000 00000000")


def test_an_acknowledgement_names_file_and_position() -> None:
    assert acknowledgement("b.1", 300) == bytes.fromhex("ef 2c01000000000000 622e31")
