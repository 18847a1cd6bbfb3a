"""`binlake seed`: tables whose CREATE is not in the log, on a server under writes.

The resulting gold is compared with the server itself.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.errors import DONE, DONE_WITH_FAULTS, SettingsError
from pipeline.lake.lazy_spark import Spark, StartingSpark
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status, run_command
from pipeline.run.commands import exit_code
from pipeline.seed import chunks
from pipeline.settings import Settings
from pipeline.verify.run import verify_with_server
from tests.support.gold.large_tables import apply_by_spark
from tests.support.lake.run_layers import run_layers
from tests.support.servers.server import Server

SCHEMA = "seeded"
BINARY_LOG_STATUS = "SHOW BINARY LOG STATUS"
DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
TABLES = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE item (
        id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, v BIGINT UNSIGNED, t VARCHAR(20),
        d DECIMAL(9, 2)
    );
    CREATE TABLE named (
        name VARCHAR(20) CHARACTER SET latin1, n INT, at TIMESTAMP(3), PRIMARY KEY (name, n)
    );
    CREATE TABLE keyless (v INT, `a b` CHAR(3));
    CREATE TABLE quiet (id INT PRIMARY KEY, b BLOB);
    INSERT INTO item
        SELECT i + 1, 18446744073709551615 - i, CONCAT('ü', i), i / 100 FROM (
            SELECT a.n + 10 * b.n + 100 * c.n AS i FROM {DIGITS} a, {DIGITS} b, {DIGITS} c
        ) numbers;
    INSERT INTO named SELECT CONCAT('é', id % 40), id, NOW(3) FROM item;
    INSERT INTO keyless SELECT id % 5, 'x' FROM item WHERE id < 50;
    INSERT INTO quiet VALUES (1, x'00ff'), (2, NULL);
"""
WRITES = (
    "BEGIN",
    "INSERT INTO item (id, v, t) VALUES ({0} + 10000, 1, 'new')",
    "UPDATE item SET v = v + 1 WHERE id % 97 = {0} % 97 AND v < 18446744073709551000",
    "UPDATE item SET id = id + 1000000 WHERE id = {0}",
    "DELETE FROM item WHERE id = {0} + 700",
    "INSERT INTO named VALUES (CONCAT('w', {0}), 1, NOW(3))",
    "DELETE FROM named WHERE n = {0}",
    "INSERT INTO keyless VALUES ({0}, 'y'), ({0}, 'y')",
    "DELETE FROM keyless WHERE v = 1 LIMIT 1",
    "COMMIT",
)


def settings_of(server: Server, lake: Path, **seed: Any) -> Settings:
    return Settings.load(
        None,
        source="live",
        binlogs=str(server.binlog_folder),
        lake=str(lake),
        include=[f"{SCHEMA}.*"],
        server=f"mysql://root@127.0.0.1:{server.port}",
        seed={"chunk_rows": 400, "parallel": 2, **seed},
    )


@contextmanager
def written(server: Server) -> Iterator[None]:
    """Write before and during the `with`, without pause."""
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            number = 0
            while not done.is_set():
                number += 1
                for statement in WRITES:
                    cursor.execute(statement.format(number))
                begun.set()
                done.wait(0.02)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            assert begun.wait(60)
            yield
        finally:
            done.set()
        writer.result()


KNOWN = """
    CREATE TABLE known (n INT, code CHAR(4) NOT NULL, at DATE, UNIQUE KEY (n), UNIQUE KEY (code));
    INSERT INTO known VALUES (1, 'a', NULL), (NULL, 'b', NULL), (NULL, 'c', NULL);
"""
"""A table whose key is UNIQUE over NOT NULL columns: the server logs it as the primary key."""


def begun_without_history(server: Server, more: str = "") -> None:
    """Create tables with rows, then remove their history from the log."""
    server.execute(TABLES + more)
    server.reset_logs()


def seeded(spark: Spark, settings: Settings) -> LayerReport:
    (report,) = run_command(spark, settings, QuietProgress(), "seed")
    return report


@pytest.mark.parametrize("kind", ["mysql", pytest.param("mariadb", marks=pytest.mark.long)])
def test_gold_equals_a_server_that_was_seeded_under_writes(
    kind: str,
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Server = request.getfixturevalue(kind)
    begun_without_history(server, KNOWN)
    settings = settings_of(server, tmp_path)
    # Spark loads two of the snapshots, and applies the changes since, as those of large tables.
    apply_by_spark(monkeypatch, ("item", "keyless"))
    # rows of it are in the lake before it is seeded
    server.execute(f"UPDATE {SCHEMA}.known SET at = '2024-02-29' WHERE code = 'a'")
    run_layers(spark, settings, QuietProgress())
    with written(server):
        report = seeded(spark, settings)
    assert report.faults == ()
    assert report.counts["tables"] == 5
    server.execute(f"UPDATE {SCHEMA}.known SET code = 'z' WHERE code = 'b'")
    *_, gold = run_layers(spark, settings, QuietProgress())
    # what a seed gave counts, also where nothing has changed since
    assert gold.counts[f"{SCHEMA}.quiet"] == 2
    status = read_status(spark, settings)
    assert [(table.table, table.complete, table.held) for table in status.tables] == [
        (name, True, False) for name in ("item", "keyless", "known", "named", "quiet")
    ]
    found = verify_with_server(spark, settings, QuietProgress(), patience=0)
    assert found.against is not None
    assert (found.against.differences, found.against.compared) == ((), 5)

    # nothing is lacking: nothing of it needs Java
    idle = StartingSpark(no_java, "local[2]")
    assert seeded(idle, settings).counts == {"tables": 0, "rows": 0}
    # named or new: then it is read
    only_items = settings.with_section("seed", tables=["*.item"])
    with pytest.raises(ConnectionError):
        seeded(idle, only_items)
    # without a key, a table is read at one moment, without Spark
    server.execute(f"CREATE TABLE {SCHEMA}.later (id INT)")
    assert seeded(idle, settings).counts == {"tables": 1, "rows": 0}


def no_java() -> SparkSession:
    raise ConnectionError("Spark is asked for")


HELD = f"""
    USE {SCHEMA}; SET SESSION binlog_format = STATEMENT;
    UPDATE item SET v = v - 1 WHERE id = 5;
    SET SESSION binlog_format = ROW;
    UPDATE named SET at = '2020-01-01' WHERE n = 7
"""


def test_an_interrupted_seed_resumes_and_a_held_table_is_seeded_alone(
    spark: SparkSession, mysql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun_without_history(mysql)
    mysql.execute(f"UPDATE {SCHEMA}.quiet SET b = 'x'")
    settings = settings_of(mysql, tmp_path)
    run_layers(spark, settings, QuietProgress())
    real, read = chunks.typed, []

    def breaking(cells: DataFrame, *arguments: Any) -> DataFrame:
        read.append(cells)
        if len(read) == 2:
            raise ConnectionError("the network is gone")
        return real(cells, *arguments)

    monkeypatch.setattr(chunks, "typed", breaking)
    only_items = settings_of(mysql, tmp_path, tables=[f"{SCHEMA}.item"], parallel=1)
    broken = seeded(spark, only_items)
    assert len(broken.faults) == 1
    assert "the network is gone" in broken.faults[0]
    assert broken.counts == {"tables": 0, "rows": 0}
    (note,) = seeded(spark, only_items).notes
    assert note.startswith(f"{SCHEMA}.item: 1,000 rows")
    # three chunks, of which only the one that failed was read twice
    assert len(read) == 3 + 1

    seeded(spark, settings_of(mysql, tmp_path, tables=[f"{SCHEMA}.[!i]*"]))
    mysql.execute(HELD)
    run_layers(spark, settings, QuietProgress())
    status = {table.table: table for table in read_status(spark, settings).tables}
    assert [name for name, table in status.items() if table.held] == ["item"]
    assert [name for name, table in status.items() if table.complete] == [
        "keyless",
        "named",
        "quiet",
    ]
    # what gold lacks is what is seeded, where nothing is named
    assert [note.partition(":")[0] for note in seeded(spark, settings).notes] == [f"{SCHEMA}.item"]
    reports = run_layers(spark, settings, QuietProgress())
    assert all(table.complete for table in read_status(spark, settings).tables), reports
    found = verify_with_server(spark, settings, QuietProgress(), patience=0)
    assert found.against is not None
    assert (found.against.differences, found.against.compared) == ((), 4)


@pytest.mark.long
def test_dumps_and_files_of_a_table_catch_up_with_the_server(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    begun_without_history(mysql)
    mysql.execute(f"UPDATE {SCHEMA}.item SET v = 7 WHERE id < 100")
    options = ("--user=root", "--single-transaction", "--source-data=2", "--databases", SCHEMA)
    dump = tmp_path / "dump.sql"
    dump.write_bytes(mysql.tool("mysqldump", f"--socket={mysql.socket}", *options))
    # a table's rows as another tool wrote them, and a position after all of its changes
    file, position = mysql.execute(BINARY_LOG_STATUS)[0][:2]
    quiet = tmp_path / "quiet.csv"
    quiet.write_text('id,b\n1,"x"\n2,\\N\n')
    create = tmp_path / "quiet.sql"
    create.write_text("CREATE TABLE quiet (id INT PRIMARY KEY, b BLOB);")
    mysql.execute(f"""
        USE {SCHEMA}; UPDATE quiet SET b = 'x' WHERE id = 1;
        DELETE FROM item WHERE id % 3 = 0; INSERT INTO keyless VALUES (9, 'z')
    """)
    lake = tmp_path / "lake"
    only = [f"{SCHEMA}.{name}" for name in ("item", "named", "keyless")]
    report = seeded(spark, settings_of(mysql, lake, dump=str(dump), tables=only))
    assert (report.faults, report.counts) == ((), {"tables": 3, "rows": 2049})
    given = {"dump": str(quiet), "form": "csv", "create": str(create), "at": f"{file}:{position}"}
    seeded(spark, settings_of(mysql, lake, tables=[f"{SCHEMA}.quiet"], **given))
    settings = settings_of(mysql, lake)
    run_layers(spark, settings, QuietProgress())
    assert all(table.complete for table in read_status(spark, settings).tables)
    found = verify_with_server(spark, settings, QuietProgress(), patience=0)
    assert found.against is not None
    assert (found.against.differences, found.against.compared) == ((), 4)


def test_what_cannot_be_seeded_is_reported(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    begun_without_history(mysql)
    mysql.execute(f"UPDATE {SCHEMA}.quiet SET b = 'x'")
    settings = settings_of(mysql, tmp_path)
    bare = tmp_path / "bare.sql"
    bare.write_text(f"USE {SCHEMA};\nCREATE TABLE item (id INT PRIMARY KEY);\n")
    from_dump = settings_of(mysql, tmp_path, dump=str(bare), tables=[f"{SCHEMA}.item"])
    with pytest.raises(SettingsError, match="does not record its log position"):
        seeded(spark, from_dump)
    with pytest.raises(SettingsError, match="--create"):
        seeded(spark, settings.with_section("seed", dump=str(bare), form="csv"))
    with pytest.raises(SettingsError, match=r"seed\.at: expects FILE:POSITION"):
        settings.with_section("seed", at="somewhere")
    # a seed of a log that the lake does not have waits, and one of before its first file does not
    for place, reason in (("binlog.999999:4", "is waiting"), ("binlog.000000:4", "cannot be used")):
        seeded(spark, from_dump.with_section("seed", at=place))
        reports = run_layers(spark, settings, QuietProgress())
        (note,) = {
            line
            for one in reports
            for line in (*one.notes, *one.faults)
            if "initial snapshot of" in line
        }
        assert reason in note
        assert f"{SCHEMA}.item" in note
        refused = reason == "cannot be used"
        assert exit_code(reports) == (DONE_WITH_FAULTS if refused else DONE)
        assert (note in read_status(spark, settings).problems) == refused
