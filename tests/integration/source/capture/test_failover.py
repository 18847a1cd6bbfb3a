"""A capture fails over to another server: nothing is missing, nothing repeated."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.lake import Lake
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.settings.capture import CaptureSettings
from pipeline.source import Capture, GtidSet
from pipeline.source.capture.errors import (
    AnotherLogError,
    MissingGtidsError,
    NotLandedError,
    UnloggedReplicationError,
)
from pipeline.source.capture.landed_gtids import gtids_of
from pipeline.source.server.login import Login
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.run_layers import run_layers
from tests.support.lake.table_rows import read_table
from tests.support.servers.mariadb import MariaDBFactory
from tests.support.servers.mysql import MySQLFactory
from tests.support.servers.replicas import follow, promote, replicate
from tests.support.servers.server import Server
from tests.support.source.capturing import capture, capturing, differing, eventually, login_of
from tests.support.source.failing_over import TABLES, has_all, insert, started, state_of
from tests.support.spark.no_spark import NEVER_STARTED, NO_SPARK

CHANGES = """
    INSERT INTO shop.item (n) VALUES ({n}), ({n}); INSERT INTO shop.keyless VALUES ({n});
    UPDATE shop.item SET n = n + 1 WHERE id % 7 = {n} % 7;
    DELETE FROM shop.keyless WHERE n = {n} - 5
"""


class Writer:
    """Writes to `server`, which may change at any time."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.written = 0
        self.resting = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        while not self._ended.wait(0.01):
            with self.resting:
                self.written += 1
                self.server.execute(CHANGES.format(n=self.written))
                if self.written % 10 == 0:
                    self.server.flush_logs()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Write until the end of the `with`."""
        self._thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        """Stop writing."""
        self._ended.set()
        self._thread.join()

    def goes_on(self, transactions: int = 12) -> None:
        """Wait for some more transactions."""
        until = self.written + transactions
        eventually(lambda: self.written >= until or not self._thread.is_alive())
        assert self._thread.is_alive()


class Address:
    """The name of a socket that leads to one server, and later to another."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.login = Login("localhost", "root", socket=str(link))

    def leads_to(self, server: Server) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(server.socket)


def lost(server: Server, replicas: list[Server], writer: Writer) -> None:
    """Kill a server; its first replica is promoted, and the others follow it."""
    for replica in replicas:
        follow(server, replica)
    server.kill()
    promote(replicas[0])
    for other in replicas[1:]:
        replicate(replicas[0], other)
    writer.server = replicas[0]


def ran(landed: Path, lake: Path) -> None:
    settings = Settings.load(None, source="shop", lake=str(lake), binlogs=str(landed))
    for report in run_layers(NEVER_STARTED, settings, QuietProgress()):
        assert (report.faults, report.gaps) == ((), ()), report


def assert_once_in_lake_and_gold(server: Server, folder: Path, held: GtidSet) -> None:
    """Fail unless each transaction counts once, gold equals the server, and has all of them."""
    lake = Lake(str(folder))
    rows = read_table(lake.transactions)[1].to_pylist()
    found = Counter(row["gtid"] for row in rows if not row["seen_before"])
    assert {*found.values()} == {1}
    assert {row["gtid"] for row in rows} == found.keys()
    assert GtidSet.of(*found) == held
    for table in ("item", "keyless"):
        assert_gold_equals_source(NO_SPARK, server, lake.root, "shop", table)
    last = max(read_table(lake.cuts)[1].to_pylist(), key=lambda cut: cut["batch"])
    assert GtidSet.of(last["gtid_set"]) == held


def test_two_mysql_failovers_and_a_failback_under_a_writer(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    first, second, third = started(mysql_factory, 3)
    for replica in (second, third):
        replicate(first, replica)
    landed, lake = tmp_path / "landed", tmp_path / "lake"
    address = Address(tmp_path / "server")
    first.execute(TABLES)
    writer = Writer(first)
    with writer.at_work():
        writer.goes_on()
        capture(first, landed)
        writer.goes_on()  # of which the capture has nothing
        with writer.resting:
            lost(first, [second, third], writer)
        address.leads_to(second)
        with capturing(second, landed, address.login, retry={"longest": 0.2}):
            writer.goes_on()
            eventually(lambda: state_of(landed).turn == 2)
            ran(landed, lake)
            writer.goes_on()
            with writer.resting:
                lost(second, [third], writer)
                address.leads_to(third)
            writer.goes_on()
            eventually(lambda: state_of(landed).turn == 3)
            # The first one comes back, and is the primary again.
            first.start()
            replicate(third, first)
            writer.goes_on()
            with writer.resting:
                lost(third, [first], writer)
                address.leads_to(first)
            writer.goes_on()
            writer.end()
            eventually(lambda: has_all(landed, first))
    state = state_of(landed)
    assert [turn.server_id for turn in state.before] == [11, 12, 13]
    assert (state.turn, state.server_id, state.lacking, state.gaps) == (4, 11, "", ())
    ((executed,),) = first.execute("SELECT @@gtid_executed")
    held = GtidSet.of(*(str(gtids_of(path) or "") for path in landed.rglob("binlog.0*")))
    assert held == GtidSet.of(executed)
    ran(landed, lake)
    ran(landed, tmp_path / "another lake")  # all of it at once
    for place in (lake, tmp_path / "another lake"):
        assert_once_in_lake_and_gold(first, place, held)


@pytest.mark.long
def test_a_mariadb_failover_and_failback(mariadb_factory: MariaDBFactory, tmp_path: Path) -> None:
    first, second = started(mariadb_factory, 2)
    replicate(first, second)
    landed, lake = tmp_path / "landed", tmp_path / "lake"
    address = Address(tmp_path / "server")
    first.execute(TABLES)
    writer = Writer(first)
    with writer.at_work():
        writer.goes_on()
        capture(first, landed)
        writer.goes_on()
        with writer.resting:
            lost(first, [second], writer)
        address.leads_to(second)
        with capturing(second, landed, address.login, retry={"longest": 0.2}):
            writer.goes_on()
            eventually(lambda: state_of(landed).turn == 2)
            first.start()
            replicate(second, first)
            writer.goes_on()
            with writer.resting:
                lost(second, [first], writer)
                address.leads_to(first)
            writer.goes_on()
            writer.end()
            eventually(lambda: has_all(landed, first))
    state = state_of(landed)
    assert [(turn.turn, turn.server_id) for turn in state.before] == [(1, 11), (2, 12)]
    assert (state.turn, state.server_id, state.lacking, state.gaps) == (3, 11, "", ())
    ran(landed, lake)
    ((executed,),) = first.execute("SELECT @@gtid_binlog_state")
    assert_once_in_lake_and_gold(first, lake, GtidSet.of(executed))


def test_purged_and_missing_transactions_of_a_replica_are_reported(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    first, second = started(mysql_factory, 2)
    replicate(first, second)
    ((source,),) = first.execute("SELECT @@server_uuid")
    first.execute(TABLES)
    capture(first, tmp_path)
    insert(first, 1)
    follow(first, second)
    second.flush_logs()
    second.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    with pytest.raises(MissingGtidsError, match=f"not contain {source}:4, which.*another replica"):
        capture(second, tmp_path)
    assert state_of(tmp_path).turn == 1
    # The first one is still there: it has what is missing, and more than the replica has then.
    capture(first, tmp_path)
    second.execute("STOP REPLICA")
    insert(first, 2)
    capture(first, tmp_path)
    state = capture(second, tmp_path)
    assert (state.turn, state.first_file, state.lacking) == (2, "binlog.000002", f"{source}:5")
    second.execute("START REPLICA")
    follow(first, second)
    state = capture(second, tmp_path)
    assert (state.turn, state.lacking, state.gaps) == (2, "", ())


def test_a_replica_without_log_replica_updates_is_refused(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    (first,) = started(mysql_factory, 1)
    replica = mysql_factory("--server-id=21", "--skip-log-replica-updates")
    replica.reset_logs()
    replicate(first, replica)
    ((source,),) = first.execute("SELECT @@server_uuid")
    first.execute(TABLES)
    capture(first, tmp_path)
    follow(first, replica)
    insert(replica, 1)  # its own, which is in its log
    insert(first, 2)
    follow(first, replica)
    # Whatever is missing now: more of it would come.
    with pytest.raises(UnloggedReplicationError, match="does not log what it replicates"):
        capture(replica, tmp_path)
    promote(replica)
    with pytest.raises(MissingGtidsError, match=f"do not contain {source}:4, which"):
        capture(replica, tmp_path)
    capture(first, tmp_path)
    assert capture(replica, tmp_path).turn == 2


def test_a_mariadb_replica_without_log_slave_updates_is_refused_until_promoted_and_complete(
    mariadb_factory: MariaDBFactory, tmp_path: Path
) -> None:
    (first,) = started(mariadb_factory, 1)
    replica = mariadb_factory("--server-id=21", "--skip-log-slave-updates")
    replica.reset_logs()
    replicate(first, replica)
    first.execute(TABLES)
    capture(first, tmp_path)
    follow(first, replica)
    with pytest.raises(UnloggedReplicationError):
        capture(replica, tmp_path)
    insert(first, 2)
    follow(first, replica)
    ((lost_gtid,),) = first.execute("SELECT @@gtid_binlog_pos")
    promote(replica)
    with pytest.raises(MissingGtidsError, match=f"do not contain {lost_gtid}, which"):
        capture(replica, tmp_path)
    capture(first, tmp_path)
    insert(replica, 3)
    assert capture(replica, tmp_path).lacking == ""
    assert not differing(replica, tmp_path / "turn-0002")


def test_with_purged_continue_a_capture_continues_after_the_gap(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    first, second = started(mysql_factory, 2)
    replicate(first, second)
    first.execute(TABLES)
    capture(first, tmp_path)
    insert(first, 1)
    follow(first, second)
    second.flush_logs()
    second.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    state = capture(second, tmp_path, purged="continue")
    ((source,),) = first.execute("SELECT @@server_uuid")
    (gap,) = state.gaps
    assert (gap.first, gap.gtids) == ("binlog.000002", f"{source}:4")
    assert (tmp_path / "turn-0002" / "binlog.000002").exists()


def test_a_server_without_comparable_gtids_is_refused(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    first, stranger = started(mysql_factory, 2)
    first.execute(TABLES)
    capture(first, tmp_path)
    stranger.execute(TABLES)
    with pytest.raises(AnotherLogError, match="shares no transaction"):
        capture(stranger, tmp_path)
    for mode in ("ON_PERMISSIVE", "OFF_PERMISSIVE", "OFF"):
        stranger.execute(f"SET GLOBAL gtid_mode = {mode}")
    with pytest.raises(AnotherLogError, match="gtid_mode is not ON"):
        capture(stranger, tmp_path)
    assert state_of(tmp_path).turn == 1
    assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    for mode in ("OFF_PERMISSIVE", "ON_PERMISSIVE", "ON"):
        stranger.execute(f"SET GLOBAL gtid_mode = {mode}")


def test_an_interrupted_failover_is_resumed(mysql_factory: MySQLFactory, tmp_path: Path) -> None:
    first, second = started(mysql_factory, 2)
    replicate(first, second)
    first.execute(TABLES)
    ((source,),) = first.execute("SELECT @@server_uuid")
    capture(first, tmp_path)
    insert(first, 1)
    follow(first, second)
    first.kill()

    def write(descriptor: int, data: memoryview, position: int) -> int:
        raise OSError(28, "No space left on device")

    with pytest.raises(NotLandedError):
        Capture(CaptureSettings(to=str(tmp_path)), login_of(second), write=write).run()
    assert (state_of(tmp_path).turn, state_of(tmp_path).position) == (2, 0)
    assert state_of(tmp_path).first_file == "binlog.000001"
    # The file to begin with is purged in between.
    second.flush_logs()
    second.execute("PURGE BINARY LOGS TO 'binlog.000002'")
    with pytest.raises(
        MissingGtidsError, match=f"not contain {source}:4, which.* remaining one is .*2"
    ):
        capture(second, tmp_path)
    assert state_of(tmp_path).position == 0
    for _ in range(2):
        state = capture(second, tmp_path, purged="continue")
        assert (state.turn, len(state.before), state.first_file) == (2, 1, "binlog.000002")
        assert [(gap.first, gap.gtids) for gap in state.gaps] == [("binlog.000002", f"{source}:4")]
    assert not differing(second, tmp_path / "turn-0002", first=0)
    assert has_all(tmp_path, second)


def test_a_capture_without_landed_files_accepts_any_server(
    mysql_factory: MySQLFactory, tmp_path: Path
) -> None:
    first, second = started(mysql_factory, 2)
    second.flush_logs()
    second.execute("PURGE BINARY LOGS TO 'binlog.000002'")

    def write(descriptor: int, data: memoryview, position: int) -> int:
        raise OSError(28, "No space left on device")

    with pytest.raises(NotLandedError):
        Capture(CaptureSettings(to=str(tmp_path)), login_of(first), write=write).run()
    assert (state_of(tmp_path).server_id, state_of(tmp_path).first_file) == (11, "binlog.000001")
    state = capture(second, tmp_path)
    assert (state.turn, state.server_id, state.first_file) == (1, 12, "binlog.000002")
    assert not differing(second, tmp_path)
    # From there on it is that one's.
    with pytest.raises(AnotherLogError):
        capture(first, tmp_path)
