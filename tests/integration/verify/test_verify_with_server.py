"""`binlake verify` against a server under writes: gold stops at the snapshot's position."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from pipeline.cli.app import app
from pipeline.lake import Lake
from pipeline.lake.ledger.run_store import last_verifications
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.settings import Settings
from pipeline.source.server.errors import ServerUnreachableError
from pipeline.verify import matching, snapshot
from pipeline.verify.report import Verification
from pipeline.verify.run import verify_with_server
from tests.support.lake.run_layers import run_layers
from tests.support.servers.server import Server, free_port

SCHEMA = "live"
TABLES = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE one (id INT PRIMARY KEY AUTO_INCREMENT, v INT);
    CREATE TABLE other (v DECIMAL(9, 2), at DATETIME(3), t VARCHAR(20));
    INSERT INTO one (v) VALUES (1), (2), (3); INSERT INTO other VALUES (0.5, NOW(3), 'ü');
"""
WRITES = (
    "BEGIN",
    "INSERT INTO one (v) VALUES (1)",
    "UPDATE one SET v = v + 1 WHERE id % 7 = 0",
    "INSERT INTO other SELECT COUNT(*), NOW(3), 'é' FROM one",
    "COMMIT",
)


def settings_of(server: Server, lake: Path, **more: Any) -> Settings:
    """Return settings of a lake that reads the server's own log and is compared with the server."""
    return Settings.load(
        None,
        source="live",
        binlogs=str(server.binlog_folder),
        lake=str(lake),
        include=[f"{SCHEMA}.*"],
        server=f"mysql://root@127.0.0.1:{server.port}",
        **more,
    )


@contextmanager
def written(server: Server) -> Iterator[None]:
    """Write before and during the `with`, without pause."""
    begun, done = threading.Event(), threading.Event()

    def write() -> None:
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            while not done.is_set():
                for statement in WRITES:
                    cursor.execute(statement)
                begun.set()
                done.wait(0.005)

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        try:
            assert begun.wait(60)
            yield
        finally:
            done.set()
        writer.result()


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_gold_equals_a_server_under_writes(
    kind: str,
    request: pytest.FixtureRequest,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server: Server = request.getfixturevalue(kind)
    monkeypatch.setattr(matching, "GOLD_PAUSE", 0.5)
    server.reset_logs()
    server.execute(TABLES)
    settings = settings_of(server, tmp_path)
    run_layers(spark, settings, QuietProgress())
    before = read_status(spark, settings).tables[0].lsn

    def verified() -> Verification:
        return verify_with_server(spark, settings, QuietProgress(), patience=600)

    with ThreadPoolExecutor(1) as pool:
        with written(server):
            verifying = pool.submit(verified)
            requests = tmp_path / "gold" / "_verification_points" / "live"
            while not (verifying.done() or (requests.exists() and [*requests.glob("*.json")])):
                threading.Event().wait(0.05)
            # Rows written after the snapshot are in the same run as those before it.
            threading.Event().wait(1)
            run_layers(spark, settings, QuietProgress())
        found = verifying.result()
    assert found.against is not None
    assert (found.against.position, found.against.differences) == ("", ())
    assert found.against.compared == 2
    last = read_status(spark, settings).tables[0].lsn
    assert before < found.lsn < last, "a snapshot on the way, not the one at the end"
    assert [*requests.iterdir()] == []
    assert not [*(tmp_path / "silver" / "_staging").rglob("verify-*")]


def test_differences_and_gold_that_does_not_catch_up_are_reported(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    mysql.reset_logs()
    mysql.execute(TABLES)
    place = ("--source", "live", "--lake", str(tmp_path))
    run_layers(spark, settings_of(mysql, tmp_path), QuietProgress())
    mysql.execute(f"SET sql_log_bin = 0; UPDATE {SCHEMA}.one SET v = 9 WHERE id = 2")
    against = ("--against", f"mysql://root@127.0.0.1:{mysql.port}", "--table", f"{SCHEMA}.*")
    found = CliRunner().invoke(app, ["verify", *place, *against])
    assert found.exit_code == 3, found.output
    assert 'key ["2"]: different' in found.output
    assert "Not at the same position" not in found.output
    record = last_verifications(spark, Lake(str(tmp_path)))["live"]
    assert (record.outcome, record.exit_code, record.fault_count) == ("faults", 3, 1)
    assert record.faults[0].sentence.startswith(f"{SCHEMA}.one differs: ")
    assert record.notes[0].sentence.startswith("2 tables compared with ")

    mysql.execute(f"INSERT INTO {SCHEMA}.one (v) VALUES (4)")
    found = CliRunner().invoke(app, ["verify", *place, *against, "--wait", "1"])
    assert found.exit_code == 3, found.output
    assert "Not at the same position: The server's snapshot contains" in found.output


def test_a_server_that_does_not_answer_is_named(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    mysql.reset_logs()
    mysql.execute(TABLES)
    run_layers(spark, settings_of(mysql, tmp_path), QuietProgress())
    port = free_port()
    against = ("--against", f"mysql://root@127.0.0.1:{port}")
    found = CliRunner().invoke(app, ["verify", "--lake", str(tmp_path), *against])
    assert isinstance(found.exception, ServerUnreachableError)
    assert f"127.0.0.1:{port}" in str(found.exception)
    found = CliRunner().invoke(
        app, ["verify", "--lake", str(tmp_path), "--against", "mysql://root:secret@db"]
    )
    assert getattr(found.exception, "exit_code", None) == 2
    assert "secret" not in str(found.exception) + found.output


DEPLOYED = {
    "aaa_altered": f"ALTER TABLE {SCHEMA}.aaa_altered ADD COLUMN w INT",
    "zzz_emptied": f"TRUNCATE TABLE {SCHEMA}.zzz_emptied",
    "zzz_gone": f"DROP TABLE {SCHEMA}.zzz_gone",
}
"""The first table has already been read when the changes run, the others have not."""


def test_concurrent_schema_changes_do_not_wait_and_are_reported(
    spark: SparkSession, mysql: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mysql.reset_logs()
    mysql.execute(TABLES)
    for table in (*DEPLOYED, "left_out"):
        mysql.execute(f"CREATE TABLE {SCHEMA}.{table} (id INT PRIMARY KEY)")
        mysql.execute(f"INSERT INTO {SCHEMA}.{table} VALUES (1)")
    settings = settings_of(mysql, tmp_path, exclude=["*.left_out"])
    run_layers(spark, settings, QuietProgress())
    read: list[str] = []
    write_table = snapshot._write_table

    def deployed_in_between(cursor: Any, out: Any, number: int, table: Any, how: Any) -> None:
        if table.table == "one":
            with mysql.connect() as connection, connection.cursor() as other:
                other.execute("SET lock_wait_timeout = 20")
                for statement in DEPLOYED.values():
                    other.execute(statement)
        read.append(table.table)
        write_table(cursor, out, number, table, how)

    monkeypatch.setattr(snapshot, "_write_table", deployed_in_between)
    found = verify_with_server(spark, settings, QuietProgress(), patience=1)
    assert read == ["aaa_altered", "one", "other", "zzz_emptied", "zzz_gone"]
    assert found.against is not None
    assert found.against.differences == ()
    assert [one.name for one in found.against.not_compared] == [
        f"{SCHEMA}.zzz_emptied",
        f"{SCHEMA}.zzz_gone",
    ]
    assert (found.against.compared, found.equal) == (3, False)


def test_writers_do_not_wait_long_for_a_slow_statement(
    spark: SparkSession, mysql: Server, tmp_path: Path
) -> None:
    mysql.reset_logs()
    mysql.execute(TABLES)
    settings = settings_of(mysql, tmp_path)
    run_layers(spark, settings, QuietProgress())
    with mysql.connect() as connection, connection.cursor() as report:
        report.execute(f"LOCK TABLES {SCHEMA}.one WRITE")
        with pytest.raises(ServerUnreachableError, match="holds a lock on the tables"):
            verify_with_server(spark, settings, QuietProgress(), patience=1)
        report.execute("UNLOCK TABLES")
    mysql.execute(f"INSERT INTO {SCHEMA}.one (v) VALUES (5)")
