"""A capture goes on from another server where one was lost: nothing is missing, nothing doubled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pymysql
import pytest
from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.gtids import GtidSet
from pipeline.capture.errors import AnotherLogError, PurgedGtidsError
from pipeline.capture.landed_gtids import gtids_of
from pipeline.capture.state import CaptureState, read_state
from pipeline.lake import Lake
from pipeline.progress import QuietProgress
from pipeline.run import run_layers
from pipeline.server.login import Login
from pipeline.settings import Settings
from tests.support.capturing import capture, capturing, eventually
from tests.support.compare import assert_gold_equals_source
from tests.support.mariadb import MariaDBFactory
from tests.support.mysql import MySQLFactory
from tests.support.replicas import follow, promote, replicate
from tests.support.server import Server

TABLES = """
    CREATE DATABASE shop; USE shop;
    CREATE TABLE item (id INT PRIMARY KEY AUTO_INCREMENT, n INT);
    CREATE TABLE bag (n INT);
"""
CHANGES = """
    INSERT INTO shop.item (n) VALUES ({n}), ({n}); INSERT INTO shop.bag VALUES ({n});
    UPDATE shop.item SET n = n + 1 WHERE id % 7 = {n} % 7; DELETE FROM shop.bag WHERE n = {n} - 5
"""


class Writer:
    """Writes to `server`, which may be another one from one moment to the next."""

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
        """From here to the end of the `with`."""
        self._thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        """Nothing is written any more."""
        self._ended.set()
        self._thread.join()

    def goes_on(self, transactions: int = 12) -> None:
        """Wait for some more."""
        until = self.written + transactions
        eventually(lambda: self.written >= until or not self._thread.is_alive())
        assert self._thread.is_alive()


class Address:
    """A socket's name that leads to one server, and then to another one."""

    def __init__(self, link: Path) -> None:
        self.link = link
        self.login = Login("localhost", "root", socket=str(link))

    def leads_to(self, server: Server) -> None:
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(server.socket)


def started(factory: MySQLFactory | MariaDBFactory, count: int, *options: str) -> list[Server]:
    """Servers that keep what they replicate in their logs, and have nothing yet."""
    servers: list[Server] = []
    keep = "--log-replica-updates" if isinstance(factory, MySQLFactory) else "--log-slave-updates"
    for number in range(count):
        server = factory(f"--server-id={11 + number}", keep, *options)
        server.reset_logs()
        servers.append(server)
    return servers


def state_of(landed: Path) -> CaptureState:
    state = read_state(landed)
    assert state is not None
    return state


def has_all(landed: Path, server: Server) -> bool:
    """Whether a capture is at the end of a server's log."""
    state = read_state(landed)
    last = server.binlogs()[-1]
    return state is not None and (state.file, state.position) == (last.name, last.stat().st_size)


def lost(server: Server, replicas: list[Server], writer: Writer) -> None:
    """A server dies; the first replica takes over, and the others follow that one."""
    for replica in replicas:
        follow(server, replica)
    server.kill()
    promote(replicas[0])
    for other in replicas[1:]:
        replicate(replicas[0], other)
    writer.server = replicas[0]


def ran(spark: SparkSession, landed: Path, lake: Path) -> None:
    settings = Settings.load(None, source="shop", lake=str(lake), binlogs=str(landed))
    for report in run_layers(spark, settings, QuietProgress()):
        assert (report.faults, report.gaps) == ((), ()), report


def test_mysql_a_primary_and_two_replicas_fail_over_twice_and_back_under_a_writer(
    spark: SparkSession, mysql_factory: MySQLFactory, tmp_path: Path
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
            ran(spark, landed, lake)
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
    held = GtidSet.of(*(str(gtids_of(path)) for path in landed.rglob("binlog.0*")))
    assert held == GtidSet.of(executed)
    ran(spark, landed, lake)
    ran(spark, landed, tmp_path / "another lake")  # all of it at once
    for place in (lake, tmp_path / "another lake"):
        rows = delta.read(spark, Lake(str(place)).transactions)
        found = rows.groupBy("gtid").agg(sf.count_if(~sf.col("seen_before")).alias("times"))
        assert {row["times"] for row in found.collect()} == {1}
        assert found.count() == held.size
        for table in ("item", "bag"):
            assert_gold_equals_source(spark, first, str(place), "shop", table)
        (cut,) = delta.read(spark, Lake(str(place)).cuts).orderBy("batch").tail(1)
        assert GtidSet.of(cut["gtid_set"]) == held
