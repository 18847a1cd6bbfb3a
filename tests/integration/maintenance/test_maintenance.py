"""Maintenance on lakes with handmade silver: what is removed, what is kept and readable."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from pipeline.gold.table.commits import SIGNATURE
from pipeline.lake import Lake, Ledger, delta
from pipeline.lake.child_sessions import child_session
from pipeline.lake.lazy_spark import StartingSpark
from pipeline.maintenance import run, upkeep
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.run import read_status
from pipeline.schema_history.alter.items import ColumnStep
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.aged import age
from tests.support.lake.kills import AfterEachCommit, Killed, at_commits
from tests.support.observe.captured_log import captured_log
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

T, U = definition("t"), definition("u")
ENFORCE = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"
AT_ONCE = {"cuts": "0 days", "silver": "0 days", "bronze": "0 days"}

Rows = list[tuple[Any, ...]]


def no_java() -> SparkSession:
    raise AssertionError("Spark was started.")


class Maintained(MadeLake):
    """A lake of two tables, one without changes after its first batch."""

    def begin(self) -> None:
        self.silver.batch(
            [Tx(1).insert(T, 1, "a").insert(U, 1, "u"), Tx(2).insert(T, 2, "b")],
            [item("create", 1, T), item("create", 1, U)],
        )
        self.run()
        self.change(3)

    def change(self, n: int) -> None:
        """Write one more batch, of the n-th transaction."""
        self.silver.batch([Tx(n).update(T, (1, "a"), (1, "a")).insert(T, n, f"row {n}")])
        self.run()

    def maintain(
        self, *, java: bool = True, dry_run: bool = False, shared: bool = False, **retention: str
    ) -> LayerReport:
        """Run maintenance; `java`: whether Spark may start, which a dry run must not need."""
        spark = self.spark if java and not dry_run else StartingSpark(no_java, "local[1]")
        settings = self.settings(retention=retention)
        return run(spark, settings, QuietProgress(), dry_run=dry_run, shared=shared)

    def gold(self, table: str) -> str:
        return Lake(self.root).gold("shop", table)

    def rows(self, table: str) -> Rows:
        frame = delta.read(self.spark, self.gold(table)).select("id", "v")
        return sorted(tuple(row) for row in frame.collect())

    def cuts(self) -> dict[int, Mapping[str, int]]:
        """Return each table's version, by batch."""
        rows = delta.read(self.spark, Lake(self.root).cuts).collect()
        return {
            row["batch"]: {entry["table"]: entry["delta_version"] for entry in row["tables"]}
            for row in rows
        }

    def at(self, versions: Mapping[str, int]) -> dict[str, Rows]:
        """Read the tables of a snapshot, as a user with default settings does."""
        reader = child_session(self.spark, {ENFORCE: "true"})
        return {
            table: sorted(
                tuple(row)
                for row in delta.read(reader, Lake(self.root).gold("shop", table), version=version)
                .select("id", "v")
                .collect()
            )
            for table, version in versions.items()
            if version is not None
        }

    def states(self) -> dict[int, dict[str, Rows]]:
        return {batch: self.at(versions) for batch, versions in self.cuts().items()}

    def count(self, path: str) -> int:
        return delta.read(self.spark, path).count()

    def record(self) -> dict[str, Any]:
        return Ledger(self.spark, Lake(self.root), SOURCE).record("maintenance") or {}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Maintained:
    made = Maintained(spark, tmp_path / "lake")
    made.begin()
    return made


@pytest.mark.long
def test_kept_snapshots_stay_readable_and_old_ones_are_removed_before_their_files(
    lake: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LEAST_SPARE", 1)
    before = lake.states()
    age(lake.spark, Path(lake.root), timedelta(days=20))
    lake.change(4)
    with pytest.raises(Exception, match="BEYOND_DELETED_FILE_RETENTION"):
        lake.states()  # an unchanged table, as it was until just now
    planned = "\n".join(lake.maintain(dry_run=True, shared=True, cuts="7 days").notes)
    assert "gold/shop/u: keep removed files for" in planned
    lake.maintain(cuts="7 days")
    states = lake.states()
    assert {batch: states[batch] for batch in before} == before
    assert sorted(states) == [1, 2, 3]
    gold = Path(Lake(lake.root).gold("shop", "t"))
    there = {file: file.stat().st_size for file in gold.rglob("*.parquet")}

    report = lake.maintain(**AT_ONCE)
    assert lake.states() == {3: states[3]}
    gone = sum(size for file, size in there.items() if not file.exists())
    assert report.counts["published snapshots removed"] == 2
    assert report.counts["old files deleted"] == lake.record()["counts"]["old files deleted"] > 0
    assert report.counts["bytes deleted"] >= gone > 0
    assert lake.count(Lake(lake.root).transactions) == 0
    assert lake.count(Lake(lake.root).changes("shop", "t", 1)) == 0
    again = lake.maintain(shared=True, **AT_ONCE).counts
    assert not {"published snapshots removed", "rows of silver removed"} & again.keys()

    lake.change(5)
    assert lake.states()[4]["t"] == sorted([*states[3]["t"], (5, "row 5")])
    assert lake.states()[3] == states[3]


def test_a_table_unchanged_for_longer_than_deltas_retention_can_be_altered(
    lake: Maintained,
) -> None:
    wider = definition("t", replace(T.columns[0], type=ColumnType.LONGLONG), T.columns[1])
    steps = [ColumnStep("id", "id", "cast"), ColumnStep("v", "v")]
    before = lake.rows("t")
    age(lake.spark, Path(lake.root), timedelta(days=20))
    lake.silver.batch(
        [Tx(4), Tx(5).insert(wider, 1 << 40, "e", version=2)],
        [item("alter", 4, wider, 2, columns=steps)],
    )
    lake.run()
    assert lake.rows("t") == [*before, (1 << 40, "e")]


@pytest.mark.long
def test_maintenance_killed_after_each_commit_has_the_same_result(
    lake: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed = child_session(lake.spark, {delta.USER_METADATA: SIGNATURE})  # otherwise another run's
    signed.sql(f"DELETE FROM delta.`{lake.gold('t')}` WHERE id = 2")  # as a vector
    expected = lake.rows("t"), lake.rows("u")
    executioner = AfterEachCommit()
    at_commits(monkeypatch, executioner)
    with captured_log() as records:
        while not lake.record():
            with pytest.raises(Killed):
                lake.maintain(**AT_ONCE)
            assert all(lake.states().values())  # every published snapshot is readable
    (planner,) = {line["planned_by"] for line in records.of("plan_resumed")}
    assert planner is not None
    kinds = [Path(table).relative_to(lake.root).as_posix() for table in executioner.commits]
    assert kinds[:2] == ["ledger/batches", "gold/_cuts"]
    assert sorted(kinds[2:4]) == ["silver/changes/shop/t/v1", "silver/changes/shop/u/v1"]
    assert kinds[4] == "silver/transactions"
    # Both have other properties, and one is purged.
    assert sorted(kinds[5:-1]) == ["gold/shop/t", "gold/shop/t", "gold/shop/u"]
    monkeypatch.undo()
    assert (lake.rows("t"), lake.rows("u")) == expected
    assert lake.record()["tables"]["silver/shop/t/v1"] == {"rows": 4}
    assert lake.record()["counts"]["published snapshots removed"] == 1
    assert sorted(lake.cuts()) == [2]
    lake.change(4)
    assert lake.rows("t") == sorted([*expected[0], (4, "row 4")])


@pytest.mark.long
def test_what_a_held_table_needs_is_kept_and_the_dry_run_reports_it(lake: Maintained) -> None:
    lake.silver.batch(
        [Tx(4).insert(T, 4, "d").insert(U, 4, "d"), Tx(5).insert(U, 5, "e")],
        faults=[(4, ["shop.t"])],
    )
    lake.run()
    before = lake.count(Lake(lake.root).ledger("batches"))
    report = lake.maintain(dry_run=True, **AT_ONCE)
    assert lake.count(Lake(lake.root).ledger("batches")) == before
    notes = "\n".join(report.notes)
    assert "silver/shop/t/v1: remove 4 rows" in notes
    assert "silver/transactions: remove 3 rows" in notes
    assert "gold/_cuts: remove 2 rows" in notes
    assert f"silver is kept from LSN {lsn(4)} on: shop.t is held there" in notes
    assert "bronze/segments: remove" not in notes
    assert f"bronze is kept from LSN {1 << 40} on" in notes, "its only file"

    lake.maintain(**AT_ONCE)
    kept = delta.read(lake.spark, Lake(lake.root).transactions).select("__lsn").collect()
    assert sorted(row[0] for row in kept) == [lsn(4), lsn(5)]
    lake.silver.resolve()
    lake.silver.batch([Tx(6).insert(T, 6, "f")])
    lake.run()
    assert lake.rows("t")[-2:] == [(4, "d"), (6, "f")]


@pytest.mark.long
def test_a_previously_excluded_table_is_incomplete_without_removed_data(
    lake: Maintained,
) -> None:
    other = definition("w")
    lake.silver.batch([Tx(4).insert(other, 1, "gone")], [item("create", 4, other)])
    lake.run(exclude=["shop.w"])
    lake.maintain(**AT_ONCE)
    lake.silver.batch([Tx(5).insert(other, 2, "there"), Tx(6).insert(T, 6, "f")])
    lake.run()
    table = next(t for t in read_status(lake.spark, lake.settings()).tables if t.table == "w")
    assert (table.complete, table.held) == (False, False)
    assert "removed from silver by binlake maintain" in (table.reason or "")
    assert lake.rows("w") == [(2, "there")]


@pytest.mark.long
def test_a_concurrent_apply_and_maintenance_both_succeed(
    lake: Maintained, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "LEAST_SPARE", 1)
    together = Barrier(2)

    def change() -> None:
        together.wait()
        lake.change(4)
        lake.change(5)

    def maintain() -> LayerReport:
        together.wait()
        return lake.maintain(shared=True, **AT_ONCE)

    with ThreadPoolExecutor(2) as pool:
        changed, maintained = pool.submit(change), pool.submit(maintain)
        changed.result()
        assert maintained.result().batches == (1,)
    assert [row[0] for row in lake.rows("t")] == [1, 2, 3, 4, 5]
    assert all(lake.states().values())
