"""Gold rebuilt from handmade silver: damaged, killed on the way, restored to an earlier state."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition
from pipeline.gold.cascades.cascades_table import MissingCascadesError
from pipeline.gold.job import refresh
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.lake import Lake, Ledger, delta
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.model import TableModel
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import AfterEachCommit, Executioner, Killed, at_commits
from tests.support.silver.made_silver import SOURCE, MadeTransaction as Tx, definition, item, lsn

T, U, W, W2 = definition("t"), definition("u"), definition("w"), definition("w2")
PARENT = definition("parent")
CHILD = definition(
    "child",
    ColumnDefinition("id", ColumnType.LONG, nullable=False),
    ColumnDefinition("up", ColumnType.LONG),
)
REFERS = TableModel(
    foreign_keys=(ForeignKey(("up",), ("shop", "parent"), ("id",), "CASCADE", "", "f"),)
)


class Refreshed(MadeLake):
    """A lake whose gold can be rebuilt."""

    def refresh(self, **options: Any) -> LayerReport:
        return refresh(self.spark, self.settings(**options), QuietProgress())

    def rows(self, table: str, version: int | None = None) -> list[tuple[Any, ...]]:
        path = Lake(self.root).gold("shop", table)
        return sorted(
            tuple(row)[:2] for row in delta.read(self.spark, path, version=version).collect()
        )

    def cuts(self) -> list[tuple[int, int, dict[str, int | None]]]:
        rows = delta.read(self.spark, Lake(self.root).cuts).orderBy("batch").collect()
        return [
            (row["batch"], row["lsn"], {t["table"]: t["delta_version"] for t in row["tables"]})
            for row in rows
        ]


@pytest.mark.long
def test_damaged_gold_is_rebuilt_despite_its_open_batch_and_killed_runs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = Refreshed(spark, tmp_path / "lake")
    first_rows = Tx(1).insert(T, 1, "a").insert(U, 1, "u").insert(PARENT, 1, "p")
    first_rows.insert(CHILD, 1, 1).insert(CHILD, 2, None)
    lake.silver.batch(
        [first_rows, Tx(2).insert(T, 2, "b").insert(W, 1, "w")],
        [
            *(item("create", 1, table) for table in (T, U)),
            item("create", 1, PARENT, model=TableModel()),
            item("create", 1, CHILD, model=REFERS),
            item("create", 2, W),
        ],
    )
    lake.run()
    (first,) = lake.cuts()
    # One table is damaged, one is missing, and one is renamed by the batch that cannot be carried
    # out: the stored effects of its foreign key are lost as well.
    spark.sql(f"DELETE FROM delta.`{Lake(lake.root).gold('shop', 'u')}`")
    shutil.rmtree(Lake(lake.root).gold("shop", "t"))
    lake.silver.batch(
        [
            Tx(3).update(T, (1, "a"), (1, "c")).delete(PARENT, 1, "p"),
            Tx(5).insert(W2, 2, "x"),
        ],
        [
            item("renamed", 4, definition("w2"), other=W),
            item("moved", 4, W, other=definition("w2")),
        ],
    )
    at_commits(monkeypatch, Executioner(1, after=True, layer="gold"))
    with pytest.raises(Killed):
        lake.run()
    monkeypatch.undo()
    shutil.rmtree(Lake(lake.root).cascades)
    with pytest.raises(MissingCascadesError, match="gold/_cascades"):
        lake.run()
    killer = AfterEachCommit(nth=4)
    at_commits(monkeypatch, killer)
    for _ in range(40):
        try:
            lake.refresh()
            break
        except Killed:
            if not refresh_under_way(Ledger(spark, Lake(lake.root), SOURCE)):
                break  # after its last commit: applied again, everything would be applied twice
            assert [at for _, at, _ in lake.cuts()] in ([lsn(2)], [lsn(2), lsn(5)])
    monkeypatch.undo()
    found = {table: lake.rows(table) for table in ("t", "u", "w2", "child")}
    assert found == {
        "t": [(1, "c"), (2, "b")],
        "u": [(1, "u")],
        "w2": [(1, "w"), (2, "x")],
        "child": [(2, None)],
    }
    _, (batch, _, versions) = lake.cuts()
    assert (
        batch == 3
    )  # the second was set aside, which started the rebuild: late runs cannot publish it
    log = sorted(Path(Lake(lake.root).cuts, "_delta_log").glob("*.json"))
    assert f'"appId":"gold/{SOURCE}/_cuts","version":2' in log[1].read_text()
    assert lake.rows("u", first[2]["u"]) == lake.rows("u", versions["u"]) == [(1, "u")]
    assert lake.rows("t", versions["t"]) == found["t"]
    assert lake.rows("w", first[2]["w"]) == [(1, "w")]
    assert lake.run().batches == ()

    # Rebuild once more, to an earlier transaction, and continue from there.
    lake.refresh(until=str(lsn(2)))
    assert (lake.rows("t"), lake.rows("w")) == ([(1, "a"), (2, "b")], [(1, "w")])
    assert lake.rows("child") == [(1, 1), (2, None)]
    assert [at for _, at, _ in lake.cuts()] == [lsn(2), lsn(5), lsn(2)]
    lake.run()
    assert {table: lake.rows(table) for table in found} == found
