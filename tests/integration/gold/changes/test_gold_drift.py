"""Rows that differ from the before images: counted by table, where gold equals the log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.plan.table_inspection import signed_session
from pipeline.lake import Lake, Ledger
from pipeline.run import read_status
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item

INT = ColumnType.LONG
CHANGED, NULLS, INCOMPLETE = definition("changed"), definition(
    "nulls",
    ColumnDefinition("id", INT, nullable=False),
    ColumnDefinition("a", INT),
    ColumnDefinition("b", INT),
), definition("incomplete")  # fmt: skip
TABLES = (CHANGED, NULLS, INCOMPLETE)


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> MadeLake:
    return MadeLake(spark, tmp_path / "lake")


def drift_of(lake: MadeLake) -> dict[str, Any]:
    record = Ledger(lake.spark, Lake(lake.root), SOURCE).record("gold")
    assert record is not None
    return dict(record["drift"])


def change_outside_the_log(lake: MadeLake, *statements: str) -> None:
    """Change gold as its own job does, which is equivalent to changing the source outside its
    log.
    """
    with signed_session(lake.spark) as session:
        for statement in statements:
            for table in TABLES:
                path = Lake(lake.root).gold("shop", table.table)
                statement = statement.replace(f"{{{table.table}}}", f"delta.`{path}`")
            session.sql(statement)


def test_changes_that_do_not_meet_the_expected_row_are_counted(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = Tx(1)
    for n in range(1, 7):
        first.insert(CHANGED, n, "a").insert(INCOMPLETE, n, "a")
    first.insert(NULLS, 1, 1, None).insert(NULLS, 2, None, None)
    items = [item("create", 1, CHANGED), item("create", 1, NULLS), item("observed", 1, INCOMPLETE)]
    lake.silver.batch([first], items)
    assert not lake.run(drift=True).notes
    change_outside_the_log(
        lake,
        "INSERT OVERWRITE {changed} SELECT id, if(id = 2, 'drifted', v), __lsn, __committed_at"
        " FROM (SELECT if(id = 3, 9, id) AS id, v, __lsn, __committed_at FROM {changed}"
        " WHERE id <> 4)",
        "UPDATE {nulls} SET a = NULL, b = 1 WHERE id = 1",
        "UPDATE {incomplete} SET v = 'x'",
    )
    second = Tx(2)
    second.update(CHANGED, (1, "a"), (1, "b")).update(CHANGED, (1, "b"), (1, "c"))
    second.update(CHANGED, (2, "a"), (2, "b")).delete(CHANGED, 3, "a")
    second.update(CHANGED, (4, "a"), (14, "a")).insert(CHANGED, 9, "z")
    # Changed between two logged changes: the row differs from what the previous change left.
    second.update(CHANGED, (5, "a"), (5, "b")).update(CHANGED, (5, "other"), (5, "c"))
    second.update(CHANGED, (6, "a"), (7, "a")).update(CHANGED, (7, "a"), (6, "b"))
    second.update(NULLS, (1, 1, None), (1, 2, 2)).update(NULLS, (2, None, None), (2, 1, 1))
    second.update(INCOMPLETE, (1, "a"), (1, "b"))
    lake.silver.batch([second])
    report = lake.run(drift=True)
    assert drift_of(lake) == {
        "shop.changed": {"checked": 13, "missing": 2, "extra": 1, "different": 2},
        "shop.nulls": {"checked": 2, "missing": 0, "extra": 0, "different": 1},
    }
    changed, nulls = report.notes
    assert changed.startswith("shop.changed: for 5 of 13 checked changes")
    assert nulls.startswith("shop.nulls: for 1 of 2 checked changes")

    lake.silver.batch([Tx(3).update(CHANGED, (9, "z"), (9, "y"))])
    assert not lake.run(drift=True).notes
    tables = read_status(lake.spark, lake.settings()).tables
    assert {table.table: table.drift for table in tables} == {
        "changed": 5,
        "nulls": 1,
        "incomplete": 0,
    }

    # a resumed batch of another run is not checked
    before = drift_of(lake)
    lake.silver.batch([Tx(4).delete(CHANGED, 9, "y")])
    with monkeypatch.context() as killed:
        killed.setattr("pipeline.gold.carry_out.publish", _killed)
        with pytest.raises(KeyboardInterrupt):
            lake.run(drift=True)
    report = lake.run(drift=True)
    assert (report.clean, report.notes, drift_of(lake)) == (True, (), before)
    _, changed_rows = read_table(Lake(lake.root).gold("shop", "changed"))
    assert 9 not in changed_rows["id"].to_pylist()


def _killed(*_: object) -> None:
    raise KeyboardInterrupt
