"""XA transactions on handmade silver: across batches, with held tables and killed runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipeline.gold import GoldState
from pipeline.lake import Lake, Ledger
from tests.support.gold.large_tables import apply_by_spark
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

T, U = definition("t"), definition("u")
HELD, PARTLY = definition("held"), definition("partly")


def xa(n: int, name: str, end: str) -> Tx:
    return Tx(n, xa=(name, end))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> MadeLake:
    return MadeLake(spark, tmp_path / "lake")


def rows(lake: MadeLake, table: str = "t") -> list[tuple[Any, ...]]:
    _, found = read_table(Lake(lake.root).gold("shop", table))
    return sorted(tuple(row.values()) for row in found.select(["id", "v", "__lsn"]).to_pylist())


def begin(lake: MadeLake, *others: Tx) -> None:
    """Begin the XA transactions; `others` are more transactions, on unrelated tables."""
    prepared = xa(2, "a", "prepare").update(T, (1, "one"), (1, "late")).insert(T, 2, "two")
    rolled_back = xa(3, "b", "prepare").insert(T, 3, "never").delete(U, 1, "u")
    first = Tx(1).insert(T, 1, "one").insert(U, 1, "u").insert(HELD, 1, "one")
    lake.silver.batch(
        [first, prepared, rolled_back, *others],
        [item("create", 1, table) for table in (T, U, HELD, PARTLY)],
    )


def state(lake: MadeLake) -> GoldState:
    plan = Ledger(lake.spark, Lake(lake.root), SOURCE).last("gold")
    assert plan is not None
    return GoldState.from_body(plan.body)


def test_prepared_changes_appear_only_once_committed(lake: MadeLake) -> None:
    """A table held in between applies it later; changes rolled back to a savepoint within it do
    not appear.
    """
    partly = xa(4, "s", "prepare").insert(PARTLY, 1, "kept").insert(PARTLY, 2, "no")
    partly.insert(PARTLY, 3, "kept").rolled_back = [(200, 300)]
    held = xa(5, "c", "prepare").update(HELD, (1, "one"), (1, "late")).insert(HELD, 2, "two")
    begin(lake, partly, held)
    lake.run()
    assert rows(lake) == rows(lake, "held") == [(1, "one", lsn(1))]
    assert rows(lake, "partly") == []
    assert (state(lake).held(), state(lake).xa_from) == ([], lsn(2))

    lake.silver.batch(
        [
            *(xa(10, "b", "rollback"), Tx(11).insert(T, 9, "nine")),
            *(Tx(12).insert(HELD, 9, "nine"), xa(13, "c", "commit")),
        ],
        faults=[(12, ["shop.held"])],
    )
    lake.run()
    assert rows(lake) == [(1, "one", lsn(1)), (9, "nine", lsn(11))]
    assert rows(lake, "held") == [(1, "one", lsn(1))]
    assert state(lake).xa_from == lsn(2)

    lake.silver.batch(
        [
            *(xa(20, "a", "commit"), Tx(21).update(T, (2, "two"), (2, "after"))),
            # Neither the next transaction of the same name nor its end belong to the first.
            *(xa(22, "c", "prepare").insert(HELD, 4, "no"), xa(23, "c", "rollback")),
            xa(24, "s", "commit"),
        ]
    )
    # Spark applies these as it does those of large batches; without it, they are the same below.
    with pytest.MonkeyPatch.context() as patched:
        apply_by_spark(patched, ("t", "partly"))
        lake.run()
    assert rows(lake) == [(1, "late", lsn(20)), (2, "after", lsn(21)), (9, "nine", lsn(11))]
    assert rows(lake, "u") == [(1, "u", lsn(1))]
    assert rows(lake, "partly") == [(1, "kept", lsn(24)), (3, "kept", lsn(24))]
    assert rows(lake, "held") == [(1, "one", lsn(1))]
    # the held table is before all of these decisions
    assert state(lake).xa_from == lsn(2)

    lake.silver.resolve()
    lake.silver.batch([Tx(30).insert(T, 30, "x")])
    lake.run()
    assert len(rows(lake)) == 4
    assert rows(lake, "held") == [(1, "late", lsn(13)), (2, "two", lsn(13)), (9, "nine", lsn(12))]
    assert state(lake).xa_from == lsn(30) + 1


def test_runs_killed_at_each_commit_apply_xa_transactions_once(lake: MadeLake) -> None:
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
