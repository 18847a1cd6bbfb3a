"""Captures into an object store: complete objects that equal the server's files."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.settings.capture import CaptureSettings, PublishSettings
from pipeline.source import Capture, find_binlogs
from pipeline.source.capture.errors import NotLandedError
from pipeline.source.capture.object_store import Published
from pipeline.source.capture.state import STATE, CaptureState
from pipeline.source.logs.kept_statements import READINGS_FILE, parse_readings
from tests.support.lake.object_store import ObjectStore, object_store
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.replicas import follow, promote, replicate
from tests.support.source.capturing import login_of

ROW = "(REPEAT('x', 2000))"
URL = "s3://landing/binlogs"


@pytest.fixture(scope="module")
def started() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def store(started: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in started.environment.items():
        monkeypatch.setenv(name, value)
    started.put("landing/somewhere/else", b"there is a bucket")
    if started.files.exists("landing/binlogs"):
        started.files.rm("landing/binlogs", recursive=True)
    return started


def capture(server: MySQLServer, spool: Path, **settings: Any) -> CaptureState:
    return Capture(CaptureSettings(to=URL, spool=str(spool), **settings), login_of(server)).run()


def stored(store: ObjectStore) -> dict[str, bytes]:
    """Return the contents of the capture's folder, except for the table definitions, which must
    exist.
    """
    found = store.files.ls("landing/binlogs", detail=True)
    paths = [entry["name"] for entry in found if entry["type"] == "file"]
    objects = {path.rpartition("/")[2]: store.files.cat_file(path) for path in paths}
    assert parse_readings(objects.pop(READINGS_FILE))
    return objects


def insert(server: MySQLServer, rows: int) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS shop; CREATE TABLE IF NOT EXISTS shop.s (a TEXT)")
    server.execute(f"INSERT INTO shop.s VALUES {','.join([ROW] * rows)}")


def begun_anew(server: MySQLServer) -> None:
    server.reset_logs()
    insert(server, 20)
    server.flush_logs()
    insert(server, 20)


def test_objects_equal_the_servers_files(
    mysql: MySQLServer, store: ObjectStore, tmp_path: Path
) -> None:
    begun_anew(mysql)
    capture(mysql, tmp_path)
    insert(mysql, 20)
    mysql.flush_logs()
    insert(mysql, 3)
    capture(mysql, tmp_path)

    logs = {log.name: log.read_bytes() for log in mysql.binlogs()}
    found = stored(store)
    assert found.pop(STATE)
    assert found == logs
    # A closed file that is in the store is not kept twice.
    assert [path.name for path in tmp_path.glob("binlog.*")] == [mysql.binlogs()[-1].name]
    listing = find_binlogs(URL)
    assert [log.stored.name for log in listing.binlogs] == list(logs)
    assert not listing.faults


def test_a_lost_spool_is_rebuilt_from_the_store(
    mysql: MySQLServer, store: ObjectStore, tmp_path: Path
) -> None:
    begun_anew(mysql)
    first = capture(mysql, tmp_path / "one")
    shutil.rmtree(tmp_path / "one")
    insert(mysql, 5)
    mysql.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    second = capture(mysql, tmp_path / "two")

    assert second.replica == first.replica
    assert second.bytes > first.bytes
    assert stored(store)["binlog.000002"] == mysql.binlogs()[-1].read_bytes()


def test_a_spool_older_than_the_store_is_not_resumed(
    mysql: MySQLServer, store: ObjectStore, tmp_path: Path
) -> None:
    begun_anew(mysql)
    capture(mysql, tmp_path / "one")
    shutil.copytree(tmp_path / "one", tmp_path / "old")
    mysql.flush_logs()
    insert(mysql, 5)
    capture(mysql, tmp_path / "one")
    capture(mysql, tmp_path / "old")
    assert [path.name for path in (tmp_path / "old").glob("binlog.*")] == ["binlog.000003"]
    logs = {log.name: log.read_bytes() for log in mysql.binlogs()}
    assert {name: found for name, found in stored(store).items() if name != STATE} == logs


def test_a_slow_store_fills_the_queue_and_no_more(
    mysql: MySQLServer, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysql.reset_logs()
    for _ in range(4):
        insert(mysql, 250)
        mysql.flush_logs()
    put = Published._put

    def slowly(self: Published, *arguments: Any) -> None:
        time.sleep(0.1)
        put(self, *arguments)

    monkeypatch.setattr(Published, "_put", slowly)
    running = Capture(
        CaptureSettings.model_validate(
            {
                "to": URL,
                "spool": str(tmp_path),
                "queue": 700_000,
                "checkpoint": {"bytes": 100_000},
                "publish": {"seconds": 0, "growth": 0},
            }
        ),
        login_of(mysql),
    )
    running.run()
    assert 350_000 < running.queue_high_water <= 700_000
    logs = {log.name: log.read_bytes() for log in mysql.binlogs()}
    assert {name: found for name, found in stored(store).items() if name != STATE} == logs


def test_a_failing_store_is_reported(
    mysql: MySQLServer, store: ObjectStore, tmp_path: Path
) -> None:
    settings = CaptureSettings.model_validate(
        {
            "to": "s3://no-such-bucket/x",
            "spool": str(tmp_path),
            "retry": {"longest": 0.01, "tries": 2},
        }
    )
    with pytest.raises(NotLandedError, match="s3://no-such-bucket/x cannot be written"):
        Capture(settings, login_of(mysql)).run()


def test_a_store_needs_a_spool(mysql: MySQLServer) -> None:
    with pytest.raises(SettingsError, match=r"capture\.spool: is required for a store"):
        Capture(CaptureSettings(to=URL), login_of(mysql))


@pytest.mark.parametrize(
    ("position", "waited", "final", "due"),
    [
        (150, 0, False, True),
        (124, 0, False, False),
        (125, 0, False, True),
        (101, 0, True, True),
        (100, 0, True, False),
        (900, 60, False, False),
    ],
)
def test_a_growing_file_is_uploaded_once_it_has_grown_by_a_part(
    position: int, waited: float, final: bool, due: bool, tmp_path: Path
) -> None:
    published = Published(f"memory://{tmp_path}", PublishSettings(seconds=waited, growth=0.25))
    published._growing = ("binlog.000001", 100)
    assert published._is_due("binlog.000001", position, final=final) is due


def test_a_failover_target_has_a_folder_in_the_store_even_after_the_spool_is_lost(
    mysql: MySQLServer, mysql_factory: MySQLFactory, store: ObjectStore, tmp_path: Path
) -> None:
    begun_anew(mysql)
    replica = mysql_factory("--server-id=2", "--log-replica-updates")
    replica.reset_logs()
    replicate(mysql, replica)
    capture(mysql, tmp_path / "spool")
    before = stored(store)
    insert(mysql, 5)
    follow(mysql, replica)
    promote(replica)
    replica.flush_logs()
    assert capture(replica, tmp_path / "spool").turn == 2
    insert(replica, 5)
    state = capture(replica, tmp_path / "another spool")
    assert (state.turn, state.gaps) == (2, ())
    folder = "landing/binlogs/turn-0002"
    for log in replica.binlogs():
        assert store.files.cat_file(f"{folder}/{log.name}") == log.read_bytes()
    assert {name: stored(store)[name] for name in before if name != STATE} == {
        name: content for name, content in before.items() if name != STATE
    }
    replica.stop()
