"""Gold's runs that die between any two commits, repeat, or run concurrently: the same gold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.job import run
from pipeline.lake import Lake
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history.alter.items import ColumnStep
from pipeline.settings import Settings
from tests.support.lake.kills import AfterEachCommit, Killed, at_commits
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import (
    SOURCE,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

T, U = definition("t"), definition("u")
WIDER = definition("t", *T.columns, ColumnDefinition("n", ColumnType.LONG))
AGAIN = definition("u", *WIDER.columns)


def gold_run(spark: SparkSession, lake: Path) -> None:
    settings = Settings(source=SOURCE, lake=str(lake), parallel_tables=1)
    run(spark, settings, QuietProgress())


def rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    _, found = read_table(Lake(str(lake)).gold("shop", table))
    own = found.select([name for name in found.column_names if not name.startswith("__")])
    return sorted((tuple(row.values()) for row in own.to_pylist()), key=repr)


def cuts(lake: Path) -> list[tuple[int, int]]:
    """Return the batch and the LSN of each published snapshot."""
    found = read_table(Lake(str(lake)).cuts)[1].sort_by("batch").to_pylist()
    return [(cut["batch"], cut["lsn"]) for cut in found]


def make(silver: MadeSilver) -> None:
    """Write a batch of rows."""
    silver.batch(
        [Tx(1).insert(T, 1, "a").insert(T, 2, "b").insert(U, 1, "a")],
        [item("create", 1, T), item("create", 1, U)],
    )


def evolve(silver: MadeSilver) -> None:
    """Write a batch that changes both tables between rows."""
    silver.batch(
        [
            Tx(2).update(T, (1, "a"), (5, "moved")).insert(T, 1, "new").delete(T, 2, "b"),
            Tx(3),
            Tx(4)
            .insert(WIDER, 6, "c", 6, version=2)
            .update(WIDER, (5, "moved", 7), (5, "again", 8), version=2),
            Tx(5).insert(AGAIN, 9, "z", 9, version=2),
        ],
        [
            item("add_columns", 3, WIDER, 2, defaults={"n": "7"}),
            item("drop", 5, U, pos=10),
            item("create", 5, AGAIN, 2),
        ],
    )


GOLD_T = [(1, "new", 7), (5, "again", 8), (6, "c", 6)]
GOLD_U = [(9, "z", 9)]
COMMITS = 12
"""The plan; for `t`: MERGE, ADD COLUMNS, UPDATE, the position, MERGE; for `u`: its previous
version, overwrite, the position, append; the snapshot; the record.
"""


def test_runs_killed_after_each_commit_yield_the_same_gold(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    silver = MadeSilver(spark, str(lake))
    make(silver)
    gold_run(spark, lake)
    evolve(silver)
    executioner = AfterEachCommit()
    at_commits(monkeypatch, executioner)
    for _ in range(30):
        try:
            gold_run(spark, lake)
            break
        except Killed:
            continue
    assert len(executioner.commits) == COMMITS
    assert rows(lake, "t") == GOLD_T
    assert rows(lake, "u") == GOLD_U
    assert cuts(lake) == [(1, lsn(1)), (2, lsn(5))]
    history = DeltaTable(Lake(str(lake)).gold("shop", "t")).history()
    assert [row["operation"] for row in reversed(history)] == [
        "CREATE TABLE",
        "WRITE",
        "MERGE",
        "ADD COLUMNS",
        "UPDATE",
        "SET TBLPROPERTIES",
        "MERGE",
    ]


def alter(silver: MadeSilver) -> None:
    """Write a batch in which each table is changed in another way."""
    silver.batch(
        [
            Tx(2).insert(T, 2, "two  ").insert(U, 7, "seven").insert(V, 8, "eight"),
            Tx(3),
            Tx(4)
            .insert(BY_METADATA, "four", 4, None, version=2)
            .delete(BY_METADATA, "two  ", 2, 5, version=2)
            .insert(U, 9, "nine")
            .insert(V, 1, "one"),
            Tx(5),
            Tx(6)
            .update(REWRITTEN, (5, 1), (5, 10), version=3)
            .insert(V, 7, "of u's rows")
            .delete(U, 1, "one"),
        ],
        [
            item("alter", 3, BY_METADATA, 2, columns=FIRST_STEPS),
            item("truncate", 3, U),
            item("alter", 5, REWRITTEN, 3, columns=THEN_STEPS),
            item("renamed", 5, U, other=V),
            item("renamed", 5, V, other=U),
        ],
    )


V = definition("v")
BY_METADATA = definition(
    "t",
    *(replace(T.columns[1], name="w"), replace(T.columns[0], name="i d")),
    ColumnDefinition("n", ColumnType.LONG),
    key=(1,),
)
FIRST_STEPS = (ColumnStep("w", "v"), ColumnStep("i d", "id"), ColumnStep("n", text="5"))
REWRITTEN = definition(
    "t",
    BY_METADATA.columns[2],
    ColumnDefinition("w", ColumnType.LONGLONG, nullable=False),
    key=(1,),
)
THEN_STEPS = (ColumnStep("n", "n"), ColumnStep("w", "i d", "cast"))
"""The name `w` is freed and given to another column."""

ALTER_COMMITS = 30
"""The plan, the snapshot, the record, and all commits to `t`, `u` and `v`."""
ALTERED = {
    "t": [(5, 10), (None, 4)],
    "u": [(8, "eight")],
    "v": [(7, "of u's rows"), (9, "nine")],
}


@pytest.mark.long
def test_schema_changes_killed_after_each_commit_are_made_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = tmp_path / "lake"
    silver = MadeSilver(spark, str(lake))
    silver.batch(
        [Tx(1).insert(T, 1, "one").insert(U, 1, "gone").insert(U, 2, "gone")],
        [item("create", 1, table) for table in (T, U, V)],
    )
    gold_run(spark, lake)
    alter(silver)
    executioner = AfterEachCommit()
    at_commits(monkeypatch, executioner)
    for _ in range(80):
        try:
            gold_run(spark, lake)
            break
        except Killed:
            continue
    assert len(executioner.commits) == ALTER_COMMITS
    assert {name: rows(lake, name) for name in ALTERED} == ALTERED
    assert cuts(lake) == [(1, lsn(1)), (2, lsn(6))]
    schema, _ = read_table(Lake(str(lake)).gold("shop", "t"))
    assert schema.names[:2] == ["n", "w"]


def test_two_concurrent_runs_yield_the_same_gold(spark: SparkSession, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    silver = MadeSilver(spark, str(lake))
    for write in (make, evolve):
        write(silver)
        barrier = Barrier(2)

        def one_of_two(_number: int, gate: Barrier = barrier) -> None:
            gate.wait()
            gold_run(spark, lake)

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(one_of_two, range(2)))
    assert rows(lake, "t") == GOLD_T
    assert rows(lake, "u") == GOLD_U
    assert cuts(lake) == [(1, lsn(1)), (2, lsn(5))]
