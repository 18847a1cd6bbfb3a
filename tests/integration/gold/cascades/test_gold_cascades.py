"""Effects of foreign keys that silver does not contain, on handmade silver."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.cascades import rows as cascade_rows
from pipeline.lake import Lake, delta
from pipeline.schema_history.alter.items import TimelineItem
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.model import TableModel
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import AfterEachCommit, Killed, at_commits
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item

NUMBER = ColumnDefinition("id", ColumnType.LONG, nullable=False)
UP = ColumnDefinition("up", ColumnType.LONG)
TEXT = ColumnDefinition("id", ColumnType.VARCHAR, length=80, length_bytes=1, collation=255)


def child_of(parent: TableDefinition, name: str, up: ColumnDefinition = UP) -> TableDefinition:
    return definition(name, NUMBER, ColumnDefinition(**{**_fields(up), "name": "up"}))


def _fields(column: ColumnDefinition) -> dict[str, Any]:
    return {name: getattr(column, name) for name in column.__slots__}


def refers(parent: TableDefinition, on_delete: str = "CASCADE") -> TableModel:
    key = ForeignKey(("up",), ("shop", parent.table), ("id",), on_delete, "CASCADE", "f")
    return TableModel(foreign_keys=(key,))


PARENT = definition("parent", NUMBER)
CHILD, GRANDCHILD = child_of(PARENT, "child"), child_of(PARENT, "grandchild")
TEXTS = definition("texts", TEXT)
OF_TEXTS = child_of(TEXTS, "of_texts", TEXT)
FAULTY = definition("faulty", NUMBER)
OF_FAULTY, BELOW_FAULTY = child_of(FAULTY, "of_faulty"), child_of(FAULTY, "below_faulty")
LEFT_OUT = definition("left_out", NUMBER)
OF_LEFT_OUT = child_of(LEFT_OUT, "of_left_out")
ALL = (PARENT, CHILD, GRANDCHILD, TEXTS, OF_TEXTS, FAULTY, OF_FAULTY, BELOW_FAULTY, OF_LEFT_OUT)
MODELS = {
    CHILD: refers(PARENT),
    GRANDCHILD: refers(CHILD, "SET NULL"),
    OF_TEXTS: refers(TEXTS),
    OF_FAULTY: refers(FAULTY),
    BELOW_FAULTY: refers(OF_FAULTY),
    OF_LEFT_OUT: refers(LEFT_OUT),
}


def created(*tables: TableDefinition) -> list[TimelineItem]:
    """Tables created in the first transaction, with all foreign keys in their DDL."""
    return [item("create", 1, one, model=MODELS.get(one, TableModel())) for one in tables]


def fill(tx: Tx, *tables: TableDefinition) -> Tx:
    """Insert parents 1 to 6, each with a row of `CHILD` that refers to it, and so on."""
    for number in range(1, 7):
        for table in tables:
            tx.insert(table, *((number,) if table in (PARENT, FAULTY) else (number, number)))
    return tx


def rows(lake: MadeLake, table: TableDefinition) -> list[tuple[Any, ...]]:
    frame = delta.read(lake.spark, Lake(lake.root).gold("shop", table.table))
    names = [column.name for column in table.columns]
    return sorted((tuple(row) for row in frame.select(names).collect()), key=repr)


@pytest.mark.long
def test_children_change_and_uncertain_ones_are_held(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = MadeLake(spark, tmp_path)
    first = fill(Tx(1), PARENT, CHILD, GRANDCHILD, OF_FAULTY)
    first.insert(TEXTS, "A").insert(TEXTS, "b").insert(OF_TEXTS, 1, "a").insert(OF_TEXTS, 2, "b")
    lake.silver.batch([first], created(*ALL))
    assert lake.run(exclude=("shop.left_out",)).faults == ()
    lake.silver.batch(
        [
            Tx(2).delete(PARENT, 1).insert(CHILD, 10, 2),
            Tx(3).update(PARENT, (2,), (20,)).update(CHILD, (10, 20), (11, 20)),
            Tx(4).delete(PARENT, 20).insert(PARENT, 20).insert(CHILD, 2, 20),
            Tx(5, cascades="logged").delete(PARENT, 3).delete(TEXTS, "A"),
            Tx(6).delete(TEXTS, "b").delete(LEFT_OUT, 1),
            Tx(7).delete(FAULTY, 1).delete(TEXTS, "A"),
            Tx(8),
            Tx(9).delete(PARENT, 4),
        ],
        [item("model", 8, CHILD, model=TableModel())],
        faults=[(7, ["shop.faulty"])],
    )
    faults = lake.run(exclude=("shop.left_out",)).faults
    # one sentence for all tables of one cause
    held = {n: fault for fault in faults for n in re.findall(r"shop\.\w+", fault.split(": ")[0])}
    assert rows(lake, PARENT) == [(20,), (5,), (6,)]
    assert rows(lake, CHILD) == [(2, 20), (3, 3), (4, 4), (5, 5), (6, 6)]
    assert rows(lake, GRANDCHILD) == [(1, None), (2, None), *((n, n) for n in range(3, 7))]
    assert rows(lake, OF_TEXTS) == [(1, "a")]
    assert rows(lake, OF_FAULTY) == [(n, n) for n in range(1, 7)]
    assert "depends on their collation" in held.pop("shop.of_texts")
    assert "changes of shop.left_out are not applied" in held.pop("shop.of_left_out")
    assert "changes of shop.faulty are not applied" in held.pop("shop.of_faulty")
    assert "changes of shop.faulty are not applied" in held.pop("shop.below_faulty")
    assert [*held] == ["shop.faulty"]
    # Nothing to do, so nothing is applied twice.
    assert lake.run(exclude=("shop.left_out",)).counts == {}
    # Batches limited to the rows that can be examined; a transaction cannot be split.
    monkeypatch.setattr(cascade_rows, "MOST_ROWS", 2)
    many = Tx(12).delete(CHILD, 2, 20).delete(CHILD, 5, 5).delete(CHILD, 6, 6)
    lake.silver.batch([Tx(10).delete(CHILD, 3, 3), Tx(11).delete(CHILD, 4, 4), many])
    limited = lake.run(exclude=("shop.left_out",)).faults
    assert any("shop.grandchild is held" in one and "more rows are" in one for one in limited)
    empty = [(n, None) for n in range(1, 5)]
    assert (rows(lake, CHILD), rows(lake, GRANDCHILD)) == ([], [*empty, (5, 5), (6, 6)])


def test_rolled_back_and_undecided_deletes_have_no_effect_on_children(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = MadeLake(spark, tmp_path)
    lake.silver.batch(
        [
            fill(Tx(1), PARENT, CHILD),
            Tx(2, rolled_back=[(100, 200)]).delete(PARENT, 1).delete(PARENT, 2),
            Tx(3, xa=("x", "prepare")).delete(PARENT, 3),
        ],
        created(PARENT, CHILD),
    )
    lake.run()
    assert rows(lake, CHILD) == [(n, n) for n in (1, 3, 4, 5, 6)]
    lake.silver.batch([Tx(4, xa=("x", "commit"))])
    lake.run()
    assert rows(lake, PARENT) == [(n,) for n in (1, 4, 5, 6)]
    assert rows(lake, CHILD) == [(n, n) for n in (1, 4, 5, 6)]


@pytest.mark.long
def test_a_run_killed_after_each_commit_applies_cascades_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cascade_rows, "MOST_ROWS", 12)
    lake = MadeLake(spark, tmp_path)
    tables = (PARENT, CHILD, GRANDCHILD)
    lake.silver.batch([fill(Tx(1), *tables)], created(*tables))
    lake.run()
    lake.silver.batch(
        [
            Tx(2).delete(PARENT, 1).update(PARENT, (2,), (1,)),
            Tx(3).update(CHILD, (2, 1), (1, 1)).insert(GRANDCHILD, 7, 1).delete(PARENT, 1),
        ]
    )
    executioner = AfterEachCommit()
    at_commits(monkeypatch, executioner)
    for _ in range(20):
        try:
            lake.run(parallel_tables=1)
            break
        except Killed:
            continue
    tables_of_commits = [table.rpartition("/")[2] for table in executioner.commits]
    assert tables_of_commits[:2] == ["_cascades", "batches"]
    assert sorted(tables_of_commits[2:5]) == ["child", "grandchild", "parent"]
    assert tables_of_commits[5:] == ["_cuts", "batches"]
    assert rows(lake, PARENT) == [(n,) for n in range(3, 7)]
    assert rows(lake, CHILD) == [(n, n) for n in range(3, 7)]
    assert rows(lake, GRANDCHILD) == [
        (1, None),
        (2, None),
        *((n, n) for n in range(3, 7)),
        (7, None),
    ]
