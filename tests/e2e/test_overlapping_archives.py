"""Logs of two servers and of an archive, which overlap: nothing goes in twice, and nothing is lost.

A replica with log_replica_updates takes over half-way. Its log holds the first server's
transactions too: bags, JSON diffs, renames and definitions would all be wrong if any were applied
again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.lake import Lake
from pipeline.report import LayerReport
from tests.e2e.conftest import Run
from tests.support.compare import assert_gold_equals_source
from tests.support.kills import Killed
from tests.support.mysql import MySQLServer
from tests.support.server import Server

SCHEMA = "overlap"
TABLES = ("item", "bag", "one", "two", "wide", "later")
FIRST = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE item (id INT PRIMARY KEY, n INT, doc JSON);
    CREATE TABLE bag (a INT, b VARCHAR(9));
    CREATE TABLE one (id INT PRIMARY KEY, t VARCHAR(9));
    CREATE TABLE two LIKE one;
    CREATE TABLE wide (id INT PRIMARY KEY, a INT);
    INSERT INTO item VALUES (1, 1, '{{"a": [1, 2], "s": "x"}}'), (2, 2, '{{"a": []}}'), (3, 3, '1');
    INSERT INTO bag VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, NULL);
    INSERT INTO one VALUES (1, 'one'); INSERT INTO two VALUES (2, 'two');
    INSERT INTO wide VALUES (1, 10);
"""
SECOND = f"""
    USE {SCHEMA};
    SET binlog_row_value_options = PARTIAL_JSON, binlog_row_image = MINIMAL;
    UPDATE item SET doc = JSON_ARRAY_INSERT(doc, '$.a[0]', 9) WHERE id = 1;
    UPDATE item SET n = n + 1;
    SET binlog_row_value_options = '', binlog_row_image = FULL;
    INSERT INTO bag VALUES (1, 'x'), (3, 'z'); DELETE FROM bag WHERE a = 2;
    RENAME TABLE one TO none, two TO one, none TO two;
    ALTER TABLE wide ADD COLUMN b INT DEFAULT 5 FIRST;
    SET binlog_transaction_compression = ON;
    INSERT INTO wide VALUES (7, 2, 20); INSERT INTO bag VALUES (4, 'c');
    XA START 'over'; INSERT INTO wide VALUES (8, 3, 30); XA END 'over'; XA PREPARE 'over';
"""
AFTER = f"""
    XA COMMIT 'over'; USE {SCHEMA};
    SET binlog_row_value_options = PARTIAL_JSON;
    UPDATE item SET doc = JSON_ARRAY_INSERT(doc, '$.a[0]', 8) WHERE id = 1;
    INSERT INTO bag VALUES (1, 'x'); DELETE FROM bag WHERE a = 3;
    RENAME TABLE one TO none, two TO one, none TO two;
    CREATE TABLE later (id INT PRIMARY KEY); INSERT INTO later VALUES (1);
    ALTER TABLE wide DROP COLUMN a; UPDATE wide SET b = b + 1;
"""


@dataclass(frozen=True)
class Logs:
    """Folders of files: of the first server, of the second one, and what this one holds now."""

    first: Path
    second: Path
    server: Server


def copies(server: Server, folder: Path, rename: str = "binlog") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for file in server.binlogs():
        shutil.copy(file, folder / file.name.replace("binlog", rename))
    return folder


@pytest.fixture(scope="module")
def logs(mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    """A failover from the first server to a replica, with an XA transaction under way."""
    folder = tmp_path_factory.mktemp("overlap")
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.reset_logs()
    with MySQLServer(folder / "server", "--server-id=2", "--log-replica-updates") as replica:
        replica.execute("RESET BINARY LOGS AND GTIDS")
        replica.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {mysql.port},"
            " SOURCE_USER = 'root', SOURCE_AUTO_POSITION = 1; START REPLICA"
        )
        mysql.execute(FIRST)
        mysql.flush_logs()
        follow(mysql, replica)
        replica.flush_logs()
        mysql.execute(SECOND)
        mysql.flush_logs()
        follow(mysql, replica)
        first = copies(mysql, folder / "first")
        replica.execute("STOP REPLICA")
        mysql.execute(f"XA ROLLBACK 'over'; DROP DATABASE {SCHEMA}")
        replica.flush_logs()
        replica.execute(AFTER)
        replica.flush_logs()
        yield Logs(first, copies(replica, folder / "second"), replica)


def follow(server: MySQLServer, replica: MySQLServer) -> None:
    ((gtids,),) = server.execute("SELECT @@gtid_executed")
    ((late,),) = replica.execute(f"SELECT WAIT_FOR_EXECUTED_GTID_SET('{gtids}', 60)")
    assert late == 0, replica.execute("SELECT * FROM performance_schema.replication_applier_status")


def assert_all_is_well(
    spark: SparkSession, logs: Logs, lake: Path, *runs: list[LayerReport]
) -> None:
    for reports in runs:
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
    for table in TABLES:
        assert_gold_equals_source(spark, logs.server, str(lake), SCHEMA, table)


def test_all_of_them_in_one_run(spark: SparkSession, logs: Logs, run: Run, tmp_path: Path) -> None:
    for folder in (logs.first, logs.second):
        shutil.copytree(folder, tmp_path / "logs" / folder.name)
    for file in logs.first.iterdir():  # and the same under other names
        shutil.copy(file, tmp_path / "logs" / "first" / file.name.replace("binlog", "old-binlog"))
    reports = run(f"{tmp_path}/logs/*/*binlog.0*", tmp_path / "lake")
    assert_all_is_well(spark, logs, tmp_path / "lake", reports)
    rows = delta.read(spark, Lake(str(tmp_path / "lake")).transactions)
    found = rows.groupBy("gtid").agg(sf.count_if(~sf.col("seen_before")), sf.count("*")).collect()
    assert {once for _, once, _ in found} == {1}
    assert max(times for *_, times in found) == 3
    again = rows.where("seen_before")
    assert again.where("commit_lsn IS NOT NULL OR rows IS NOT NULL").isEmpty()


def test_run_after_run_with_files_that_grow_and_a_run_that_dies(
    spark: SparkSession,
    logs: Logs,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = tmp_path / "lake"
    first, *others = sorted(logs.first.iterdir())
    runs = [run(first, lake)]
    archive = tmp_path / "archive"
    archive.mkdir()
    shutil.copy(first, archive / "old.000007")
    runs.append(run(archive, lake))
    # the archive goes on, and then the replica's log, of which the last file is being written
    shutil.copy(others[0], archive / "old.000008")
    growing = tmp_path / "growing"
    shutil.copytree(logs.second, growing)
    *_, last, _ = sorted(growing.iterdir())
    whole = last.read_bytes()
    for file in sorted(growing.iterdir())[-2:]:
        file.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.silver.batch.append_transactions", _die)
        with pytest.raises(Killed):
            run(archive, lake)
    runs.append(run(growing, lake))
    last.write_bytes(_in_use(whole[: len(whole) // 2]))
    runs.append(run(growing, lake))
    last.write_bytes(whole)
    runs.append(run(growing, lake))
    # all once more
    runs += [run(logs.first, lake), run(logs.second, lake)]
    assert_all_is_well(spark, logs, lake, *runs)


def _die(*_: object) -> None:
    raise Killed


def _in_use(log: bytes) -> bytes:
    return log[:21] + bytes([log[21] | 1]) + log[22:]


def test_what_is_missing_between_two_servers_files_is_named(
    spark: SparkSession, logs: Logs, run: Run, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    run(sorted(logs.first.iterdir())[0], lake)
    later = sorted(logs.second.iterdir())[2:]
    folder = tmp_path / "later"
    folder.mkdir()
    for file in later:
        shutil.copy(file, folder)
    ((uuid,),) = delta.read(spark, Lake(str(lake)).transactions).selectExpr(
        "max(split(gtid, ':')[0])"
    ).collect()  # fmt: skip
    *_, silver, _ = reports = run(folder, lake)
    (gap,) = silver.gaps
    assert f"{later[0].name} (server 2) comes after {uuid}:" in gap
    assert reports[0].gaps == (gap,)
    # the missing come, from the other server, and all goes on
    *_, middle = sorted(logs.first.iterdir())[:2]
    assert [report.gaps for report in run(middle, lake)][1] == ()
    assert_all_is_well(spark, logs, lake, run(logs.second, lake))
