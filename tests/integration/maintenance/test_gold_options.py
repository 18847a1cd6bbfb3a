"""Conf's `gold` section: new tables are created by it, existing ones follow at a maintenance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import binlake
from pipeline.bronze.files import write_files
from pipeline.lake import Lake
from pipeline.lake.delta_log.spark_written import clustered_by, features
from pipeline.lake.lazy_spark import Spark
from pipeline.maintenance import run
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history.alter.items import ColumnStep
from tests.support.bronze.bronze_rows import file_row
from tests.support.gold.made_lake import MadeLake
from tests.support.gold.vectors import give_deletion_vectors
from tests.support.lake.kills import AfterEachCommit, Killed, at_commits
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn
from tests.support.spark.no_spark import NEVER_STARTED, NO_SPARK

T, NEW = definition("t"), definition("new")
SHORT = definition("new", NEW.columns[0])
RENAMED, AGAIN = (definition("t", T.columns[0], replace(T.columns[1], name=n)) for n in "wx")
STEPS = {new: (ColumnStep("id", "id"), ColumnStep(new, old)) for old, new in ("vw", "wx")}
GOLD = {"readers": "any", "change_data_feed": ["shop.*"], "cluster_by": {"shop.*": ["w"]}}
VECTORS, FEED = "delta.enableDeletionVectors", "delta.enableChangeDataFeed"


class Optioned(MadeLake):
    """A lake whose table `t` has a deletion vector and a renamed column before conf changes."""

    def path(self, table: str = "t") -> str:
        return Lake(self.root).gold("shop", table)

    def maintain(self, spark: Spark, gold: dict[str, Any], *, dry_run: bool = False) -> str:
        report = run(spark, self.settings(gold=gold), QuietProgress(), dry_run=dry_run)
        return "\n".join(report.notes)

    def rows(self, table: str = "shop.t", at: int | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a table in a published snapshot, without `__lsn` and
        `__committed_at`."""
        when = None if at is None else lsn(at)
        found = binlake.read(self.root, when, engine="arrow", tables=[table])[table]
        return sorted(tuple(row.values())[:-2] for row in found.to_pylist())

    def feed(self, start: int) -> list[tuple[Any, ...]]:
        """Return the change data feed of `t` from a version on."""
        feed = {"readChangeFeed": "true", "startingVersion": str(start)}
        found = self.spark.read.format("delta").options(**feed).load(self.path())
        columns = ("_change_type", *found.columns[:2])
        return sorted(tuple(row) for row in found.select(*columns).collect())


def by(**columns: str) -> dict[str, Any]:
    """Return conf that clusters each of these tables by a column."""
    return {**GOLD, "cluster_by": {f"shop.{table}": [name] for table, name in columns.items()}}


def properties(path: str) -> tuple[str | None, str | None]:
    found = DeltaTable(path).metadata().configuration
    return found.get(VECTORS), found.get(FEED)


def test_existing_tables_follow_conf_at_a_maintenance_and_new_ones_are_created_so(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Optioned(spark, tmp_path / "lake")
    first = Tx(1).insert(T, 1, "a").insert(T, 2, "b").insert(T, 3, "c")
    lake.silver.batch([first], [item("create", 1, T)])
    lake.run()
    second = Tx(2).delete(RENAMED, 2, "b", version=2)
    lake.silver.batch([second], [item("alter", 2, RENAMED, 2, columns=STEPS["w"])])
    with monkeypatch.context() as patch:
        give_deletion_vectors(patch)  # otherwise few changes rewrite the files of a small table
        lake.run()
    write_files(spark, Lake(lake.root), SOURCE, [file_row("binlog.1", 1, source=SOURCE)], batch=1)
    assert '"deletionVector":{' in "".join(
        file.read_text() for file in Path(lake.path(), "_delta_log").glob("*.json")
    )

    # Conf's change is announced, applied by clauses whatever interrupts them, and then done.
    clauses = ["CLUSTER BY (`w`)", "SET TBLPROPERTIES (", "DROP FEATURE deletionVectors"]
    planned = lake.maintain(NEVER_STARTED, GOLD, dry_run=True)
    for clause in clauses:
        assert f"gold/shop/t: ALTER TABLE … {clause}" in planned
    with monkeypatch.context() as patch:
        executioner = AfterEachCommit()
        at_commits(patch, executioner)
        for _ in range(12):
            try:
                lake.maintain(spark, GOLD)
                break
            except Killed:
                continue
    assert executioner.commits.count(lake.path()) == 1 + len(clauses)  # the first: its retention
    assert "ALTER TABLE" not in lake.maintain(NEVER_STARTED, GOLD, dry_run=True)
    assert "deletionVectors" not in features(NO_SPARK, lake.path())
    assert clustered_by(NO_SPARK, lake.path()) == ("w",)
    assert properties(lake.path()) == ("false", "true")
    assert lake.rows() == [(1, "a"), (3, "c")]
    assert lake.rows(at=1) == [(1, "a"), (2, "b"), (3, "c")]

    # Gold goes on, without deletion vectors and with a feed.
    since = DeltaTable(lake.path()).version() + 1
    third = Tx(3).update(RENAMED, (1, "a"), (1, "A"), version=2).insert(RENAMED, 4, "d", version=2)
    lake.silver.batch([third.insert(NEW, 1, "n")], [item("create", 3, NEW)])
    held = "shop.new is held: gold.cluster_by in the settings names w"
    assert held in str(lake.run(gold=GOLD).faults)
    lake.run(gold=by(t="w", new="v"))
    assert lake.rows() == [(1, "A"), (3, "c"), (4, "d")]
    changes = [
        ("insert", 4, "d"),
        ("update_postimage", 1, "A"),
        ("update_preimage", 1, "a"),
    ]
    assert lake.feed(since) == changes
    with pytest.raises(AnalysisException, match="DELTA_MISSING_CHANGE_DATA"):
        lake.feed(1)  # not enabled then
    assert properties(lake.path("new")) == ("false", "true")
    assert "deletionVectors" not in features(NO_SPARK, lake.path("new"))
    assert clustered_by(NO_SPARK, lake.path("new")) == ("v",)

    # A clustering column is dropped once conf no longer names it.
    fourth = Tx(4).insert(AGAIN, 5, "e", version=3).insert(SHORT, 2, version=2)
    altered = item("alter", 4, SHORT, 2, columns=(ColumnStep("id", "id"),))
    lake.silver.batch([fourth], [item("alter", 4, AGAIN, 3, columns=STEPS["x"]), altered])
    held = "shop.new is held: gold.cluster_by in the settings names v"
    assert held in str(lake.run(gold=by(t="x", new="v")).faults)
    lake.run(gold=by(t="x"))
    assert clustered_by(NO_SPARK, lake.path("new")) == ("id",)
    assert lake.rows("shop.new") == [(1,), (2,)]

    # The feed cannot be read across a rename.
    assert lake.rows() == [(1, "A"), (3, "c"), (4, "d"), (5, "e")]
    assert clustered_by(NO_SPARK, lake.path()) == ("x",)
    with pytest.raises(Exception, match="DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE"):
        lake.feed(since)
    assert ("insert", 5, "e") in lake.feed(DeltaTable(lake.path()).version())

    # Of what conf changed, the clustering was applied with the ALTER.
    assert lake.maintain(NEVER_STARTED, by(t="x"), dry_run=True).count("ALTER TABLE") == 0
    lake.maintain(spark, {})
    assert properties(lake.path()) == properties(lake.path("new")) == ("true", "false")
    assert clustered_by(NO_SPARK, lake.path()) == ("id",)
    assert lake.rows(at=2) == [(1, "a"), (3, "c")]
