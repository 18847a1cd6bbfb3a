"""Gold applies a seed's rows and silver's later changes once, wherever its runs die."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipeline.gold import GoldState
from pipeline.gold.job import run
from pipeline.gold.table.state import TableState
from pipeline.lake import Lake, Ledger
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.schema_history.alter.items import SeededFrom, TimelineItem
from pipeline.schema_history.timeline.seed_items import AFTER_ALL_EVENTS
from pipeline.seed.folder import SeedFolder
from pipeline.settings import Settings
from pipeline.silver.plan.stored_seeds import Seed, put_seed
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

T, KEYLESS, NEW = definition("t"), definition("keyless", key=()), definition("new")
SEEDED = {table.table: table for table in (T, KEYLESS, NEW)}
Row = tuple[int, str]


def gold_run(spark: SparkSession, lake: Path) -> None:
    settings = Settings(source=SOURCE, lake=str(lake), parallel_tables=1)
    run(spark, settings, QuietProgress())


def state(spark: SparkSession, lake: Path, table: str) -> TableState:
    return GoldState.of(Ledger(spark, Lake(str(lake)), SOURCE)).tables[TableName("shop", table)]


def rows(lake: Path, table: str) -> list[tuple[Any, ...]]:
    _, found = read_table(Lake(str(lake)).gold("shop", table))
    return sorted(tuple(row.values()) for row in found.select(["id", "v"]).to_pylist())


def seed(
    lake: Path, table: str, since: int, at: int, found: Sequence[Row], *, exact: bool = False
) -> TimelineItem:
    """Return a seed in two chunks, read from after transaction `since` to after transaction
    `at`.
    """
    name = f"shop~{table}~{at}-{since}"
    folder = SeedFolder(Lake(str(lake)), SOURCE, name)
    schema = pa.schema([pa.field("c0", pa.int32()), pa.field("c1", pa.string())])
    for number, part in enumerate((found[:2], found[2:])):
        columns = [[row[0] for row in part], [row[1] for row in part]]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, schema, strict=True)]
        folder.write(number, schema, [pa.RecordBatch.from_arrays(arrays, schema=schema)])
    place = ("binlog.000001", 4)
    parts = folder.parts(TableName("shop", table), 2)
    finished = Seed(name, "shop", table, "", place, place, exact, len(found), parts=parts)
    put_seed(Lake(str(lake)), SOURCE, finished)
    bare = item("seeded", at, SEEDED[table])
    return replace(bare, pos=AFTER_ALL_EVENTS + since, seed=SeededFrom(name, lsn(since), exact))


def make(silver: MadeSilver, lake: Path) -> None:
    """Write tables whose beginning is not in the log, with gold up to date.

    Changes after their seeds follow, some of which the seeds' rows already contain.
    """
    silver.batch(
        [Tx(1).insert(T, 2, "b").update(T, (3, "x"), (3, "c")).insert(KEYLESS, 1, "a")],
        [item("observed", 1, T), item("observed", 1, KEYLESS)],
    )
    gold_run(silver.spark, lake)
    assert not state(silver.spark, lake, "t").complete
    silver.batch(
        [
            Tx(2).insert(T, 4, "d").delete(T, 1, "a").update(T, (3, "c"), (3, "C")),
            Tx(3).update(T, (5, "e"), (6, "e")).insert(KEYLESS, 2, "b").delete(KEYLESS, 1, "a"),
            Tx(4).insert(T, 7, "g").insert(KEYLESS, 3, "c"),
            Tx(5).update(T, (7, "g"), (7, "G")),
        ],
        [
            # read before and after the second and third, row by row
            seed(lake, "t", 1, 4, [(1, "a"), (2, "b"), (3, "C"), (5, "e"), (6, "e")]),
            seed(lake, "keyless", 2, 4, [(1, "a"), (1, "a"), (2, "b")], exact=True),
        ],
    )


GOLD_T = [(2, "b"), (3, "C"), (4, "d"), (6, "e"), (7, "G")]
GOLD_KEYLESS = [(1, "a"), (2, "b"), (2, "b"), (3, "c")]


def test_runs_killed_after_each_commit_apply_seeds_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silver = MadeSilver(spark, str(tmp_path))
    make(silver, tmp_path)
    executioner = AfterEachCommit()
    at_commits(monkeypatch, executioner)
    for _ in range(40):
        try:
            gold_run(spark, tmp_path)
            break
        except Killed:
            continue
    assert rows(tmp_path, "t") == GOLD_T
    assert rows(tmp_path, "keyless") == GOLD_KEYLESS
    for table in ("t", "keyless"):
        assert (state(spark, tmp_path, table).complete, state(spark, tmp_path, table).held) == (
            True,
            None,
        )
    cuts = read_table(Lake(str(tmp_path)).cuts)[1].sort_by("batch")
    # a batch ends at the seeds
    assert cuts["lsn"].to_pylist() == [lsn(1), lsn(4), lsn(5)]
    operations = DeltaTable(Lake(str(tmp_path)).gold("shop", "t")).history()
    assert [commit["operation"] for commit in reversed(operations)][2:] == [
        "SET TBLPROPERTIES",
        "WRITE",
        "MERGE",
        "SET TBLPROPERTIES",
        "MERGE",
    ]


def test_a_seed_that_cannot_catch_up_is_refused_until_the_next_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Partial images hold a table that was read under concurrent writes; it keeps its earlier
    rows.
    """
    silver = MadeSilver(spark, str(tmp_path))
    silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    gold_run(spark, tmp_path)
    torn = Tx(3).update(NEW, (1, None), (1, "b")).partly(before=["v"])
    torn.update(T, (1, None), (1, "b")).partly(before=["v"])
    silver.batch(
        [Tx(2).insert(NEW, 1, "a"), torn],
        [
            item("observed", 2, NEW),
            seed(tmp_path, "new", 2, 3, [(1, "a")]),
            seed(tmp_path, "t", 2, 3, [(1, "other"), (2, "torn")]),
        ],
    )
    gold_run(spark, tmp_path)
    for table, complete in (("new", False), ("t", True)):
        found = state(spark, tmp_path, table)
        assert (found.complete, found.to_lsn) == (complete, lsn(3) - 1)
        assert found.held is not None
        assert "--consistent" in found.held
    assert rows(tmp_path, "t") == [(1, "a")]
    # others, read at one point in time, work: right after gold's position
    silver.batch(
        [Tx(4)],
        [
            seed(tmp_path, "new", 3, 4, [(1, "b"), (9, "z")], exact=True),
            seed(tmp_path, "t", 3, 4, [(1, "b")], exact=True),
        ],
    )
    gold_run(spark, tmp_path)
    for table in ("new", "t"):
        found = state(spark, tmp_path, table)
        assert (found.complete, found.held) == (True, None)
    assert rows(tmp_path, "new") == [(1, "b"), (9, "z")]
    assert rows(tmp_path, "t") == [(1, "b")]
    silver.batch([], [seed(tmp_path, "t", 4, 4, [(1, "B")], exact=True)], last=4)
    gold_run(spark, tmp_path)
    assert rows(tmp_path, "t") == [(1, "B")]
    assert state(spark, tmp_path, "t").complete
