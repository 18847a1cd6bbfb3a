"""Gold's job on silver made by hand: rows, schema changes, holds, cuts."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.definition import ColumnDefinition
from pipeline import delta
from pipeline.gold.job import run
from pipeline.lake import Lake
from pipeline.progress import QuietProgress
from pipeline.report import LayerReport
from pipeline.settings import Settings
from tests.support.made_silver import (
    SERVER,
    SOURCE,
    START,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

T, U = definition("t"), definition("u")
ADDED = definition(
    "t",
    ColumnDefinition("first", ColumnType.DATE),
    *T.columns[:1],
    ColumnDefinition("b.c", ColumnType.STRING, length=4, collation=63),
    *T.columns[1:],
    ColumnDefinition("n", ColumnType.NEWDECIMAL, precision=20, scale=2),
    key=(1,),
)


class GoldLake:
    """A lake with silver made by hand, and its gold."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.root = str(folder)
        self.silver = MadeSilver(spark, self.root)

    def run(self, **options: Any) -> LayerReport:
        settings = Settings(source=SOURCE, lake=self.root, parallel_tables=2, **options)
        return run(self.spark, settings, QuietProgress())

    def rows(self, table: str = "t", version: int | None = None) -> list[tuple[Any, ...]]:
        """The source's columns of a gold table, in order of the first."""
        frame = delta.read(self.spark, Lake(self.root).gold("shop", table), version=version)
        names = [name for name in frame.columns if name not in ("__lsn", "__committed_at")]
        return sorted(tuple(r) for r in frame.select([f"`{name}`" for name in names]).collect())

    def cut(self) -> Any:
        cuts = delta.read(self.spark, Lake(self.root).cuts)
        micros = "unix_micros(committed_at) AS committed_us"
        return cuts.selectExpr("*", micros).orderBy("batch", ascending=False).first()

    def states(self) -> dict[str, Any]:
        """The last cut's tables by name."""
        return {entry["table"]: entry for entry in self.cut()["tables"]}


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> GoldLake:
    return GoldLake(spark, tmp_path / "lake")


def test_a_random_workload_gives_what_a_dictionary_gives(lake: GoldLake) -> None:
    chance = random.Random(7)
    table: dict[int, str | None] = {}
    n = 1
    lake.silver.batch([Tx(1)], [item("create", 1, T)], cut=1)
    for _batch in range(4):
        made = []
        for _ in range(30):
            n += 1
            tx = Tx(n)
            for _ in range(chance.randrange(1, 5)):
                _change(chance, tx, table)
            made.append(tx)
        lake.silver.batch(made)
        assert lake.run().batches
        assert lake.rows() == sorted(table.items())
    assert lake.run().batches == ()


def _change(chance: random.Random, tx: Tx, table: dict[int, str | None]) -> None:
    key, value = chance.randrange(40), chance.choice(["x", "", None, str(chance.random())])
    if key not in table:
        tx.insert(T, key, value)
        table[key] = value
        return
    old = table.pop(key)
    if chance.random() < 0.3:
        tx.delete(T, key, old)
        return
    moved = chance.choice([key, *(k for k in range(60) if k not in table)])
    tx.update(T, (key, old), (moved, value))
    table[moved] = value


def test_gold_has_the_sources_columns_in_order_and_its_own(lake: GoldLake) -> None:
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    lake.run()
    frame = delta.read(lake.spark, Lake(lake.root).gold("shop", "t"))
    assert [(f.name, f.dataType.simpleString()) for f in frame.schema] == [
        ("id", "int"),
        ("v", "string"),
        ("__lsn", "bigint"),
        ("__committed_at", "timestamp"),
    ]
    row = frame.selectExpr("__lsn", "unix_seconds(__committed_at)").first()
    assert row is not None
    assert tuple(row) == (lsn(1), int((START + timedelta(seconds=1)).timestamp()))


def test_columns_that_are_added_hold_their_default_and_take_their_place(lake: GoldLake) -> None:
    defaults = {"first": "2024-02-29", "b.c": "61620000", "n": None}
    lake.silver.batch(
        [
            Tx(1).insert(T, 1, "a").insert(T, 2, "b"),
            Tx(2),
            Tx(3).insert(ADDED, None, 3, b"xy\0\0", "c", None, version=2),
        ],
        [item("create", 1, T), item("add_columns", 2, ADDED, 2, defaults=defaults)],
    )
    lake.run()
    frame = delta.read(lake.spark, Lake(lake.root).gold("shop", "t"))
    names = ["first", "id", "b.c", "v", "n", "__lsn", "__committed_at"]
    assert frame.columns == names
    shown = frame.selectExpr("id", "string(first)", "hex(`b.c`)", "v", "n").orderBy("id").collect()
    assert [tuple(row) for row in shown] == [
        (1, "2024-02-29", "61620000", "a", None),
        (2, "2024-02-29", "61620000", "b", None),
        (3, None, "78790000", "c", None),
    ]


def test_a_table_that_is_created_again_starts_empty_with_its_new_columns(lake: GoldLake) -> None:
    again = definition("t", *U.columns[1:], *U.columns[:1], key=(1,))
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    lake.run()
    first = lake.states()["t"]
    lake.silver.batch(
        [Tx(2).insert(T, 2, "b"), Tx(3), Tx(4).insert(again, "new", 9, version=2)],
        [item("drop", 3, T), item("create", 4, again, 2)],
    )
    lake.run()
    assert lake.rows() == [("new", 9)]
    assert lake.rows(version=first["delta_version"]) == [(1, "a")]
    assert lake.states()["t"]["delta_id"] == first["delta_id"]


@pytest.mark.parametrize(("on_drop", "left"), [("keep", [(1, "a"), (2, "b")]), ("drop", [])])
def test_a_dropped_table_keeps_its_rows_or_not(
    lake: GoldLake, on_drop: str, left: list[Any]
) -> None:
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    lake.run(on_drop=on_drop)
    lake.silver.batch([Tx(2).insert(T, 2, "b"), Tx(3)], [item("drop", 3, T)])
    lake.run(on_drop=on_drop)
    assert lake.rows() == left


def test_what_was_rolled_back_is_not_applied(lake: GoldLake) -> None:
    tx = Tx(1).insert(T, 1, "kept").insert(T, 2, "gone").insert(T, 3, "kept")
    tx.rolled_back = [(200, 300)]
    lake.silver.batch([tx], [item("create", 1, T)])
    lake.run()
    assert lake.rows() == [(1, "kept"), (3, "kept")]


def test_a_fault_holds_its_table_and_the_rest_goes_on(lake: GoldLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a").insert(U, 1, "a"), Tx(3).insert(T, 3, "c").insert(U, 3, "c")],
        [item("create", 1, T), item("create", 1, U)],
        [(2, ["shop.t"])],
    )
    report = lake.run()
    assert lake.rows("t") == [(1, "a")]
    assert lake.rows("u") == [(1, "a"), (3, "c")]
    assert [lake.states()[t]["held"] for t in ("t", "u")] == [True, False]
    (sentence,) = report.faults
    assert "shop.t is held" in sentence
    assert "it is damaged" in sentence
    again = lake.run()
    assert again.faults == report.faults
    assert again.batches == ()
    lake.silver.resolve()
    assert lake.run().faults == ()
    assert lake.rows("t") == [(1, "a"), (3, "c")]
    assert not lake.states()["t"]["held"]


def test_a_prepared_transaction_holds_its_tables_until_it_is_decided(lake: GoldLake) -> None:
    prepared = Tx(2).insert(T, 2, "b")
    prepared.committed = False
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a"), prepared, Tx(3).insert(U, 3, "c")],
        [item("create", 1, T), item("create", 1, U)],
    )
    assert "XA" in lake.run().faults[0]
    lake.silver.batch([Tx(4).insert(T, 4, "d").insert(U, 4, "d")])
    assert "XA" in lake.run().faults[0]
    assert lake.rows("t") == [(1, "a")]
    assert lake.rows("u") == [(3, "c"), (4, "d")]


def test_a_fault_of_unknown_tables_holds_the_cut_for_all(lake: GoldLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a"), Tx(3).insert(T, 3, "c")], [item("create", 1, T)], [(2, None)]
    )
    assert "Every table is held" in lake.run().faults[0]
    assert lake.rows() == [(1, "a")]
    assert lake.cut()["lsn"] == lsn(2) - 1


def test_a_marked_fault_is_gone_past_and_the_table_is_no_longer_claimed(lake: GoldLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a"), Tx(3).insert(T, 3, "c")],
        [item("create", 1, T)],
        [(2, ["shop.t"])],
    )
    assert lake.run(on_fault="mark").faults == ()
    assert lake.rows() == [(1, "a"), (3, "c")]
    assert not lake.states()["t"]["complete"]


def test_a_cut_tells_where_every_table_was(lake: GoldLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(T, 1, "a").insert(U, 1, "u")], [item("create", 1, T), item("create", 1, U)]
    )
    lake.run()
    first = lake.cut()
    lake.silver.batch([Tx(2).insert(T, 2, "b"), Tx(4).insert(T, 4, "d")])
    lake.run()
    second = lake.cut()
    assert (first["lsn"], second["lsn"]) == (lsn(1), lsn(4))
    assert (first["gtid_set"], second["gtid_set"]) == (f"{SERVER}:1", f"{SERVER}:1-2:4")
    assert second["committed_us"] == int((START + timedelta(seconds=4)).timestamp()) * 1_000_000
    for cut, rows in ((first, [(1, "a")]), (second, [(1, "a"), (2, "b"), (4, "d")])):
        entry = next(e for e in cut["tables"] if e["table"] == "t")
        assert lake.rows("t", entry["delta_version"]) == rows
        assert entry["path"] == Lake(lake.root).gold("shop", "t")
    versions = [
        next(e["delta_version"] for e in cut["tables"] if e["table"] == "u")
        for cut in (first, second)
    ]
    assert versions[0] == versions[1]


def test_a_cut_moves_on_where_no_table_changed(lake: GoldLake) -> None:
    lake.silver.batch([Tx(1).insert(T, 1, "a")], [item("create", 1, T)])
    lake.run()
    version = lake.states()["t"]["delta_version"]
    lake.silver.batch([Tx(2)])
    assert lake.run().counts == {}
    assert lake.cut()["lsn"] == lsn(2)
    assert lake.states()["t"]["delta_version"] == version


def test_names_of_any_characters(lake: GoldLake) -> None:
    odd = definition(
        "../t 1.%",
        ColumnDefinition("i`d, (x)", ColumnType.LONG, nullable=False),
        ColumnDefinition("a.b", ColumnType.LONG),
        schema="Ünï code",
    )
    lake.silver.batch(
        [Tx(1).insert(odd, 1, 2), Tx(2).update(odd, (1, 2), (1, 3))], [item("create", 1, odd)]
    )
    lake.run()
    lake.silver.batch([Tx(3).update(odd, (1, 3), (2, 4)).insert(odd, 1, 0)])
    lake.run()
    path = Path(Lake(lake.root).gold(odd.schema, odd.table))
    assert path.is_dir()
    frame = delta.read(lake.spark, str(path)).select("`i``d, (x)`", "`a.b`")
    assert sorted(tuple(row) for row in frame.collect()) == [(1, 0), (2, 4)]
