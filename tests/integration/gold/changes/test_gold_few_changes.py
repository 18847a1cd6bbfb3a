"""Small batches of changes are collected in a separate session, which does nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipeline.gold.apply import apply, merge
from pipeline.gold.changes.changes import PartChanges
from pipeline.lake import Lake
from pipeline.lake.child_sessions import INTERPRETED
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item

KEYED, KEYLESS = definition("keyed"), definition("keyless", key=())


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    made = MadeLake(spark, tmp_path_factory.mktemp("few") / "lake")
    first = Tx(1).insert(KEYLESS, 1, "a")
    for key in (2, 3, 4, 12, 13, 14):
        first.insert(KEYED, key, "a")
    made.silver.batch([first], [item("create", 1, KEYED), item("create", 1, KEYLESS)])
    made.run()
    return made


def change(lake: MadeLake, number: int) -> None:
    """Write a batch that deletes a row, changes another one, and inserts a copy into the keyless
    table.
    """
    lake.silver.batch([changed(number, rolled_back=[(400, 500)]).insert(KEYED, 9, "rolled back")])


def changed(number: int, **options: Any) -> Tx:
    made = Tx(number, **options).delete(KEYED, number, "a")
    made.update(KEYED, (10 + number, "a"), (10 + number, "c"))
    return made.insert(KEYLESS, 1, "a")


def require_changed(lake: MadeLake, number: int) -> None:
    """Check the table with the key."""
    found = [row for row in rows(lake, "keyed") if row[0] in (number, 10 + number, 9)]
    assert found == [(10 + number, "c")]


def rows(lake: MadeLake, table: str) -> list[tuple[Any, ...]]:
    _, found = read_table(Lake(lake.root).gold("shop", table))
    return sorted(tuple(row.values()) for row in found.select(["id", "v"]).to_pylist())


def is_interpreted(spark: SparkSession) -> bool:
    return all(spark.conf.get(name) == value for name, value in INTERPRETED.items())


def test_large_batches_are_applied_in_the_runs_own_session(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_keyless, fold = merge.apply_keyless, merge.fold
    seen = []

    def in_keyless(spark: SparkSession, changes: DataFrame, *rest: Any) -> None:
        seen.append(("keyless", is_interpreted(spark), is_interpreted(changes.sparkSession)))
        apply_keyless(spark, changes, *rest)

    def folded(changes: DataFrame, *rest: Any, **options: Any) -> DataFrame:
        seen.append(("keyed", False, is_interpreted(changes.sparkSession)))
        return fold(changes, *rest, **options)

    monkeypatch.setattr(merge, "apply_keyless", in_keyless)
    monkeypatch.setattr(merge, "fold", folded)
    monkeypatch.setattr("pipeline.gold.changes.small_batch.HELD_BYTES", -1)
    change(lake, 2)
    lake.run()
    assert sorted(seen) == [("keyed", False, False), ("keyless", False, False)]
    require_changed(lake, 2)
    assert rows(lake, "keyless") == [(1, "a"), (1, "a")]


def test_reading_small_batches_does_not_change_the_active_session(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply_part = apply.apply_part
    active = []

    def spied(spark: SparkSession, take: merge.Take, *rest: Any, **options: Any) -> int:
        def taken(session: SparkSession) -> PartChanges | None:
            changes = take(session)
            active.append((is_interpreted(session), SparkSession.getActiveSession()))
            return changes

        return apply_part(spark, taken, *rest, **options)

    monkeypatch.setattr(apply, "apply_part", spied)
    monkeypatch.setattr(apply, "apply_few", lambda *_, **__: None)
    change(lake, 3)
    lake.run(parallel_tables=1)
    assert sorted(interpreted for interpreted, _ in active) == [False, True]
    for _, session in active:
        assert session is not None
        assert not is_interpreted(session)
    require_changed(lake, 3)


def test_few_changes_need_no_spark(lake: MadeLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apply, "apply_part", None)
    keyed, keyless = rows(lake, "keyed"), rows(lake, "keyless")
    lake.silver.batch([changed(4).update(KEYED, (14, "c"), (24, "moved")).insert(KEYED, 25, "new")])
    assert lake.run().faults == ()
    others = [row for row in keyed if row[0] not in (4, 14)]
    assert others
    assert rows(lake, "keyed") == [*others, (24, "moved"), (25, "new")]
    assert rows(lake, "keyless") == [*keyless, (1, "a")]
