"""`binlake capture` with real servers: landed files equal the server's, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoder import events
from decoder.constants import EventFlag
from decoder.segments.log_windows import FLAGS_POSITION
from pipeline.bronze.scan import ScanTask, judge, scan
from pipeline.errors import SettingsError
from pipeline.source import find_binlogs
from pipeline.source.capture.errors import AnotherLogError, FolderInUseError, PurgedError
from pipeline.source.capture.landed_folder import exclusive_folder
from pipeline.source.capture.state import read_state
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.servers.server import Server
from tests.support.source.capturing import begins_like, capture, capturing, differing, eventually

XID_LENGTH = 31


def write(server: Server, *, seed: int, count: int = 60) -> None:
    server.execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
    with server.connect() as connection:
        traffic.run(connection, count, seed=seed)


def make_table(server: Server) -> None:
    server.execute(
        "CREATE DATABASE IF NOT EXISTS shop; DROP TABLE IF EXISTS shop.t;"
        " CREATE TABLE shop.t (a INT PRIMARY KEY AUTO_INCREMENT, b LONGBLOB)"
    )


@pytest.mark.parametrize("fixture", ["mysql", "mariadb", "newest_mariadb"])
def test_landed_files_equal_the_servers(
    fixture: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    server: Server = request.getfixturevalue(fixture)
    server.reset_logs()
    write(server, seed=1)
    server.flush_logs()
    write(server, seed=2)
    capture(server, tmp_path)
    assert not differing(server, tmp_path)

    write(server, seed=3)
    server.flush_logs()
    write(server, seed=4)
    state = capture(server, tmp_path)
    assert not differing(server, tmp_path)
    assert state.lag is not None
    assert (state.lag.seconds, state.lag.bytes, state.lag.transactions) == (0, 0, 0)
    assert state.bytes == sum(log.stat().st_size for log in server.binlogs())


def test_bronze_finds_the_landed_files_and_nothing_else(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    make_table(mysql)
    mysql.flush_logs()
    capture(mysql, tmp_path)

    listing = find_binlogs(str(tmp_path))
    assert [log.stored.name for log in listing.binlogs] == ["binlog.000001", "binlog.000002"]
    assert not listing.faults
    assert not listing.notes


def test_bronze_treats_a_landed_file_that_ends_inside_a_transaction_as_growing(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    make_table(mysql)
    mysql.execute("INSERT INTO shop.t (b) VALUES ('x')")
    capture(mysql, tmp_path)
    landed = tmp_path / "binlog.000001"
    size = landed.stat().st_size - XID_LENGTH
    task = ScanTask(str(landed), landed.name, size, None, False, 1 << 24, 1 << 26)
    found = scan(task)
    assert found.in_use
    assert 4 < found.boundary.position < size
    assert judge(landed.name, found, None, relay=False).state == "open"


def test_a_file_has_the_in_use_flag_until_the_server_closes_it(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    make_table(mysql)
    capture(mysql, tmp_path)
    assert (tmp_path / "binlog.000001").read_bytes()[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE

    mysql.flush_logs()
    capture(mysql, tmp_path)
    assert not (tmp_path / "binlog.000001").read_bytes()[FLAGS_POSITION] & EventFlag.BINLOG_IN_USE


def test_a_log_is_followed_while_it_is_written(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    with capturing(mysql, tmp_path):
        for seed in range(4):
            write(mysql, seed=seed)
            mysql.flush_logs()
        eventually(lambda: not differing(mysql, tmp_path))
    assert len(list(tmp_path.glob("binlog.*"))) == 5


def test_a_stopped_capture_has_everything_it_received_on_disk(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    with capturing(mysql, tmp_path, checkpoint={"seconds": 3600}):
        write(mysql, seed=1)
        landed = tmp_path / "binlog.000001"
        eventually(lambda: landed.exists() and landed.stat().st_size > 1000)
    state = read_state(tmp_path)
    assert state is not None
    assert state.position == landed.stat().st_size > 1000
    assert begins_like(landed, mysql.binlogs()[0])


@pytest.mark.parametrize(
    "megabytes", [3, 17, 40], ids=["one packet", "two packets", "three packets"]
)
def test_large_events_are_landed(
    megabytes: int, mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    server, _ = mysql_factory.running("--max-allowed-packet=128M")
    server.reset_logs()
    make_table(server)
    # Nothing else: PyMySQL's own limit is on what it sends.
    server.execute(f"INSERT INTO shop.t (b) VALUES (REPEAT('x', {megabytes << 20}))")
    server.execute("INSERT INTO shop.t (b) VALUES ('y')")
    capture(server, tmp_path)
    assert not differing(server, tmp_path)


def test_compressed_transactions_are_landed(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.execute("SET GLOBAL binlog_transaction_compression = ON")
    try:
        mysql.reset_logs()
        write(mysql, seed=5)
    finally:
        mysql.execute("SET GLOBAL binlog_transaction_compression = OFF")
    mysql.flush_logs()
    capture(mysql, tmp_path)
    assert not differing(mysql, tmp_path)
    compressed = events((tmp_path / "binlog.000001").read_bytes())
    assert any(event.name == "TRANSACTION_PAYLOAD" for event in compressed)


def test_checksums_may_be_switched_off_and_on(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.execute("SET GLOBAL binlog_checksum = NONE")
    try:
        mysql.reset_logs()
        make_table(mysql)
        capture(mysql, tmp_path)
        mysql.execute("SET GLOBAL binlog_checksum = CRC32; INSERT INTO shop.t (b) VALUES ('x')")
        mysql.execute("SET GLOBAL binlog_checksum = NONE; INSERT INTO shop.t (b) VALUES ('y')")
        capture(mysql, tmp_path)
        mysql.execute("INSERT INTO shop.t (b) VALUES ('z')")
        capture(mysql, tmp_path)
        assert len(mysql.binlogs()) == 3
        assert not differing(mysql, tmp_path)
    finally:
        mysql.execute("SET GLOBAL binlog_checksum = CRC32")


def test_an_encrypted_log_is_landed_as_the_server_sends_it_decrypted(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    server = mysql_factory("--binlog-encryption=ON", keyring=tmp_path / "keyring")
    write(server, seed=6)
    server.flush_logs()
    landed, sent = tmp_path / "landed", tmp_path / "sent"
    sent.mkdir()
    state = capture(server, landed)
    assert state.lag is not None
    assert state.lag.bytes == 0
    name = server.binlogs()[0].name
    assert (landed / name).read_bytes() == server.sent_log(name, sent).read_bytes()
    server.stop()


def test_a_capture_continues_after_a_server_restart(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    server = mysql_factory()
    landed = tmp_path / "landed"
    make_table(server)
    with capturing(server, landed, retry={"longest": 0.2}):
        for end in (server.stop, server.kill):
            server.execute("INSERT INTO shop.t (b) VALUES ('x')")
            end()
            socket = server.socket
            server.start()
            # Each start has a socket of its own; the capture knows the first one.
            socket.parent.mkdir(exist_ok=True)
            socket.symlink_to(server.socket)
        server.execute("INSERT INTO shop.t (b) VALUES ('y')")
        eventually(lambda: not differing(server, landed))
    server.stop()


def test_purged_files_stop_a_capture_and_are_named(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    make_table(mysql)
    capture(mysql, tmp_path)
    for _ in range(3):
        mysql.execute("INSERT INTO shop.t (b) VALUES ('x')")
        mysql.flush_logs()
    mysql.execute("PURGE BINARY LOGS TO 'binlog.000003'")

    with pytest.raises(PurgedError, match=r"binlog\.000001, position .* binlog\.000003"):
        capture(mysql, tmp_path)
    assert not (tmp_path / "binlog.000003").exists()

    state = capture(mysql, tmp_path, purged="continue")
    assert [(gap.after.split(":")[0], gap.first) for gap in state.gaps] == [
        ("binlog.000001", "binlog.000003")
    ]
    assert not differing(mysql, tmp_path)
    assert len(capture(mysql, tmp_path).gaps) == 1


def test_files_purged_after_they_were_landed_leave_no_gap(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    make_table(mysql)
    mysql.flush_logs()
    capture(mysql, tmp_path)
    (tmp_path / "binlog.000002").unlink()  # only the first one was landed
    (tmp_path / ".binlake-capture.json").unlink()
    mysql.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    mysql.execute("INSERT INTO shop.t (b) VALUES ('x')")
    assert not capture(mysql, tmp_path).gaps
    assert not differing(mysql, tmp_path)


def test_a_log_that_was_reset_is_refused_and_nothing_is_changed(
    mysql: MySQLServer, tmp_path: Path
) -> None:
    mysql.reset_logs()
    make_table(mysql)
    capture(mysql, tmp_path)
    before = (tmp_path / "binlog.000001").read_bytes()
    mysql.reset_logs()
    with pytest.raises(AnotherLogError, match=r"bytes on the server"):
        capture(mysql, tmp_path)
    write(mysql, seed=7)
    with pytest.raises(AnotherLogError, match=r"another folder"):
        capture(mysql, tmp_path)
    assert (tmp_path / "binlog.000001").read_bytes() == before


def test_a_folder_takes_one_capture_at_a_time(mysql: MySQLServer, tmp_path: Path) -> None:
    with exclusive_folder(tmp_path), pytest.raises(FolderInUseError, match="another capture"):
        capture(mysql, tmp_path)


def test_the_servers_own_id_is_refused(mysql: MySQLServer, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="server's own server_id"):
        capture(mysql, tmp_path, server_id=1)


def test_a_capture_may_start_at_a_later_file(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    mysql.flush_logs()
    make_table(mysql)
    capture(mysql, tmp_path, first_file="binlog.000002")
    assert not (tmp_path / "binlog.000001").exists()
    assert not differing(mysql, tmp_path, first=1)


def test_a_capture_is_listed_among_the_servers_replicas(mysql: MySQLServer, tmp_path: Path) -> None:
    with capturing(mysql, tmp_path, server_id=4_000_000_007):
        eventually(lambda: 4_000_000_007 in {row[0] for row in mysql.execute("SHOW REPLICAS")})


def test_an_idle_capture_shows_that_it_is_alive(mysql: MySQLServer, tmp_path: Path) -> None:
    mysql.reset_logs()
    with capturing(mysql, tmp_path):
        eventually(lambda: (tmp_path / "binlog.000001").exists())
        eventually(lambda: (state := read_state(tmp_path)) is not None and state.position > 0)
        before = read_state(tmp_path)
        assert before is not None
        eventually(lambda: (state := read_state(tmp_path)) is not None and state != before, 20)
        after = read_state(tmp_path)
    assert after is not None
    assert after.updated > before.updated
    assert after.position == before.position
