"""Dumps that end early or start at a far position: the capture continues until all is landed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.settings.capture import CaptureSettings
from pipeline.source import Capture
from pipeline.source.capture import dump_connection
from pipeline.source.capture.errors import DamagedFolderError
from pipeline.source.capture.state import read_state
from pipeline.source.server.login import Login
from tests.support.servers.mariadb import MariaDBFactory
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server
from tests.support.source.capturing import capture, capturing, differing, eventually, login_of


def dumps(server: Server) -> list[int]:
    dumping = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%%'"
    return [int(row[0]) for row in server.execute(dumping)]


def reconnects(landed: Path) -> int:
    state = read_state(landed)
    return 0 if state is None else state.reconnects


def prepared(factory: MySQLFactory | MariaDBFactory) -> Server:
    """Return the module's server of a kind, with only an empty table in its log."""
    server, was_there = factory.running()
    for thread in dumps(server):
        server.execute(f"KILL {thread}")
    eventually(lambda: not dumps(server))
    if was_there:
        server.execute("DROP DATABASE shop; DROP USER IF EXISTS reader")
        server.reset_logs()
    server.execute("CREATE DATABASE shop; CREATE TABLE shop.t (b LONGBLOB)")
    return server


@pytest.mark.parametrize("fixture", ["mysql_factory", "mariadb_factory"])
def test_a_forever_capture_continues_after_an_ended_dump(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = prepared(request.getfixturevalue(fixture))
    server.execute("CREATE USER reader IDENTIFIED BY ''; GRANT ALL ON *.* TO reader")
    login = Login("127.0.0.1", "reader", port=server.port)
    with capturing(server, tmp_path, login, retry={"longest": 0.1}):
        eventually(lambda: bool(dumps(server)))
        (killed,) = dumps(server)
        server.execute(f"KILL QUERY {killed}")
        eventually(lambda: bool(dumps(server)) and dumps(server) != [killed])
        server.execute("INSERT INTO shop.t VALUES ('x')")
        eventually(lambda: not differing(server, tmp_path))
        server.stop()
        server.start()
        server.execute("INSERT INTO shop.t VALUES ('y')")
        eventually(lambda: not differing(server, tmp_path))
    assert reconnects(tmp_path) >= 2


@pytest.mark.parametrize("fixture", ["mysql_factory", "mariadb_factory"])
def test_a_capture_whose_dump_ended_has_not_caught_up(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server = prepared(request.getfixturevalue(fixture))
    for _ in range(40):
        server.execute("INSERT INTO shop.t VALUES (REPEAT('x', 1000000))")
    ended: list[int] = []

    def write(descriptor: int, data: memoryview, position: int) -> int:
        if not ended and position:
            ended.extend(dumps(server))
            for thread in ended:
                server.execute(f"KILL QUERY {thread}")
        return os.pwrite(descriptor, data, position)

    # Much less than the log is on its way when the dump ends.
    settings = CaptureSettings.model_validate(
        {"to": str(tmp_path), "queue": 1 << 20, "retry": {"longest": 0.1}}
    )
    Capture(settings, login_of(server), write=write).run()
    assert ended
    assert not differing(server, tmp_path)
    assert reconnects(tmp_path) >= 1


def test_a_dump_from_a_far_position_uses_the_other_command(
    mysql_factory: MySQLFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump_connection, "LAST_POSITION_OF_DUMP", 100)
    server = prepared(mysql_factory)
    capture(server, tmp_path)
    server.execute("INSERT INTO shop.t VALUES ('x')")
    capture(server, tmp_path)
    assert not differing(server, tmp_path)
    assert reconnects(tmp_path) == 0


def test_a_folder_of_other_files_is_refused_each_time_and_left_unchanged(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    contents = {"backup.20240131": b"of January", "binlog.000004": b"\xfdbin" + bytes(700)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    for _ in range(2):
        with pytest.raises(DamagedFolderError, match="not written by a capture"):
            capture(mysql, tmp_path)
    assert {name: (tmp_path / name).read_bytes() for name in contents} == contents
