"""Bronze with the files of a real server: small ones, a growing one, a crash, a reset log.

Whatever the server's folder contains when it is read, bronze restores every file with the same
SHA-256, and never stores a byte twice.
"""

from __future__ import annotations

import hashlib
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline.bronze import read_files
from pipeline.bronze.job import run
from pipeline.bronze.tables import FileRow, segments_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import ALL_ROWS, Condition, equal
from pipeline.lake.tables.choice import tables_of
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from tests.support.bronze.restore import restore
from tests.support.servers import traffic
from tests.support.servers.mysql import MySQLFactory, MySQLServer
from tests.support.spark.no_spark import NEVER_STARTED

FLAGS = 21


class Ingest:
    """Bronze over a server's own log folder."""

    def __init__(self, binlogs: str, lake: Path) -> None:
        self.lake = Lake(str(lake))
        self.settings = Settings.load(
            None,
            source="server",
            binlogs=binlogs,
            lake=str(lake),
            segments={"target": 20_000, "limit": 60_000},
        )

    def run(self) -> LayerReport:
        return run(NEVER_STARTED, self.settings, QuietProgress())

    def rows(self) -> list[FileRow]:
        return read_files(NEVER_STARTED, self.lake, "server")

    def restored(self, row: FileRow) -> bytes:
        pieces = restore(NEVER_STARTED, self.lake, "server", row.file, incarnation=row.incarnation)
        return b"".join(pieces)

    def segments(self, where: Condition, *columns: str) -> list[tuple[Any, ...]]:
        """Return columns of the matching segments, in order."""
        table = segments_table(self.lake)
        rows = tables_of(NEVER_STARTED, self.lake).read(table, where, columns)
        return sorted(tuple(row.values()) for row in rows.select(columns).to_pylist())

    def contents(self) -> dict[int, bytes]:
        """Return the concatenated segments of each file, by ordinal."""
        columns = ("ordinal", "start_pos", "part", "content")
        held: dict[int, bytes] = {}
        for ordinal, _, _, content in self.segments(ALL_ROWS, *columns):
            held[ordinal] = held.get(ordinal, b"") + content
        return held

    def assert_equal_to(self, files: list[Path]) -> None:
        """Every file is complete in bronze with the server's bytes and their SHA-256.

        Of many files, only the first, the last and the longest are restored as the command would.
        """
        rows = {row.file: row for row in self.rows()}
        held = self.contents()
        for file in files:
            row, content = rows[file.name], file.read_bytes()
            assert (row.state, row.sha256) == ("complete", hashlib.sha256(content).hexdigest()), row
            assert held[row.ordinal] == content
        for file in {files[0], max(files, key=lambda file: file.stat().st_size), files[-1]}:
            assert self.restored(rows[file.name]) == file.read_bytes()

    def assert_no_byte_twice(self) -> None:
        ranges = self.segments(equal("part", 0), "ordinal", "start_pos", "end_pos")
        for (ordinal, _, end), (following, start, _) in pairwise(ranges):
            assert start == (end if following == ordinal else 0)


@pytest.fixture(scope="module")
def server(mysql_factory: MySQLFactory) -> MySQLServer:
    """Return a server for this module, which restarts, kills and resets it; files of 4096 bytes."""
    return mysql_factory("--max-binlog-size=4096")


@pytest.fixture
def ingest(server: MySQLServer, tmp_path: Path) -> Ingest:
    server.reset_logs()
    return Ingest(f"{server.binlog_folder}/binlog.0*", tmp_path / "lake")


def load(server: MySQLServer, count: int, *, seed: int) -> None:
    with server.connect() as connection:
        connection.cursor().execute(f"DROP DATABASE IF EXISTS {traffic.SCHEMA}")
        traffic.run(connection, count, seed=seed, create=True)


def test_many_small_files_and_the_one_being_written(server: MySQLServer, ingest: Ingest) -> None:
    load(server, 60, seed=1)
    report = ingest.run()
    assert report.clean, report
    closed, current = server.binlogs()[:-1], server.binlogs()[-1]
    assert len(closed) > 5
    ingest.assert_equal_to(closed)
    row = ingest.rows()[-1]
    assert (row.file, row.state, row.in_use) == (current.name, "open", True)
    assert ingest.restored(row) == current.read_bytes()[: row.ingested_upto]

    load(server, 40, seed=2)
    server.flush_logs()
    assert ingest.run().clean
    ingest.assert_equal_to(server.binlogs()[:-1])
    ingest.assert_no_byte_twice()


def test_a_file_read_while_the_server_writes(server: MySQLServer, ingest: Ingest) -> None:
    server.execute("SET GLOBAL max_binlog_size = 1 << 30")
    server.flush_logs()
    try:
        for seed in range(3):
            load(server, 25, seed=seed)
            assert ingest.run().clean
        server.stop()
        server.start()
        assert ingest.run().clean
        ingest.assert_equal_to(server.binlogs()[:-1])
        ingest.assert_no_byte_twice()
    finally:
        server.execute("SET GLOBAL max_binlog_size = 4096")


def test_a_killed_server_leaves_a_file_without_an_end(
    server: MySQLServer, ingest: Ingest, tmp_path: Path
) -> None:
    load(server, 30, seed=4)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("INSERT INTO traffic.word VALUES ('unfinished', 1, NOW())")
        server.kill()
    crashed = server.binlogs()
    copies = tmp_path / "copies"
    copies.mkdir()
    for file in crashed:
        shutil.copy(file, copies)
    # as after a crash of the machine: the first bytes of one more event
    last = copies / crashed[-1].name
    content = last.read_bytes()
    event = bytearray(content[4 : 4 + 40])
    event[13:17] = (len(content) + int.from_bytes(event[9:13], "little")).to_bytes(4, "little")
    last.write_bytes(content + event)
    assert content[FLAGS] & 1
    server.start()
    shutil.copy(server.binlogs()[-1], copies)
    for location, files in (
        (ingest.settings.binlogs, server.binlogs()[:-1]),
        (str(copies), sorted(copies.iterdir())[:-1]),
    ):
        fresh = Ingest(location, tmp_path / f"lake-{len(location)}")
        report = fresh.run()
        assert report.clean, report
        fresh.assert_equal_to(files)


def test_a_reset_log_continues_after_the_old_one(server: MySQLServer, ingest: Ingest) -> None:
    load(server, 20, seed=5)
    server.flush_logs()
    ingest.run()
    old = ingest.rows()
    assert ingest.run().batches == ()
    server.reset_logs()
    load(server, 20, seed=6)
    server.flush_logs()
    ingest.run()
    new = ingest.rows()[len(old) :]
    assert ingest.rows()[: len(old)] == old
    assert [row.file for row in new] == [file.name for file in server.binlogs()]
    assert [row.ordinal for row in new] == [old[-1].ordinal + n + 1 for n in range(len(new))]
    ingest.assert_no_byte_twice()
    closed = [row for row in (*old, *new) if row.state == "complete"]
    assert len(closed) == len(old) + len(new) - 2
    for row in closed:
        assert hashlib.sha256(ingest.restored(row)).hexdigest() == row.sha256


def test_a_missing_file_is_a_gap_until_it_arrives(
    server: MySQLServer, ingest: Ingest, tmp_path: Path
) -> None:
    load(server, 30, seed=7)
    server.flush_logs()
    closed = server.binlogs()[:-1]
    folder = tmp_path / "copies"
    folder.mkdir()
    for file in closed:
        shutil.copy(file, folder)
    late = folder / closed[2].name
    content = late.read_bytes()
    late.unlink()
    copies = Ingest(str(folder), tmp_path / "lake")
    report = copies.run()
    assert report.faults == ()
    (gap,) = report.gaps
    assert f"1 file is missing between {closed[1].name} and {closed[3].name}" in gap
    assert copies.run().gaps == report.gaps
    late.write_bytes(content)
    assert copies.run().clean
    copies.assert_equal_to(closed)
