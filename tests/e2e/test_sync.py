"""`binlake sync` on a live server: seeded, followed, ended by a signal, and started again."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import binlake
from pipeline.cli.app import app
from pipeline.errors import SettingsError
from pipeline.lake import Lake
from pipeline.lake.ledger.run_record import RunRecord
from pipeline.lake.ledger.run_store import read_runs
from pipeline.observe.interruption import handling_signals
from pipeline.run.sync import sample
from pipeline.source import GtidSet
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.servers.mysql import MySQLServer
from tests.support.source.capturing import eventually
from tests.support.spark.no_spark import NEVER_STARTED

SCHEMA = "synced"
PATIENCE = 120.0
OLDER_THAN_THE_LOG = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; USE {SCHEMA};
    CREATE TABLE customers (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40));
    INSERT INTO customers (name) VALUES ('Ada'), ('Grace'), ('Zoë');
    FLUSH BINARY LOGS; PURGE BINARY LOGS BEFORE '2100-01-01';
    CREATE TABLE visits (customer INT, note TEXT);
    INSERT INTO visits VALUES (1, 'first'), (1, 'first'), (2, NULL);
"""
CHANGES = [
    f"INSERT INTO {SCHEMA}.customers (name) VALUES ('Edsger')",
    f"DELETE FROM {SCHEMA}.visits WHERE customer = 1 LIMIT 1",
    f"UPDATE {SCHEMA}.customers SET name = 'Grace H.' WHERE name = 'Grace'",
    f"INSERT INTO {SCHEMA}.visits VALUES (3, 'again'), (3, 'again')",
]


class Synced:
    """A server and a lake that `binlake sync` keeps equal to it."""

    def __init__(self, server: MySQLServer, folder: Path) -> None:
        self.server = server
        self.ended = threading.Event()
        self.lake = Lake(str(folder / "lake"))
        self.conf = folder / "sync.yml"
        settings = {
            "source": "shop",
            "server": {"host": "127.0.0.1", "port": server.port, "user": "root"},
            "capture": {"to": str(folder / "logs")},
            "lake": self.lake.root,
            "include": [f"{SCHEMA}.*"],
            "sync": {"verify": "2s", "maintain": "1s"},
        }
        self.conf.write_text(json.dumps(settings))

    def stays(self, meanwhile: Callable[[], None]) -> int:
        """Return the exit code of a sync that stays until `meanwhile` has ended."""
        errors: list[BaseException] = []

        def drive() -> None:
            try:
                meanwhile()
            except BaseException as error:
                errors.append(error)
            if not self.ended.is_set():
                os.kill(os.getpid(), signal.SIGTERM)

        self.ended.clear()
        driver = threading.Thread(target=drive)
        with handling_signals(lambda error: None):
            driver.start()
            command = ["sync", "--conf", str(self.conf), "--every", "1s", "--log", "json"]
            ended = CliRunner().invoke(app, command)
            self.ended.set()
            driver.join()
        for error in (ended.exception, *errors):
            if error is not None and not isinstance(error, SystemExit):
                raise error
        return ended.exit_code

    def write_and_wait(self, *parts: slice) -> None:
        """Change the tables part by part; wait until gold has each part."""
        for part in parts:
            self.wait()
            self.server.execute(";".join(CHANGES[part]))
        self.wait()

    def wait(self) -> None:
        """Wait until gold has published what the server has committed."""
        ((executed, purged),) = self.server.execute(
            "SELECT @@GLOBAL.gtid_executed, @@GLOBAL.gtid_purged"
        )
        wanted, patience = GtidSet.of(executed) - GtidSet.of(purged), time.monotonic() + PATIENCE
        while not self._published().holds(wanted):
            assert not self.ended.is_set()
            assert time.monotonic() < patience, f"gold has {self._published()}, not {wanted}"
            time.sleep(0.1)

    def _published(self) -> GtidSet:
        if not DeltaTable.is_deltatable(self.lake.cuts):
            return GtidSet()
        cuts = DeltaTable(self.lake.cuts).to_pyarrow_table(columns=["lsn", "gtid_set"])
        last = max(cuts.to_pylist(), key=lambda row: row["lsn"], default=None)
        return GtidSet() if last is None else GtidSet.of(last["gtid_set"])

    def runs(self, command: str) -> list[RunRecord]:
        """Return the records of a command's runs on the lake, the latest first."""
        runs = read_runs(NEVER_STARTED, self.lake, last=1000)
        return [run for run in runs if run.command == command]


def test_gold_follows_a_server_through_a_restart_without_doubles(
    mysql: MySQLServer, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples: dict[str, str] = {}
    monkeypatch.setattr(sample, "say", lambda event, message, **_: samples.update({event: message}))
    mysql.reset_logs()
    mysql.execute(OLDER_THAN_THE_LOG)
    synced = Synced(mysql, tmp_path)
    assert synced.stays(lambda: synced.write_and_wait(slice(2), slice(2, None))) == 0
    assert [run.outcome for run in synced.runs("seed")] == ["done"]
    worked = synced.runs("run")
    assert {run.outcome for run in worked} == {"done"}

    def idle_then_write() -> None:
        time.sleep(3)
        assert len(synced.runs("run")) <= len(worked) + 1
        synced.write_and_wait(slice(None))
        eventually(lambda: "verified" in samples, PATIENCE)

    assert synced.stays(idle_then_write) == 0
    assert "differs" not in samples
    assert {run.outcome for run in synced.runs("maintain")} == {"done"}
    seeded = [run for run in synced.runs("seed") if run.outcome == "done"]
    assert len(seeded) == 1, "not again after the restart"
    mysql.execute(CHANGES[0])
    record = binlake.sync(str(synced.conf))
    assert (record.outcome, record.rows_applied) == ("done", 1)
    rows = {name: gold_rows(spark, synced, name) for name in ("customers", "visits")}
    assert rows == {"customers": 6, "visits": 5}
    compared = binlake.verify(str(synced.conf), against="server")
    assert compared.equal
    assert {table.table: table.rows for table in compared.tables} == rows

    # The sample finds a change that the server has not logged.
    mysql.execute(f"SET sql_log_bin = 0; UPDATE {SCHEMA}.customers SET name = 'Eve' WHERE id = 1")
    assert synced.stays(lambda: eventually(lambda: "differs" in samples, PATIENCE)) == 3
    assert samples["differs"].startswith(f"{SCHEMA}.customers: ")


def gold_rows(spark: SparkSession, synced: Synced, table: str) -> int:
    """Return the rows of a table, which are the server's."""
    return assert_gold_equals_source(spark, synced.server, synced.lake.root, SCHEMA, table)


@pytest.mark.parametrize("every", ["soon", "-1s", "1.5"])
def test_an_interval_that_is_no_duration_is_refused(every: str, tmp_path: Path) -> None:
    command = ["sync", "--lake", str(tmp_path / "lake"), f"--every={every}"]
    found = CliRunner().invoke(app, command)
    assert isinstance(found.exception, SettingsError)
    assert found.exception.key == "sync.every"
