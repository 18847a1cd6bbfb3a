"""Gold tables that others have changed: only these are held.

In one lake of a real server's log, every table is damaged in another way before a run; the held
tables are then rebuilt from silver, and equal the server's.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipeline.errors import SettingsError
from pipeline.gold import GoldState
from pipeline.gold.table.damage import Damage
from pipeline.lake import Lake, Ledger
from pipeline.lake.ledger.run_store import read_runs
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status, run_command
from pipeline.run.commands import exit_code
from pipeline.settings import Settings
from tests.support.gold.compare import assert_gold_equals_source
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.lake.table_rows import read_table
from tests.support.servers.mysql import MySQLServer

SCHEMA, SOURCE = "damage", "hands"
Damages = Mapping[str, Callable[[SparkSession, str], object]]


def _sql(*statements: str) -> Callable[[SparkSession, str], object]:
    def act(spark: SparkSession, path: str) -> None:
        for statement in statements:
            spark.sql(statement.replace("TABLE_", f"delta.`{path}`")).collect()

    return act


def _vacuum(spark: SparkSession, path: str) -> None:
    """Vacuum despite Delta's check of the retention time; OPTIMIZE leaves files to remove."""
    own = spark.newSession()
    own.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    own.sql(f"OPTIMIZE delta.`{path}`").collect()
    own.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS").collect()


def _overwrite(spark: SparkSession, path: str) -> None:
    rows = spark.range(3).withColumnRenamed("id", "other")
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)


def _another(_: SparkSession, path: str) -> None:
    shutil.rmtree(path)
    write_deltalake(path, pa.table({"id": range(3)}))


def _data_files(_: SparkSession, path: str) -> None:
    for file in Path(path).rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            file.unlink()


def _commit_files(path: str) -> list[Path]:
    return sorted(Path(path, "_delta_log").glob("*.json"))


def _corrupt(_: SparkSession, path: str) -> None:
    last = _commit_files(path)[-1]
    last.write_text("{ this is no JSON")


def _no_last(_: SparkSession, path: str) -> None:
    last = _commit_files(path)[-1]
    for file in (last, last.with_suffix(".crc")):
        file.unlink()


def _commit(path: str, operation: str, action: Mapping[str, Any]) -> None:
    """Commit an action as Delta writes it for others; a statement of Spark's takes a second."""
    last = _commit_files(path)[-1]
    info = {"timestamp": int(time.time() * 1000), "operation": operation}
    lines = [{"commitInfo": {**info, "operationParameters": {}}}, action]
    number = int(last.stem) + 1
    last.with_name(f"{number:020}.json").write_text("\n".join(map(json.dumps, lines)))


def _setting_append_only(value: str) -> Callable[[SparkSession, str], object]:
    def act(_: SparkSession, path: str) -> None:
        lines = "\n".join(file.read_text().strip() for file in _commit_files(path)).splitlines()
        actions = [json.loads(line) for line in lines]
        metadata = [action["metaData"] for action in actions if "metaData" in action][-1]
        metadata["configuration"]["delta.appendOnly"] = value
        _commit(path, "SET TBLPROPERTIES", {"metaData": metadata})

    return act


def _unknown_feature(_: SparkSession, path: str) -> None:
    features = ["columnMapping", "timestampNtz", "deletionVectors", "quantumRows"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": features,
    }
    _commit(path, "UPGRADE PROTOCOL", {"protocol": protocol})


HELD: Mapping[str, tuple[Callable[[SparkSession, str], object], str]] = {
    "renamed": (lambda _, path: shutil.move(path, f"{path}_old"), "is gone (deleted, or renamed)"),
    "keyless": (_setting_append_only("true"), "delta.appendOnly prevents changes of rows"),
    "checked": (
        _sql("ALTER TABLE TABLE_ ADD CONSTRAINT small CHECK (n < 50)"),
        "DELTA_VIOLATE_CONSTRAINT_WITH_VALUES",
    ),
    "restored": (
        _sql("RESTORE TABLE TABLE_ TO VERSION AS OF 0"),
        "by another program or user: RESTORE",
    ),
    "deleted_rows": (_sql("DELETE FROM TABLE_ WHERE id = 2"), "by another program or user: DELETE"),
    "added_column": (_sql("ALTER TABLE TABLE_ ADD COLUMN mine INT"), "or user: ADD COLUMNS"),
    "dropped_column": (
        _sql(
            "ALTER TABLE TABLE_ SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE TABLE_ DROP COLUMN n",
        ),
        "or user: DROP COLUMNS",
    ),
    "overwritten": (_overwrite, "by another program or user: WRITE"),
    "another": (_another, "another table is at"),
    "no_files": (_data_files, "FAILED_READ_FILE"),
    "corrupt_log": (_corrupt, "FAILED_READ_FILE"),
    "no_last_commit": (_no_last, "files of the log are missing"),
    "unknown_feature": (_unknown_feature, "DELTA_UNSUPPORTED_FEATURES_FOR_READ"),
}
"""How each table is damaged, and what the run reports."""


def _undone(spark: SparkSession, path: str) -> None:
    latest = DeltaTable(path).version()
    spark.sql(f"DELETE FROM delta.`{path}`").collect()
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF {latest}").collect()


def _tend(spark: SparkSession, path: str) -> None:
    for statement in (
        "ALTER TABLE TABLE_ SET TBLPROPERTIES ('about' = 'orders of the shop')",
        "ALTER TABLE TABLE_ ALTER COLUMN v COMMENT 'what it is'",
        "ALTER TABLE TABLE_ CLUSTER BY (v)",
        "ALTER TABLE TABLE_ ADD CONSTRAINT known CHECK (id IS NOT NULL)",
    ):
        _sql(statement)(spark, path)


HARMLESS: Damages = {
    "vacuumed": _vacuum,
    "tended": _tend,
    "undone": _undone,
}
QUIET = "restored"
"""A table without new changes in the log."""
TABLES = (*HELD, *HARMLESS)
UNDONE = ("added_column", "deleted_rows", "keyless", "checked")
"""Tables that are intact again once the damage is undone."""
ASIDE = ("corrupt_log", "unknown_feature", "another")
"""Tables that cannot be emptied in place, and are moved away."""


class DamagedLake:
    """The lake, and what each run reported."""

    def __init__(self, spark: SparkSession, server: MySQLServer, folder: Path) -> None:
        self.spark, self.server = spark, server
        self.lake = Lake(str(folder / "lake"))
        server.execute(f"DROP DATABASE IF EXISTS {SCHEMA}")
        server.reset_logs()
        server.execute(f"CREATE DATABASE {SCHEMA}")
        for name in TABLES:
            key = "" if name == "keyless" else " PRIMARY KEY"
            self.source(name, f"CREATE TABLE TABLE_ (id INT{key}, v VARCHAR(20), n INT)")
            self.source(name, "INSERT INTO TABLE_ VALUES (1, 'one', 1), (2, 'two', 2), (3, '', 3)")
        self.run()

    def source(self, name: str, statement: str) -> None:
        self.server.execute(statement.replace("TABLE_", f"{SCHEMA}.{name}"))

    def change(self, statement: str, names: Iterable[str]) -> None:
        for name in names:
            self.source(name, statement)

    def settings(self, **options: Any) -> Settings:
        place = {"binlogs": str(self.server.binlog_folder), "lake": self.lake.root}
        return Settings.load(None, source=SOURCE, include=[f"{SCHEMA}.*"], **place, **options)

    def run(self, command: str = "run", **options: Any) -> list[LayerReport]:
        return run_command(self.spark, self.settings(**options), QuietProgress(), command)

    def path(self, name: str) -> str:
        return self.lake.gold(SCHEMA, name)

    def equal(self, name: str) -> None:
        assert_gold_equals_source(self.spark, self.server, self.lake.root, SCHEMA, name)

    def damages(self) -> dict[str, Damage]:
        state = GoldState.of(Ledger(self.spark, self.lake, SOURCE))
        return {n.table: t.damage for n, t in state.tables.items() if t.damage is not None}

    def cut(self) -> dict[str, Any]:
        last = read_table(self.lake.cuts)[1].sort_by("batch").to_pylist()[-1]
        return {entry["table"]: entry for entry in last["tables"]}


@pytest.fixture(scope="module")
def damaged(
    spark: SparkSession, mysql: MySQLServer, tmp_path_factory: pytest.TempPathFactory
) -> DamagedLake:
    made = DamagedLake(spark, mysql, tmp_path_factory.mktemp("damaged"))
    for name, act in {**{name: act for name, (act, _) in HELD.items()}, **HARMLESS}.items():
        act(spark, made.path(name))
    for statement in (
        "UPDATE TABLE_ SET v = 'dos', n = 60 WHERE id = 2",
        "DELETE FROM TABLE_ WHERE id = 3",
        "INSERT INTO TABLE_ VALUES (4, 'four', 4)",
    ):
        made.change(statement, [name for name in TABLES if name != QUIET])
    return made


def test_damaged_tables_are_held_and_all_others_continue(damaged: DamagedLake) -> None:
    reports = damaged.run()
    reported = {fault.partition(" is held: ")[0]: fault for fault in reports[-1].faults}
    assert sorted(reported) == sorted(f"{SCHEMA}.{name}" for name in HELD)
    for name, (_, why) in HELD.items():
        sentence = reported[f"{SCHEMA}.{name}"]
        assert why in sentence, sentence
        assert f"binlake apply --full-refresh --table {SCHEMA}.{name}" in sentence
        assert "org.apache" not in sentence
    for name in HARMLESS:
        damaged.equal(name)
    assert exit_code(reports) == 3
    cut = damaged.cut()
    assert {name for name, entry in cut.items() if entry["held"]} == {*HELD}
    assert {name for name, entry in cut.items() if not entry["complete"]} == {*HELD}
    status = read_status(damaged.spark, damaged.settings())
    assert {t.table: t.complete for t in status.tables} == {
        **dict.fromkeys(HELD, False),
        **dict.fromkeys(HARMLESS, True),
    }
    (record,) = read_runs(damaged.spark, damaged.lake, source=SOURCE, last=1)
    assert (record.outcome, record.exit_code) == ("faults", 3)
    assert record.fault_count == len(HELD)


def test_another_run_reports_the_same_and_publishes_nothing(damaged: DamagedLake) -> None:
    before = damaged.damages()
    report = damaged.run()[-1]
    assert report.batches == ()
    assert len(report.faults) == len(before)
    assert damaged.damages() == before


def test_tables_continue_once_the_damage_is_undone(damaged: DamagedLake) -> None:
    for name in ("added_column", "deleted_rows"):
        ours = DeltaTable(damaged.path(name)).version() - 1
        _sql(f"RESTORE TABLE TABLE_ TO VERSION AS OF {ours}")(damaged.spark, damaged.path(name))
    _setting_append_only("false")(damaged.spark, damaged.path("keyless"))
    _sql("ALTER TABLE TABLE_ DROP CONSTRAINT small")(damaged.spark, damaged.path("checked"))
    damaged.run()
    assert set(damaged.damages()) == {*HELD}.difference(UNDONE)
    for name in UNDONE:
        damaged.equal(name)
        assert damaged.cut()[name]["complete"]


def test_a_pattern_that_matches_no_table_is_refused(damaged: DamagedLake) -> None:
    with pytest.raises(SettingsError, match="matches no gold table"):
        damaged.run("apply --full-refresh", refresh_tables=["damage.nothing"])


def test_damaged_tables_are_rebuilt_from_silver_even_if_a_run_is_killed(
    damaged: DamagedLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyless = damaged.path("keyless")
    _sql("DELETE FROM TABLE_ WHERE id = 2")(damaged.spark, keyless)
    # Spark has to empty it; it has no key, so rows that stay would be there twice.
    assert len(pa.table(DeltaTable(keyless).deletion_vectors())) == 1
    HELD["keyless"][0](damaged.spark, keyless)
    before = damaged.cut()
    (report,) = damaged.run("apply --full-refresh", refresh_tables=[f"{SCHEMA}.restored"])
    assert f"{SCHEMA}.restored" not in "".join(report.faults)
    assert len(report.faults) == len(damaged.damages())
    damaged.equal("restored")
    assert damaged.cut()["restored"]["delta_id"] == before["restored"]["delta_id"]
    made_again = [name for name in HELD if name not in ("restored", "added_column", "checked")]
    names = [f"{SCHEMA}.{name}" for name in made_again]
    at_commits(monkeypatch, Executioner(16, after=True, layer="gold"))
    with pytest.raises(Killed):
        damaged.run("apply --full-refresh", refresh_tables=names)
    monkeypatch.undo()
    report = damaged.run()[-1]
    assert report.faults == ()
    for name in made_again:
        damaged.equal(name)
    aside = {path.name for path in Path(damaged.lake.root, "gold", "_damaged", SCHEMA).iterdir()}
    commits = DeltaTable(damaged.path("no_files")).history()
    assert "Binlake" in {one["engineInfo"] for one in commits if one["operation"] == "DELETE"}
    assert {*ASIDE} <= aside
    assert not {"overwritten", "no_files", "keyless"} & aside
    later = (*ASIDE, "renamed", "restored", "keyless", "dropped_column", "no_files", "tended")
    damaged.change("UPDATE TABLE_ SET n = 77 WHERE id = 2", later)
    assert [report.clean for report in damaged.run()] == [True] * 3
    for name in later:
        damaged.equal(name)
    assert all(entry["complete"] for entry in damaged.cut().values())
