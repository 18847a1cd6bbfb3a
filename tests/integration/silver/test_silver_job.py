"""Silver with a real server: from its binary logs through bronze to tables of changes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze import job as bronze
from pipeline.gold import job as gold
from pipeline.lake import Lake, Ledger
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.schema_history.timeline.stored_timeline import read_items
from pipeline.settings import Settings
from pipeline.silver import job as silver
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.table_rows import read_table
from tests.support.servers.mysql import MySQLServer

SCHEMA = "shop"


class LakeUnderTest:
    """A lake, the server whose logs go into it, and the layers' jobs on it."""

    def __init__(self, spark: SparkSession, server: MySQLServer, folder: Path) -> None:
        self.spark = spark
        self.server = server
        self.binlogs = server.binlog_folder
        self.lake = Lake(str(folder / "lake"))

    def settings(self, **options: Any) -> Settings:
        return Settings.load(
            None, source="test", binlogs=str(self.binlogs), lake=self.lake.root, **options
        )

    def ingest(self, **options: Any) -> LayerReport:
        return bronze.run(self.spark, self.settings(**options), QuietProgress())

    def decode(self, **options: Any) -> LayerReport:
        return silver.run(self.spark, self.settings(**options), QuietProgress())

    def apply(self, **options: Any) -> LayerReport:
        return gold.run(self.spark, self.settings(**options), QuietProgress())

    def changes(self, table: str, version: int = 1) -> list[dict[str, Any]]:
        """Return a table's changes in log order."""
        rows = self.rows(self.lake.changes(SCHEMA, table, version))
        return sorted(rows, key=itemgetter("__lsn", "__pos", "__row"))

    def images(self, table: str, version: int = 1) -> list[tuple[Any, ...]]:
        """Return (operation, key before, key after) in log order."""
        return [
            (
                row["__op"],
                *(side and next(iter(side.values())) for side in (row["before"], row["after"])),
            )
            for row in self.changes(table, version)
        ]

    def rows(self, path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = read_table(path)[1].to_pylist()
        return rows


@pytest.fixture
def lake(spark: SparkSession, mysql: MySQLServer, tmp_path: Path) -> Iterator[LakeUnderTest]:
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
    mysql.reset_logs()
    mysql.execute(f"CREATE DATABASE {SCHEMA}")
    yield LakeUnderTest(spark, mysql, tmp_path)
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")


def test_every_change_is_kept_under_the_definition_it_was_logged_with(
    lake: LakeUnderTest,
) -> None:
    run = lake.server.execute
    run("""
        USE shop;
        CREATE TABLE `odd name, x` (`a b` int PRIMARY KEY, `c;d` varchar(9) DEFAULT 'x');
        CREATE TABLE t (id int PRIMARY KEY, v varchar(9));
        INSERT INTO `odd name, x` VALUES (1, 'é'), (2, NULL);
        INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c');
        UPDATE t SET id = 9 WHERE id = 3;
        ALTER TABLE t ADD COLUMN n int NOT NULL DEFAULT 7 AFTER v;
        DELETE FROM t WHERE id = 1;
        CREATE TABLE held (id int PRIMARY KEY, z int);
        INSERT INTO held VALUES (1, 1);
        ALTER TABLE held ADD y int AS (BIT_COUNT(z)) STORED;
        INSERT INTO held (id, z) VALUES (2, 2);
        SET sql_mode = '';
        CREATE TABLE zero (id int PRIMARY KEY, day date, at datetime);
        INSERT INTO zero VALUES (1, '0000-00-00', '2024-02-29'), (2, '2024-00-01', 0);
        INSERT INTO zero VALUES (3, NULL, NULL);
        UPDATE zero SET at = 0 WHERE id = 1;
        DELETE FROM zero;
    """)
    lake.ingest()
    report = lake.decode()
    assert report.counts["rows"] == 16
    assert [lake.images("t"), lake.images("t", 2)] == [
        [*(("insert", None, n) for n in (1, 2, 3)), ("update", 3, 9)],
        [("delete", 1, None)],
    ]
    (deleted,) = lake.changes("t", 2)
    assert tuple(deleted["before"].values()) == (1, "a", 7)
    assert lake.images("odd name, x") == [("insert", None, 1), ("insert", None, 2)]
    assert [lake.images("held"), lake.images("held", 2)] == [
        [("insert", None, 1)], [("insert", None, 2)],
    ]  # fmt: skip
    assert len(report.faults) == 1
    assert "column y" in report.faults[0]
    assert "shop.held" in report.faults[0]
    (fault,) = lake.rows(lake.lake.quarantine)
    assert (fault["tables"], fault["resolved_batch"]) == (["shop.held"], None)
    assert fault["content"] == b"ALTER TABLE held ADD y int AS (BIT_COUNT(z)) STORED"
    assert not list(Path(lake.lake.staging).glob("*/*"))
    # day: two inserted, one in both images of the update, two deleted; at: one, one, two
    assert [note.partition(" values")[0] for note in report.notes] == [
        "shop.zero, column at: 4",
        "shop.zero, column day: 6",
    ]
    record = Ledger(lake.spark, lake.lake, "test").record("silver")
    assert record is not None
    assert record["lossy"] == {"shop.zero": {"at": 4, "day": 6}}


def test_a_second_run_decodes_only_what_is_new(lake: LakeUnderTest) -> None:
    lake.server.execute("USE shop; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    lake.ingest()
    assert lake.decode().batches == (1,)
    assert lake.decode() == LayerReport("silver", seconds=pytest.approx(0, abs=60))
    lake.server.execute("INSERT INTO shop.t VALUES (2); FLUSH BINARY LOGS; DELETE FROM shop.t")
    lake.ingest()
    assert lake.decode().batches == (2,)
    assert lake.images("t") == [
        ("insert", None, 1), ("insert", None, 2), ("delete", 1, None), ("delete", 2, None),
    ]  # fmt: skip
    kinds = [item.kind for item in read_items(lake.spark, lake.lake, "test")]
    assert kinds == ["schema", "create", "version"]


def test_a_recreated_table_with_unlogged_changes_is_held(
    lake: LakeUnderTest,
) -> None:
    run = lake.server.execute
    run("""
        USE shop;
        CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1); DROP TABLE t;
        CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 1), (2, 2);
    """)
    for layer in (lake.ingest, lake.decode, lake.apply):
        assert layer().faults == ()
    run("""
        SET sql_log_bin = 0; ALTER TABLE shop.t MODIFY v bigint; SET sql_log_bin = 1;
        INSERT INTO shop.t VALUES (3, 3)
    """)
    lake.ingest()
    (fault,) = lake.decode().faults
    assert "it changed without DDL in the log that explains it" in fault
    lake.apply()
    assert sorted(row["id"] for row in lake.rows(lake.lake.gold(SCHEMA, "t"))) == [1, 2]


DEFAULTS = """
    a1 int NOT NULL, a2 int DEFAULT '-7', a3 bigint unsigned DEFAULT 18446744073709551615,
    a4 int DEFAULT (60 * 60), a5 decimal(8,3) DEFAULT 1.23456, a6 decimal(65,30) DEFAULT 1e20,
    a7 float DEFAULT 1.1, a8 double DEFAULT -1e-3, a9 bit(9) DEFAULT b'101', a10 bit DEFAULT b'1',
    b1 char(5) NOT NULL DEFAULT 'x ', b2 varchar(10) DEFAULT 12.50, b3 text DEFAULT ('hi \\'ü'),
    b4 binary(3) DEFAULT 'a', b5 varbinary(4) DEFAULT x'00ff', b6 blob NOT NULL,
    b7 enum('b','ä') NOT NULL, b8 set('x','y','z') DEFAULT 'z,x',
    b9 varchar(3) CHARACTER SET utf8mb4 DEFAULT x'C3A9',
    a11 float(5,2) DEFAULT 1.239, a12 double(6,2) DEFAULT -1.239, a13 double(20,3) DEFAULT 7e-1,
    a14 double(3,0) DEFAULT 1.5, a15 double(4,1) DEFAULT 2.25,
    b10 varchar(20) DEFAULT 0.0000001, e1 timestamp, e2 timestamp(3) NOT NULL,
    c1 date NOT NULL DEFAULT '2024-1-2', c2 datetime DEFAULT now(), c3 year DEFAULT 24,
    c4 timestamp(3) DEFAULT current_timestamp(3) ON UPDATE current_timestamp(3),
    c5 timestamp NULL DEFAULT '2024-07-01 10:00:00',
    c6 datetime(2) DEFAULT '2024-12-31 23:59:59.996',
    c7 time(2) DEFAULT '1:2:3.456', c8 time DEFAULT '-100:00', c9 datetime DEFAULT 20240102030405,
    d1 json NOT NULL, d2 json DEFAULT (json_object('k', json_array(1, 'x', NULL))), d3 point,
    d4 vector(3), d5 bool DEFAULT true, d6 int NULL DEFAULT NULL, d7 tinytext INVISIBLE
"""


def test_added_columns_have_the_servers_values_in_existing_rows(
    lake: LakeUnderTest,
) -> None:
    run = lake.server.execute
    run("USE shop; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    run(f"SET time_zone = '-03:30'; ALTER TABLE shop.t ADD COLUMN ({DEFAULTS})")
    run("ALTER TABLE shop.t ADD (z1 int DEFAULT 1, z2 int DEFAULT 2), ADD z0 int DEFAULT 3 FIRST")
    run("SET sql_mode = ''; INSERT INTO shop.t (id) VALUES (2)")
    run("ALTER TABLE shop.t ADD y int DEFAULT 5 AFTER ID")  # no row follows
    for report in (lake.ingest(), lake.decode(), lake.apply()):
        assert report.faults == ()
    assert_gold_equals_source(lake.spark, lake.server, lake.lake.root, SCHEMA, "t")


def test_a_timestamp_added_without_explicit_defaults_holds_its_table(
    lake: LakeUnderTest,
) -> None:
    lake.server.execute("""
        USE shop; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1);
        SET explicit_defaults_for_timestamp = OFF; ALTER TABLE t ADD at timestamp;
    """)
    lake.ingest()
    (fault,) = lake.decode().faults
    assert "explicit_defaults_for_timestamp is OFF" in fault


def test_transactions_and_events_larger_than_a_segment_are_reassembled(
    lake: LakeUnderTest,
) -> None:
    run = lake.server.execute
    run("USE shop; CREATE TABLE t (id int PRIMARY KEY, b longblob); INSERT INTO t VALUES (0, '')")
    with lake.server.connect(autocommit=False) as connection, connection.cursor() as cursor:
        for n in range(1, 41):
            cursor.execute("INSERT INTO shop.t VALUES (%s, REPEAT('x', 10000))", (n,))
        cursor.execute("INSERT INTO shop.t VALUES (100, REPEAT('big', 200000))")
        connection.commit()
    run("INSERT INTO shop.t VALUES (101, '')")
    # minimal batches: each ends at the first transaction's end
    sizes = {"segments": {"target": "32 KiB", "limit": "64 KiB", "batch": 1}}
    lake.ingest(**sizes)
    segments = lake.rows(lake.lake.segments)
    assert sum(row["transaction_pos"] is not None for row in segments) > 2
    assert sum(row["part"] > 0 for row in segments) > 2
    report = lake.decode(**sizes)
    assert report.faults == report.gaps == ()
    assert len(report.batches) > 1
    assert report.counts["segments"] == sum(row["part"] == 0 for row in segments)
    assert [after for _, _, after in lake.images("t")] == [0, *range(1, 41), 100, 101]
    assert sum(len(row["after"]["b"]) == 600_000 for row in lake.changes("t")) == 1
    made = lake.rows(lake.lake.transactions)
    found = {dict(row["rows"])["shop.t"]: row for row in made if row["rows"]}
    assert set(found) == {1, 41}
    large = found[41]
    assert large["commit_lsn"] == large["__lsn"]
    assert large["end_pos"] - large["start_pos"] == large["bytes"]
    assert large["xid"] is not None


def three_files_except_the_second(lake: LakeUnderTest, folder: Path) -> Path:
    """Log one row of table t per file, and give the lake the first and third file; return the
    second.
    """
    run = lake.server.execute
    run("USE shop; CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1)")
    run("FLUSH BINARY LOGS; INSERT INTO shop.t VALUES (2)")
    run("FLUSH BINARY LOGS; INSERT INTO shop.t VALUES (3)")
    run("CREATE TABLE shop.u (id int PRIMARY KEY)")
    first, second, third = lake.server.binlogs()
    lake.binlogs = folder / "copied"
    lake.binlogs.mkdir()
    for file in (first, third):
        shutil.copy(file, lake.binlogs)
    return second


def test_a_missing_file_holds_later_ones_until_it_arrives(
    lake: LakeUnderTest, tmp_path: Path
) -> None:
    missing = three_files_except_the_second(lake, tmp_path)
    lake.ingest()
    report = lake.decode()
    assert [after for _, _, after in lake.images("t")] == [1]
    assert len(report.gaps) == 1
    assert "binlog.000003" in report.gaps[0]
    shutil.copy(missing, lake.binlogs)
    lake.ingest()
    report = lake.decode()
    assert report.gaps == ()
    assert [after for _, _, after in lake.images("t")] == [1, 2, 3]


def test_an_accepted_gap_leaves_incomplete_tables(lake: LakeUnderTest, tmp_path: Path) -> None:
    three_files_except_the_second(lake, tmp_path)
    (note,) = [n for n in lake.ingest(given_up=[1]).notes if "is accepted" in n]
    assert "1 file is missing" in note
    report = lake.decode(given_up=[1])
    assert (report.gaps, report.faults) == ((), ())
    assert [after for _, _, after in lake.images("t")] == [1, 3]
    assert lake.apply().faults == ()
    status = read_status(lake.spark, lake.settings())
    assert {t.table: (t.held, t.complete) for t in status.tables} == {
        "t": (False, False), "u": (False, True),
    }  # fmt: skip
    (problem,) = status.problems
    assert "was accepted: 1 file is missing" in problem


def test_retry_decodes_what_a_fault_held_exactly_once(lake: LakeUnderTest) -> None:
    run = lake.server.execute
    run("USE shop; CREATE TABLE t (d date PRIMARY KEY); CREATE TABLE u (id int PRIMARY KEY)")
    run("SET sql_mode = ''; BEGIN; INSERT INTO shop.t VALUES ('0000-00-00'), ('2024-01-01');"
        "INSERT INTO shop.u VALUES (1); COMMIT; INSERT INTO shop.u VALUES (2)")  # fmt: skip
    lake.ingest()
    (fault,) = lake.decode().faults
    assert "since the same transaction changes them too, shop.u (waiting for shop.t)" in fault
    assert lake.images("u") == [("insert", None, 2)]
    without = {"exclude": ["shop.t"]}
    report = silver.retry(lake.spark, lake.settings(**without), QuietProgress())
    assert report.faults == ()
    assert report.counts["rows"] == 1
    assert lake.images("u") == [("insert", None, 1), ("insert", None, 2)]
    (row,) = lake.rows(lake.lake.quarantine)
    assert row["resolved_batch"] == report.batches[0]
    again = silver.retry(lake.spark, lake.settings(**without), QuietProgress())
    assert again.batches == ()


def test_a_table_whose_labels_are_not_in_the_log_is_a_fault_and_others_continue(
    lake: LakeUnderTest,
) -> None:
    run = lake.server.execute
    run("USE shop; CREATE TABLE lost (id int PRIMARY KEY, e enum('p', 'q'))")
    lake.server.reset_logs()
    run("SET GLOBAL binlog_row_metadata = MINIMAL")
    try:
        run("""
            USE shop;
            CREATE TABLE t (id int PRIMARY KEY, v varchar(9));
            INSERT INTO lost VALUES (1, 'q');
            INSERT INTO t VALUES (1, 'a');
        """)
    finally:
        run("SET GLOBAL binlog_row_metadata = FULL")
    lake.ingest()
    report = lake.decode()
    assert report.counts["rows"] == 1
    assert lake.images("t") == [("insert", None, 1)]
    # One found by the timeline in planning, one by decoding.
    assert all("shop.lost" in fault for fault in report.faults)
    assert any("labels of ENUM" in fault for fault in report.faults)
