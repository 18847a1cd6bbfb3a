"""Semi-synchronous replication: when COMMIT returns, the transaction is on the capture's disk."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline.source.capture.state import read_state
from tests.support.servers.mariadb import MariaDBFactory
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.server import Server
from tests.support.source.capturing import capture, capturing, differing, eventually

PATIENCE = 20_000
INSERTS = ("INSERT INTO shop.t VALUES ()", "INSERT INTO shop.b VALUES (REPEAT('x', 1500000))")
"""Small ones, and one whose event is passed on in pieces."""


@dataclass(frozen=True)
class Kind:
    """How a server is configured to wait for its replicas, and the names of its variables."""

    factory: str
    variables: str
    end: str
    install: str = ""


KINDS = (
    Kind(
        "mysql_factory",
        "rpl_semi_sync_source",
        "SHOW BINARY LOG STATUS",
        "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'",
    ),
    Kind("mariadb_factory", "rpl_semi_sync_master", "SHOW MASTER STATUS"),
)


def status(server: Server, name: str) -> int:
    return int(server.execute(f"SHOW STATUS LIKE '{name}'")[0][1])


def waiting(kind: Kind, request: pytest.FixtureRequest) -> Server:
    """Return a server, one for the module, that waits twenty seconds for an acknowledgement."""
    factory: MySQLFactory | MariaDBFactory = request.getfixturevalue(kind.factory)
    server, was_there = factory.running()
    if was_there:
        server.execute(f"SET GLOBAL {kind.variables}_enabled = 0; DROP DATABASE shop")
    elif kind.install:
        server.execute(kind.install)
    server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT)")
    server.execute("CREATE TABLE shop.b (b MEDIUMTEXT) ENGINE=InnoDB")
    server.execute(
        f"SET GLOBAL {kind.variables}_timeout = {PATIENCE}; SET GLOBAL {kind.variables}_enabled = 1"
    )
    eventually(lambda: status(server, f"{kind.variables}_clients") == 0)
    return server


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.factory)
def test_a_returned_commit_is_durable(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = waiting(kind, request)
    with capturing(server, tmp_path, semi_sync=True, checkpoint={"seconds": 3600}):
        eventually(lambda: status(server, f"{kind.variables}_clients") == 1)
        eventually(lambda: any(tmp_path.glob("binlog.*")))
        took = []
        counted = [status(server, f"{kind.variables}_{name}_tx") for name in ("no", "yes")]
        for large in (False, True) * 5:
            began = time.monotonic()
            server.execute(INSERTS[large])
            took.append(time.monotonic() - began)
            state = read_state(tmp_path)
            assert state is not None
            assert (state.position, state.reconnects) == (server.execute(kind.end)[0][1], 0)
        # A server that is not answered on the connection looks for another once a second.
        assert statistics.median(took) < 0.5
    assert status(server, f"{kind.variables}_no_tx") == counted[0]
    assert status(server, f"{kind.variables}_yes_tx") == counted[1] + 10
    assert not differing(server, tmp_path)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.factory)
def test_a_capture_does_not_acknowledge_by_default(
    kind: Kind, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = waiting(kind, request)
    server.execute(f"SET GLOBAL {kind.variables}_timeout = 1")
    capture(server, tmp_path)
    server.execute("INSERT INTO shop.t VALUES ()")
    with capturing(server, tmp_path):
        eventually(lambda: not differing(server, tmp_path))
        assert status(server, f"{kind.variables}_clients") == 0
