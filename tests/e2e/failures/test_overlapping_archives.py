"""Overlapping logs of two servers and an archive: nothing is applied twice, nothing is lost.

A replica with log_replica_updates takes over half-way. Its log also contains the first server's
transactions: keyless tables, JSON diffs, renames and definitions would all be wrong if any of them
were applied again.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession, functions as sf

from pipeline.bronze import read_files
from pipeline.lake import Lake, Ledger, delta
from pipeline.observe import LayerReport
from pipeline.run import read_status
from pipeline.run.commands import exit_code
from pipeline.settings import Settings
from pipeline.silver.decode import segment_refs
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.new_segments import contiguous
from tests.e2e.conftest import Run
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.kills import Killed
from tests.support.servers.mariadb import MariaDBServer
from tests.support.servers.mysql import MySQLServer
from tests.support.servers.server import Server

SCHEMA = "overlap"
TABLES = ("item", "keyless", "one", "two", "wide", "later")
FIRST = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE item (id INT PRIMARY KEY, n INT, doc JSON);
    CREATE TABLE keyless (a INT, b VARCHAR(9));
    CREATE TABLE one (id INT PRIMARY KEY, t VARCHAR(9));
    CREATE TABLE two LIKE one;
    CREATE TABLE wide (id INT PRIMARY KEY, a INT);
    INSERT INTO item VALUES (1, 1, '{{"a": [1, 2], "s": "x"}}'), (2, 2, '{{"a": []}}'), (3, 3, '1');
    INSERT INTO keyless VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, NULL);
    INSERT INTO one VALUES (1, 'one'); INSERT INTO two VALUES (2, 'two');
    INSERT INTO wide VALUES (1, 10);
"""
SECOND = f"""
    USE {SCHEMA};
    SET binlog_row_value_options = PARTIAL_JSON, binlog_row_image = MINIMAL;
    UPDATE item SET doc = JSON_ARRAY_INSERT(doc, '$.a[0]', 9) WHERE id = 1;
    UPDATE item SET n = n + 1;
    SET binlog_row_value_options = '', binlog_row_image = FULL;
    INSERT INTO keyless VALUES (1, 'x'), (3, 'z'); DELETE FROM keyless WHERE a = 2;
    RENAME TABLE one TO none, two TO one, none TO two;
    ALTER TABLE wide ADD COLUMN b INT DEFAULT 5 FIRST;
    SET binlog_transaction_compression = ON;
    INSERT INTO wide VALUES (7, 2, 20); INSERT INTO keyless VALUES (4, 'c');
    SET gtid_next = 'AUTOMATIC:tagged'; INSERT INTO keyless VALUES (5, 't');
    SET gtid_next = AUTOMATIC;
    XA START 'over'; INSERT INTO wide VALUES (8, 3, 30); XA END 'over'; XA PREPARE 'over';
"""
AFTER = f"""
    XA COMMIT 'over'; USE {SCHEMA};
    SET binlog_row_value_options = PARTIAL_JSON;
    UPDATE item SET doc = JSON_ARRAY_INSERT(doc, '$.a[0]', 8) WHERE id = 1;
    INSERT INTO keyless VALUES (1, 'x'); DELETE FROM keyless WHERE a = 3;
    RENAME TABLE one TO none, two TO one, none TO two;
    CREATE TABLE later (id INT PRIMARY KEY); INSERT INTO later VALUES (1);
    ALTER TABLE wide DROP COLUMN a; UPDATE wide SET b = b + 1;
"""


@dataclass(frozen=True)
class Logs:
    """Folders with the files of the first and second server, and a server with the final state."""

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
    """Run a failover from the first server to a replica, during an XA transaction."""
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


MARIADB = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE item (id INT PRIMARY KEY, n INT); CREATE TABLE keyless (a INT);
    INSERT INTO item VALUES (1, 1), (2, 2); INSERT INTO keyless VALUES (1), (1), (2);
    SET gtid_domain_id = 3; DELETE FROM keyless WHERE a = 2; SET gtid_domain_id = 0;
    RENAME TABLE item TO thing;
"""


def test_mariadbs_domains_identify_transactions_applied_before(
    spark: SparkSession, mariadb: MariaDBServer, run: Run, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    mariadb.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mariadb.reset_logs()
    with MariaDBServer(tmp_path / "server", "--server-id=2", "--log-slave-updates") as replica:
        replica.execute(
            "RESET MASTER; CHANGE MASTER TO MASTER_HOST = '127.0.0.1',"
            f" MASTER_PORT = {mariadb.port},"
            " MASTER_USER = 'root', MASTER_USE_GTID = slave_pos; START SLAVE"
        )
        mariadb.execute(MARIADB)
        mariadb.flush_logs()
        mariadb.execute(f"INSERT INTO {SCHEMA}.keyless VALUES (9)")
        mariadb.flush_logs()
        ((position,),) = mariadb.execute("SELECT @@gtid_binlog_pos")
        ((late,),) = replica.execute(f"SELECT MASTER_GTID_WAIT('{position}', 60)")
        assert late == 0, replica.execute("SHOW SLAVE STATUS")
        replica.execute("STOP SLAVE")
        replica.flush_logs()
        replica.execute(
            f"INSERT INTO {SCHEMA}.keyless VALUES (1); DELETE FROM {SCHEMA}.thing LIMIT 1"
        )
        copies(mariadb, tmp_path / "first")
        copies(replica, tmp_path / "second")
        reports = run(f"{tmp_path}/*/binlog.0*", lake)
        assert [(report.faults, report.gaps) for report in reports] == [((), ())] * 3
        for table in ("thing", "keyless"):
            assert_gold_equals_source(spark, replica, str(lake), SCHEMA, table)


def test_a_gap_in_mariadbs_sequence_numbers_holds_the_cut_and_is_named(
    spark: SparkSession, mariadb: MariaDBServer, run: Run, tmp_path: Path
) -> None:
    mariadb.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mariadb.reset_logs()
    mariadb.execute(MARIADB)
    for n in (10, 11, 12):
        mariadb.flush_logs()
        mariadb.execute(f"INSERT INTO {SCHEMA}.keyless VALUES ({n})")
    mariadb.flush_logs()
    ((positions,),) = mariadb.execute("SELECT @@gtid_binlog_pos")
    number = int(re.findall(r"0-1-(\d+)", positions)[0])
    files = copies(mariadb, tmp_path / "all")
    logs = tmp_path / "logs"
    logs.mkdir()
    # From another server's archive, renamed: file numbers identify nothing.
    for old, new in (("01", "a.000001"), ("02", "a.000002"), ("04", "b.000001")):
        shutil.copy(files / f"binlog.0000{old}", logs / new)
    reports = run(logs, tmp_path / "lake")
    (gap,) = reports[1].gaps
    # The insert is in the third file.
    assert f"b.000001 (server 1) lists 0-1-{number - 1}" in gap
    assert f"(after number {number - 2})" in gap
    assert delta.read(spark, Lake(str(tmp_path / "lake")).gold(SCHEMA, "keyless")).count() == 3


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


@pytest.mark.long
def test_overlapping_logs_in_one_run(
    spark: SparkSession, logs: Logs, run: Run, tmp_path: Path
) -> None:
    for folder in (logs.first, logs.second):
        shutil.copytree(folder, tmp_path / "logs" / folder.name)
    for file in logs.first.iterdir():  # and the same files renamed
        shutil.copy(file, tmp_path / "logs" / "first" / file.name.replace("binlog", "old-binlog"))
    reports = run(f"{tmp_path}/logs/*/*binlog.0*", tmp_path / "lake")
    assert_all_is_well(spark, logs, tmp_path / "lake", reports)
    lake = Lake(str(tmp_path / "lake"))
    rows = delta.read(spark, lake.transactions)
    found = rows.groupBy("gtid").agg(sf.count_if(~sf.col("seen_before")), sf.count("*")).collect()
    assert {once for _, once, _ in found} == {1}
    assert any(":tagged:" in gtid for gtid, *_ in found)
    assert max(times for *_, times in found) == 3
    again = rows.where("seen_before")
    left_out = f"{again.count()} transactions were already in the lake and are skipped."
    assert left_out in reports[1].notes
    # the plan's summary equals that of all segments
    plan = Ledger(spark, lake, "e2e").last("silver")
    assert plan is not None
    body = SilverPlan.from_body(plan.body)
    files = {row.ordinal: row for row in read_files(spark, lake, "e2e")}
    every = contiguous(segment_refs.after(spark, lake, "e2e", None), files, None, files)
    upto = [one.place < body.end for one in every.segments].count(True) - 1
    executed = every.before[upto].after(every.segments[upto].gtids)
    assert executed == body.executed
    assert again.where("commit_lsn IS NOT NULL OR rows IS NOT NULL").isEmpty()


@pytest.mark.long
def test_overlapping_logs_in_many_runs_with_growing_files_and_a_killed_run(
    spark: SparkSession,
    logs: Logs,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lake = tmp_path / "lake"
    files = {"first": sorted(logs.first.iterdir()), "second": sorted(logs.second.iterdir())}
    for name in files:
        (tmp_path / "logs" / name).mkdir(parents=True)
    location = f"{tmp_path}/logs/*/*binlog.0*"
    shutil.copy(files["first"][0], tmp_path / "logs" / "first")
    assert exit_code(run(location, lake)) == 0
    # The replica's third file is still growing, and the files in between are missing.
    third = files["second"][2]
    content = third.read_bytes()
    growing = tmp_path / "logs" / "second" / third.name
    growing.write_bytes(_in_use(content[: len(content) // 2]))
    bronze, silver, _ = run(location, lake)
    (gap,) = silver.gaps
    rows = delta.read(spark, Lake(str(lake)).transactions)
    last = rows.selectExpr("split(max_by(gtid, __lsn), ':')").collect()[0][0]
    assert f"{third.name} (server 2) lists {last[0]}:{int(last[1]) + 1}-" in gap
    assert bronze.gaps == (gap,)
    settings = Settings.load(None, source="e2e", lake=str(lake))
    assert gap in read_status(spark, settings).problems
    # From the first server, in a file that is ordered before the replica's.
    shutil.copy(files["first"][1], tmp_path / "logs" / "first")
    growing.write_bytes(content)
    assert_all_is_well(spark, logs, lake, run(location, lake))
    # Everything again, renamed, and the run dies.
    for name, paths in files.items():
        for path in paths:
            shutil.copy(path, tmp_path / "logs" / name / f"{name}-{path.name}")
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.silver.carry_out.commit", _die)
        with pytest.raises(Killed):
            run(location, lake)
    assert_all_is_well(spark, logs, lake, run(location, lake))


def _die(*_: object) -> None:
    raise Killed


def _in_use(log: bytes) -> bytes:
    return log[:21] + bytes([log[21] | 1]) + log[22:]
