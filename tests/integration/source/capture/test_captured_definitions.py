"""The table definitions that `binlake capture` keeps beside the logs, as its user's grants
allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from pipeline.settings.capture import CaptureSettings
from pipeline.source import Capture
from pipeline.source.capture.state import CaptureState
from pipeline.source.logs.kept_statements import READINGS_FILE, parse_readings
from pipeline.source.server.create_statements import CreateStatements
from pipeline.source.server.login import Login
from tests.support.observe.captured_log import captured_log
from tests.support.servers.server import Server

USER, PASSWORD = "landing", "a secret of the landing"
TABLES = f"""
    DROP DATABASE IF EXISTS kept; CREATE DATABASE kept; USE kept;
    CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP NOT NULL
        DEFAULT '2024-02-29 12:00:00');
    INSERT INTO item (id) VALUES (7);
    CREATE TABLE other (id INT); CREATE VIEW seen AS SELECT id FROM item;
    DROP USER IF EXISTS {USER}@localhost;
    CREATE USER {USER}@localhost IDENTIFIED BY '{PASSWORD}';
"""


@pytest.fixture(params=["mysql", "mariadb"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Return a server whose log does not name columns, and a user who may only capture it."""
    found: Server = request.getfixturevalue(request.param)
    found.execute(f"SET time_zone = '+03:00'; {TABLES}")
    logs = "BINLOG MONITOR" if request.param == "mariadb" else "REPLICATION CLIENT"
    found.execute(f"GRANT REPLICATION SLAVE, {logs} ON *.* TO {USER}@localhost")
    found.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    found.reset_logs()
    yield found
    found.execute(f"SET GLOBAL binlog_row_metadata = FULL; DROP USER {USER}@localhost")


def captured(server: Server, to: Path) -> CaptureState:
    login = Login("localhost", USER, socket=str(server.socket), password=SecretStr(PASSWORD))
    settings = CaptureSettings(to=str(to))
    return Capture(settings, login, wanted=lambda schema, table: table != "other").run()


def kept(folder: Path) -> list[CreateStatements]:
    file = folder / READINGS_FILE
    return parse_readings(file.read_bytes()) if file.exists() else []


def test_definitions_of_visible_tables_are_kept(server: Server, tmp_path: Path) -> None:
    with captured_log() as log:
        captured(server, tmp_path)
    assert kept(tmp_path) == []
    (line,) = log.of("tables_not_seen")
    assert "Grant SELECT" in line["message"]

    server.execute(f"GRANT SELECT ON kept.* TO {USER}@localhost")
    with captured_log() as log:
        state = captured(server, tmp_path)
    assert log.of("tables_not_seen") == []
    (reading,) = kept(tmp_path)
    assert [(table.schema, table.table) for table in reading.tables] == [("kept", "item")]
    query = reading.tables[0].query
    assert "AUTO_INCREMENT=" not in query
    # printed in UTC, whatever the server's or anybody's time zone is
    assert "2024-02-29 09:00:00" in query
    assert reading.first == reading.last == (state.file, state.position)

    # The first and the last of readings that say the same, and what has changed.
    for _ in range(2):
        captured(server, tmp_path)
    server.execute("ALTER TABLE kept.item ADD COLUMN n INT")
    captured(server, tmp_path)
    readings = kept(tmp_path)
    queries = [one.tables[0].query for one in readings]
    assert (queries[:2], "`n` int" in queries[2]) == ([query, query], True)

    (tmp_path / READINGS_FILE).write_text("nonsense")
    with captured_log() as log:
        captured(server, tmp_path)
    (line,) = log.of("tables_damaged")
    assert READINGS_FILE in line["message"]
    assert [one.tables for one in kept(tmp_path)] == [readings[-1].tables]
