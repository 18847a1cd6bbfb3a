"""Gold's part of a dry run, compared with what the run then applies."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.preview import GoldPreview, preview
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from tests.support.gold.made_lake import MadeLake
from tests.support.lake.kills import Executioner, Killed, at_commits
from tests.support.silver.made_silver import MadeTransaction as Tx, definition, item, lsn
from tests.support.spark.no_spark import NEVER_STARTED

PLAIN, XA, FAULTY = definition("plain"), definition("xa"), definition("faulty")


def previewed(lake: MadeLake) -> GoldPreview:
    """Return the preview, which reads neither gold nor silver with Spark."""
    run = LayerRun.begin(NEVER_STARTED, lake.settings(), QuietProgress())
    return preview(run)


def changes(found: GoldPreview) -> dict[str, int]:
    return {f"{one.schema}.{one.table}": one.changes for one in found.tables if one.changes}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    """Return a lake whose silver has a prepared XA transaction and a fault."""
    made = MadeLake(spark, tmp_path_factory.mktemp("preview") / "lake")
    first = Tx(2).insert(PLAIN, 1, "a").insert(FAULTY, 1, "a")
    tables = [item("create", 2, table) for table in (PLAIN, XA, FAULTY)]
    prepared = Tx(3, xa=("x", "prepare")).insert(XA, 1, "a").insert(XA, 2, "b")
    bad = Tx(5).insert(FAULTY, 2, "b").insert(PLAIN, 2, "b")
    made.silver.batch([first, prepared, bad], tables, faults=[(5, ["shop.faulty"])])
    return made


def test_the_run_applies_what_was_listed_and_xa_transactions_once_they_are_committed(
    lake: MadeLake,
) -> None:
    found = previewed(lake)
    assert changes(found) == {"shop.plain": 2, "shop.faulty": 1}
    held = {one.table: one.held for one in found.tables}
    assert held["faulty"] is not None
    assert held["plain"] is None
    assert {one.table for one in found.tables if one.new} == {"plain", "xa", "faulty"}
    assert (found.from_lsn, found.to_lsn) == (0, lsn(5))
    assert changes(found) == _applied(lake)
    assert changes(previewed(lake)) == {}

    lake.silver.batch([Tx(6, xa=("x", "commit")), Tx(7).delete(PLAIN, 1, "a")])
    found = previewed(lake)
    assert changes(found) == {"shop.plain": 1, "shop.xa": 2}
    assert [one.table for one in found.tables if one.held] == ["faulty"]
    assert changes(found) == _applied(lake)


def test_a_batch_that_was_killed_is_listed_as_it_was_planned(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its table is in gold by then, where a new plan would mistake it for another program's."""
    lake = MadeLake(spark, tmp_path / "lake")
    lake.silver.batch([Tx(2).insert(PLAIN, 1, "a")], [item("create", 2, PLAIN)])
    with monkeypatch.context() as patched:
        at_commits(patched, Executioner(1, after=True, layer="gold"))
        with pytest.raises(Killed):
            lake.run()
    assert Path(lake.root, "gold", "shop", "plain").is_dir()
    lake.silver.batch([Tx(3).insert(PLAIN, 2, "b")])
    found = previewed(lake)
    assert (found.open_batch, found.to_lsn, changes(found)) == (1, lsn(3), {"shop.plain": 2})
    (table,) = found.tables
    assert (table.held, table.new) == (None, True)
    assert changes(found) == _applied(lake)


def _applied(lake: MadeLake) -> dict[str, int]:
    counts = lake.run().counts
    assert Path(lake.root, "gold").is_dir()
    return {name: count for name, count in counts.items() if count}
