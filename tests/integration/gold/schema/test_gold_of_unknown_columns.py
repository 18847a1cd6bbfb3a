"""Tables that are created again within a batch, with other columns or with unknown ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from decoder import TableDefinition
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.lake import Lake, delta
from pipeline.lake.delta_step import Step
from pipeline.schema_history.alter.items import TimelineItem
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import Killed
from tests.support.lake.table_rows import read_table
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item

OTHER = ColumnDefinition("b", ColumnType.LONG, nullable=False)
T, T_OLD, T_AGAIN = definition("t"), definition("t_old"), definition("t", OTHER)
U, V, W, W_AGAIN = definition("u"), definition("v", OTHER), definition("w"), definition("w", OTHER)


class KilledAfterOverwrites:
    """Kills a run right after each overwrite that it commits."""

    def __init__(self) -> None:
        self.real = delta.overwrite_once
        self.tables: list[str] = []

    def __call__(self, rows: DataFrame, table: str, step: Step) -> None:
        before = _commits(table)
        self.real(rows, table, step)
        if _commits(table) > before:
            self.tables.append(Path(table).name)
            raise Killed


def _commits(table: str) -> int:
    return len(list(Path(table, "_delta_log").glob("*.json")))


def rows(lake: MadeLake, table: str) -> list[tuple[Any, ...]]:
    _, found = read_table(Lake(lake.root).gold("shop", table))
    return sorted(tuple(row.values())[:-2] for row in found.to_pylist())


@pytest.mark.long
def test_a_run_killed_after_an_overwrite_does_not_read_earlier_rows_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = MadeLake(spark, tmp_path)
    lake.silver.batch(
        [Tx(1).insert(T, 1, "t").insert(U, 1, "u").insert(V, 5)],
        [item("create", 1, table) for table in (T, U, V)],
    )
    lake.run()
    # `t` is renamed and created twice; `w` gets one table's rows, is dropped, and gets another's.
    lake.silver.batch(
        [
            Tx(4).insert(T, 2, "gone").insert(W, 2, "gone"),
            Tx(7).insert(T_AGAIN, 6, version=2).insert(W_AGAIN, 6, version=2),
        ],
        [
            item("renamed", 2, T_OLD, other=T),
            item("moved", 2, T, other=T_OLD),
            item("renamed", 3, W, other=U),
            item("moved", 3, U, other=W),
            item("create", 3, T),
            *(item("drop", 5, table) for table in (T, W)),
            item("create", 6, T_AGAIN, 2),
            item("renamed", 6, W_AGAIN, 2, other=V),
            item("moved", 6, V, other=W_AGAIN),
        ],
    )
    killer = KilledAfterOverwrites()
    monkeypatch.setattr(delta, "overwrite_once", killer)
    for _ in range(8):
        try:
            lake.run()
            break
        except Killed:
            continue
    assert sorted(killer.tables) == ["t", "t", "t_old", "w", "w"]
    found = {name: rows(lake, name) for name in ("t", "t_old", "w")}
    assert found == {"t": [(6,)], "t_old": [(1, "t")], "w": [(5,), (6,)]}


def unknown(n: int, table: TableDefinition) -> TimelineItem:
    """CREATE TABLE … LIKE a table that the log does not describe."""
    return replace(item("create", n, table, pos=60), version=None, definition=None)


def test_a_table_with_unknown_columns_is_empty_until_a_row_shows_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = MadeLake(spark, tmp_path)
    lake.silver.batch(
        [Tx(1).insert(T, 1, "t").insert(U, 1, "u").insert(W, 1, "w")],
        [item("create", 1, table) for table in (T, U, W)],
    )
    lake.run()
    # Gold keeps the rows of a dropped table until it is created again: in the same batch, or
    # another.
    lake.silver.batch([], [item("drop", 2, T), unknown(2, T), item("drop", 2, U)], last=2)
    lake.run()
    assert (rows(lake, "t"), rows(lake, "u")) == ([], [(1, "u")])
    assert at_the_snapshot(lake) == {"t": (0, True), "u": (1, False), "w": (1, True)}
    lake.silver.batch(
        [Tx(4).insert(T_AGAIN, 6, version=2)],
        [unknown(3, U), item("drop", 3, W), unknown(3, W), item("create", 4, T_AGAIN, 2)],
    )
    lake.run(on_drop="drop")
    assert rows(lake, "t") == [(6,)]
    assert at_the_snapshot(lake) == {"t": (1, True), "u": (0, True), "w": (0, True)}


def at_the_snapshot(lake: MadeLake) -> dict[str, tuple[int, bool]]:
    """Return the row count of each table in the last snapshot, and whether it is complete."""
    last = read_table(Lake(lake.root).cuts)[1].sort_by("batch").to_pylist()[-1]
    return {
        entry["table"]: (
            read_table(entry["path"], entry["delta_version"])[1].num_rows,
            entry["complete"],
        )
        for entry in last["tables"]
    }
