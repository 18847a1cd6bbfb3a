"""XA transactions on silver made by hand: across batches, held tables and runs that die."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.gold.state import GoldState
from pipeline.lake import Lake
from pipeline.ledger import Ledger
from tests.support.kills import Executioner, Killed, at_commits
from tests.support.made_lake import MadeLake
from tests.support.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

T, U = definition("t"), definition("u")


def xa(n: int, name: str, end: str) -> Tx:
    return Tx(n, xa=(name, end))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> MadeLake:
    return MadeLake(spark, tmp_path / "lake")


def rows(lake: MadeLake, table: str = "t") -> list[tuple[Any, ...]]:
    frame = delta.read(lake.spark, Lake(lake.root).gold("shop", table))
    return sorted(tuple(row) for row in frame.select("id", "v", "__lsn").collect())


def begin(lake: MadeLake) -> None:
    prepared = xa(2, "a", "prepare").update(T, (1, "one"), (1, "late")).insert(T, 2, "two")
    rolled_back = xa(3, "b", "prepare").insert(T, 3, "never").delete(U, 1, "u")
    lake.silver.batch(
        [Tx(1).insert(T, 1, "one").insert(U, 1, "u"), prepared, rolled_back],
        [item("create", 1, T), item("create", 1, U)],
    )


def state(lake: MadeLake) -> GoldState:
    plan = Ledger(lake.spark, Lake(lake.root), SOURCE).last("gold")
    assert plan is not None
    return GoldState.from_body(plan.body)


def test_what_is_prepared_shows_once_it_is_committed_and_not_before(lake: MadeLake) -> None:
    begin(lake)
    lake.run()
    assert rows(lake) == [(1, "one", lsn(1))]
    assert (state(lake).held(), state(lake).xa_from) == ([], lsn(2))
    lake.silver.batch([xa(10, "b", "rollback"), Tx(11).insert(T, 9, "nine")])
    lake.run()
    assert rows(lake) == [(1, "one", lsn(1)), (9, "nine", lsn(11))]
    lake.silver.batch([xa(20, "a", "commit"), Tx(21).update(T, (2, "two"), (2, "after"))])
    lake.run()
    assert rows(lake) == [(1, "late", lsn(20)), (2, "after", lsn(21)), (9, "nine", lsn(11))]
    assert rows(lake, "u") == [(1, "u", lsn(1))]
    assert state(lake).xa_from == lsn(21) + 1
    lake.silver.batch([Tx(30).insert(T, 30, "x")])
    lake.run()
    assert len(rows(lake)) == 4


def test_a_table_that_is_held_in_between_takes_it_in_later(lake: MadeLake) -> None:
    begin(lake)
    lake.run()
    lake.silver.batch(
        [Tx(10).insert(T, 9, "nine"), xa(11, "a", "commit")], faults=[(10, ["shop.t"])]
    )
    lake.run()
    assert rows(lake) == [(1, "one", lsn(1))]
    assert state(lake).xa_from == lsn(2)
    # Neither the name's next transaction nor its end are those of the first.
    lake.silver.batch([xa(20, "a", "prepare").insert(T, 4, "no"), xa(21, "a", "rollback")])
    lake.run()
    lake.silver.resolve()
    lake.run()
    assert rows(lake) == [(1, "late", lsn(11)), (2, "two", lsn(11)), (9, "nine", lsn(10))]


def test_rows_that_were_rolled_back_to_a_savepoint_stay_out(lake: MadeLake) -> None:
    prepared = xa(2, "a", "prepare").insert(T, 1, "kept").insert(T, 2, "no").insert(T, 3, "kept")
    prepared.rolled_back = [(200, 300)]
    lake.silver.batch([Tx(1), prepared], [item("create", 1, T)])
    lake.run()
    lake.silver.batch([xa(10, "a", "commit")])
    lake.run()
    assert rows(lake) == [(1, "kept", lsn(10)), (3, "kept", lsn(10))]


@pytest.mark.long
def test_runs_that_die_at_each_commit_apply_it_once(lake: MadeLake) -> None:
    begin(lake)
    lake.run()
    lake.silver.batch([xa(10, "a", "commit"), xa(11, "b", "commit")])
    deaths = 0
    for commits in range(20):
        with pytest.MonkeyPatch.context() as patched:
            at_commits(patched, Executioner(commits, after=commits % 2 == 0))
            try:
                lake.run()
            except Killed:
                deaths += 1
            else:
                break
    lake.run()
    assert deaths >= 3
    assert rows(lake) == [(1, "late", lsn(10)), (2, "two", lsn(10)), (3, "never", lsn(11))]
    assert rows(lake, "u") == []
