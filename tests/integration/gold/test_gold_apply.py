"""Gold's job on handmade silver: rows, schema changes, held tables, published snapshots.

One lake has many tables that go through the same three batches; each test checks one of them. Lakes
are slow to create, so only tests that concern all tables have their own.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold import next_batch
from pipeline.lake import Lake
from pipeline.observe import LayerReport
from pipeline.schema_history.alter.items import TimelineItem
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import (
    SERVER,
    START,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

Rows = list[tuple[Any, ...]]

RANDOM, PLAIN, QUIET = definition("random"), definition("plain"), definition("quiet")
AGAIN, DROPPED, PREPARED = definition("again"), definition("dropped"), definition("prepared")
FAULTY, ROLLED_BACK, LATE = definition("faulty"), definition("rolled_back"), definition("late")
KEYLESS = definition("keyless", key=())
AGAIN_2 = definition("again", *AGAIN.columns[1:], *AGAIN.columns[:1], key=(1,))
GROWS = definition("grows")
GROWN = definition(
    "grows",
    ColumnDefinition("first", ColumnType.DATE),
    *GROWS.columns[:1],
    ColumnDefinition("b.c", ColumnType.STRING, length=4, collation=63),
    *GROWS.columns[1:],
    ColumnDefinition("n", ColumnType.NEWDECIMAL, precision=20, scale=2),
    key=(1,),
)
GROWN_DEFAULTS = {"first": "2024-02-29", "b.c": "61620000", "n": None}
ODD = definition(
    "../t 1.%",
    ColumnDefinition("i`d, (x)", ColumnType.LONG, nullable=False),
    ColumnDefinition("a.b", ColumnType.LONG),
    schema="Ünï code",
)
OWN = ("__lsn", "__committed_at")
BATCH = 100
"""Transactions of the n-th batch are numbered from n * BATCH."""


class GoldLake(MadeLake):
    """A lake with handmade silver, and the contents of its gold."""

    def rows(self, table: TableDefinition, version: int | None = None) -> Rows:
        """Return the source's columns of a gold table, in order."""
        _, found = read_table(Lake(self.root).gold(table.schema, table.table), version)
        rows = found.drop_columns([n for n in OWN if n in found.column_names]).to_pylist()
        return sorted((tuple(row.values()) for row in rows), key=repr)

    def cuts(self) -> list[Any]:
        """Return the published snapshots, each with its tables by name."""
        cuts = read_table(Lake(self.root).cuts)[1].sort_by("batch").to_pylist()
        return [{**cut, "tables": {t["table"]: t for t in cut["tables"]}} for cut in cuts]


class Story:
    """The contents of a lake's tables after each of three batches."""

    def __init__(self, lake: GoldLake) -> None:
        self.lake = lake
        self.expected: list[Rows] = []
        self.reports: list[LayerReport] = []
        chance, table, made = random.Random(7), {}, []
        for number, batch in enumerate((first, second, third), 1):
            for n in range(5, 30):
                made.append(_random(chance, Tx(number * BATCH + n), table))
            transactions, items, faults = batch(number * BATCH)
            lake.silver.batch([*transactions, *made], items, faults)
            made = []
            self.expected.append(sorted(table.items(), key=repr))
            self.reports.append(lake.run())
        lake.silver.resolve()
        self.reports += [lake.run(), lake.run()]
        self.cuts = lake.cuts()

    def rows(self, table: TableDefinition, batch: int = 4) -> Rows:
        """Return a table in the snapshot of a batch."""
        entry = self.cuts[batch - 1]["tables"][table.table]
        assert entry["path"] == Lake(self.lake.root).gold(table.schema, table.table)
        return self.lake.rows(table, entry["delta_version"])


FOREIGN = pa.table({"id": range(3)})
Batch = tuple[list[Tx], list[TimelineItem], list[tuple[int, list[str]]]]


def first(n: int) -> Batch:
    created = (RANDOM, PLAIN, QUIET, AGAIN, DROPPED, PREPARED, FAULTY, ROLLED_BACK, KEYLESS, GROWS)
    tx = Tx(n + 1)
    for table in created:
        if table not in (RANDOM, ROLLED_BACK):
            tx.insert(table, 1, "a")
    tx.insert(ODD, 1, 2)
    partly = Tx(n + 2)
    partly.insert(ROLLED_BACK, 1, "kept").insert(ROLLED_BACK, 2, "no").insert(ROLLED_BACK, 3, "yes")
    partly.rolled_back = [(200, 300)]
    after = Tx(n + 4).insert(FAULTY, 4, "after the fault").update(ODD, (1, 2), (1, 3))
    items = [item("create", n + 1, table) for table in (*created, ODD)]
    return [tx, partly, after], items, [(n + 3, ["shop.faulty"])]


def second(n: int) -> Batch:
    prepared = Tx(n + 2).insert(PREPARED, 2, "b")
    prepared.committed = False
    made = [
        Tx(n + 1).insert(PLAIN, 2, "b").insert(DROPPED, 2, "b").insert(AGAIN, 2, "b"),
        prepared,
        Tx(n + 3).insert(GROWN, None, 3, b"xy\0\0", "c", None, version=2),
        Tx(n + 4)
        .insert(AGAIN_2, "new", 9, version=2)
        .update(ODD, (1, 3), (2, 4))
        .insert(ODD, 1, 0),
        Tx(n + 30)
        .insert(LATE, 1, "it appears later")
        .insert(KEYLESS, 1, "a")
        .insert(KEYLESS, 1, "a")
        .insert(KEYLESS, 2, "b"),
    ]
    items = [
        item("drop", n + 2, DROPPED),
        item("drop", n + 2, AGAIN),
        item("add_columns", n + 3, GROWN, 2, defaults=GROWN_DEFAULTS),
        item("create", n + 4, AGAIN_2, 2),
        item("observed", n + 30, LATE),
    ]
    return made, items, []


def third(n: int) -> Batch:
    gone = Tx(n + 1).delete(PLAIN, 1, "a").delete(KEYLESS, 1, "a")
    return [gone, Tx(n + 2).insert(PREPARED, 3, "c")], [], []


def _random(chance: random.Random, tx: Tx, table: dict[int, str | None]) -> Tx:
    """Return up to four random changes of the random table."""
    for _ in range(chance.randrange(1, 5)):
        key, value = chance.randrange(40), chance.choice(["x", "", None, str(chance.random())])
        if key not in table:
            tx.insert(RANDOM, key, value)
            table[key] = value
            continue
        old = table.pop(key)
        if chance.random() < 0.3:
            tx.delete(RANDOM, key, old)
            continue
        moved = chance.choice([key, *(k for k in range(60) if k not in table)])
        tx.update(RANDOM, (key, old), (moved, value))
        table[moved] = value
    return tx


@pytest.fixture(scope="module")
def story(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Story:
    return Story(GoldLake(spark, tmp_path_factory.mktemp("story") / "lake"))


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> GoldLake:
    return GoldLake(spark, tmp_path / "lake")


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_random_workload_equals_a_dictionary(story: Story, batch: int) -> None:
    assert story.rows(RANDOM, batch) == story.expected[batch - 1]


def test_every_batch_is_applied_once_and_then_nothing_is_left(story: Story) -> None:
    assert [report.batches for report in story.reports] == [(1,), (2,), (3,), (4,), ()]
    assert story.reports[1].counts["shop.plain"] == 1
    assert story.reports[-1].counts == {}


def test_gold_has_the_sources_columns_in_order_and_its_own(story: Story) -> None:
    schema, found = read_table(Lake(story.lake.root).gold("shop", "quiet"))
    assert [(f.name, f.dataType.simpleString()) for f in schema] == [
        ("id", "int"),
        ("v", "string"),
        ("__lsn", "bigint"),
        ("__committed_at", "timestamp"),
    ]
    committed = START + timedelta(seconds=BATCH + 1)
    assert [*found.select(OWN).to_pylist()[0].values()] == [lsn(BATCH + 1), committed]


def test_added_columns_have_their_default_and_position(story: Story) -> None:
    _, found = read_table(Lake(story.lake.root).gold("shop", "grows"))
    assert found.column_names == ["first", "id", "b.c", "v", "n", *OWN]
    assert story.lake.rows(GROWN) == [
        (None, 3, b"xy\0\0", "c", None),
        (date(2024, 2, 29), 1, b"ab\0\0", "a", None),
    ]


def test_a_table_that_is_created_again_starts_empty_with_its_new_columns(story: Story) -> None:
    assert story.rows(AGAIN, 1) == [(1, "a")]
    assert story.rows(AGAIN_2, 2) == [("new", 9)]
    ids = {cut["tables"]["again"]["delta_id"] for cut in story.cuts}
    assert len(ids) == 1


def test_a_dropped_table_keeps_its_rows(story: Story) -> None:
    assert story.rows(DROPPED) == [(1, "a"), (2, "b")]


def test_a_table_may_appear_later(story: Story) -> None:
    assert "late" not in story.cuts[0]["tables"]
    assert story.rows(LATE, 2) == [(1, "it appears later")]
    assert not story.cuts[1]["tables"]["late"]["complete"]


def test_rolled_back_changes_are_not_applied(story: Story) -> None:
    assert story.rows(ROLLED_BACK) == [(1, "kept"), (3, "yes")]


def test_names_may_contain_any_character(story: Story) -> None:
    assert Path(Lake(story.lake.root).gold(ODD.schema, ODD.table)).is_dir()
    assert story.rows(ODD) == [(1, 0), (2, 4)]


def test_a_fault_holds_its_table_until_it_is_resolved(story: Story) -> None:
    assert story.rows(FAULTY, 3) == [(1, "a")]
    assert story.rows(FAULTY, 4) == [(1, "a"), (4, "after the fault")]
    assert [cut["tables"]["faulty"]["held"] for cut in story.cuts] == [True, True, True, False]
    for report in story.reports[:3]:
        (sentence,) = [line for line in report.faults if "shop.faulty is held" in line]
        assert "it is damaged" in sentence


def test_a_prepared_transaction_keeps_its_tables_held(story: Story) -> None:
    assert story.rows(PREPARED) == [(1, "a")]
    assert [cut["tables"]["prepared"]["held"] for cut in story.cuts] == [False, True, True, True]
    assert any("whether the transaction was committed" in x for x in story.reports[-1].faults)


def test_a_table_without_a_key_has_each_row_as_often_as_the_source(story: Story) -> None:
    assert story.rows(KEYLESS, 1) == [(1, "a")]
    assert story.rows(KEYLESS) == [(1, "a"), (1, "a"), (2, "b")]


def test_a_published_snapshot_records_the_applied_position(story: Story) -> None:
    last = [BATCH + 29, 2 * BATCH + 30, 3 * BATCH + 29, 3 * BATCH + 29]
    assert [cut["lsn"] for cut in story.cuts] == [lsn(n) for n in last]
    assert story.cuts[0]["gtid_set"] == f"{SERVER}:101-102:104-129"
    spans = "101-102:104-129:201-230:301-302:305-329"
    assert story.cuts[3]["gtid_set"] == f"{SERVER}:{spans}"
    times = [START + timedelta(seconds=n) for n in last]
    assert [cut["committed_at"] for cut in story.cuts] == times


def test_an_unchanged_table_keeps_its_version(story: Story) -> None:
    versions = {cut["tables"]["quiet"]["delta_version"] for cut in story.cuts}
    assert len(versions) == 1
    path = Lake(story.lake.root).gold("shop", "quiet")
    assert {commit["version"] for commit in DeltaTable(path).history()} == {0, *versions}


def test_settings_for_faults_and_dropped_tables(lake: GoldLake) -> None:
    """A key that returns after a missing DELETE is one row."""
    conf = {"on_fault": "mark", "on_drop": "drop"}
    tables = (PLAIN, AGAIN, DROPPED)
    lake.silver.batch(
        [
            Tx(1).insert(PLAIN, 1, "a").insert(AGAIN, 1, "a").insert(DROPPED, 1, "a"),
            Tx(3).insert(PLAIN, 3, "c").insert(AGAIN, 1, "b"),
        ],
        [item("create", 1, table) for table in tables],
        [(2, ["shop.plain", "shop.again"])],
    )
    assert lake.run(**conf).faults == ()
    assert [lake.rows(table) for table in tables] == [[(1, "a"), (3, "c")], [(1, "b")], [(1, "a")]]
    (cut,) = lake.cuts()
    assert cut["lsn"] == lsn(3)
    for name, complete in {"plain": False, "again": False, "dropped": True}.items():
        assert (cut["tables"][name]["complete"], cut["tables"][name]["held"]) == (complete, False)
    lake.silver.batch([Tx(4).insert(DROPPED, 2, "b"), Tx(5)], [item("drop", 5, DROPPED)])
    lake.run(**conf)
    assert lake.rows(DROPPED) == []


def test_a_foreign_table_at_a_gold_path_stops_no_other(lake: GoldLake) -> None:
    foreign = Lake(lake.root).gold("shop", "plain")
    write_deltalake(foreign, FOREIGN)
    lake.silver.batch(
        [Tx(1).insert(PLAIN, 1, "a").insert(QUIET, 1, "a")],
        [item("create", 1, PLAIN), item("create", 1, QUIET)],
    )
    (sentence,) = lake.run().faults
    assert "shop.plain is held" in sentence
    assert f"{foreign} already exists" in sentence
    (cut,) = lake.cuts()
    assert [cut["tables"][name]["held"] for name in ("plain", "quiet")] == [True, False]
    assert cut["tables"]["plain"]["delta_id"] is None
    assert lake.rows(QUIET) == [(1, "a")]
    assert lake.rows(PLAIN) == [(0,), (1,), (2,)]
    Path(foreign).rename(f"{foreign}.away")
    assert lake.run().faults == ()
    assert lake.rows(PLAIN) == [(1, "a")]


def test_a_foreign_table_created_after_the_plan_lets_the_others_finish(
    lake: GoldLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_deltalake(Lake(lake.root).gold("shop", "plain"), FOREIGN)
    monkeypatch.setattr(next_batch, "taken", lambda *_, **__: None)
    lake.silver.batch(
        [Tx(1).insert(PLAIN, 1, "a").insert(QUIET, 1, "a")],
        [item("create", 1, PLAIN), item("create", 1, QUIET)],
    )
    (fault,) = lake.run(parallel_tables=1).faults
    assert fault.startswith("shop.plain is held: ")
    assert "not a table of source made" in fault
    assert lake.rows(QUIET) == [(1, "a")]


def test_a_fault_of_unknown_tables_holds_all(lake: GoldLake) -> None:
    lake.silver.batch(
        [Tx(1).insert(PLAIN, 1, "a"), Tx(3).insert(PLAIN, 3, "c")],
        [item("create", 1, PLAIN)],
        [(2, None)],
    )
    assert "Every table is held" in lake.run().faults[0]
    assert lake.rows(PLAIN) == [(1, "a")]
    (cut,) = lake.cuts()
    assert cut["lsn"] == lsn(2) - 1
    assert (cut["tables"]["plain"]["complete"], cut["tables"]["plain"]["held"]) == (True, True)
