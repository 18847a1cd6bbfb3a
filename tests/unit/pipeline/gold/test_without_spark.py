"""Gold without Spark in a lake that delta-rs can read: everything but carrying out a batch."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipeline.gold import Cut, GoldState
from pipeline.gold.apply import apply
from pipeline.gold.cascades.cascades_table import MissingCascadesError, keep, kept
from pipeline.gold.changes import transactions
from pipeline.gold.changes.log_facts import Facts, gather
from pipeline.gold.job import run
from pipeline.gold.next_batch import plan_next
from pipeline.gold.plan.cuts_table import CUTS, cuts_table
from pipeline.gold.plan.publication import cut_step
from pipeline.gold.plan.until import last_of, last_wanted
from pipeline.lake import Lake, Ledger
from pipeline.lake.lazy_spark import StartingSpark
from pipeline.lake.tables.choice import tables_of
from pipeline.layer import LayerRun
from pipeline.observe import LayerReport
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.source import GtidSet
from tests.support.silver.made_silver import (
    SERVER,
    SOURCE,
    MadeSilver,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

T, HELD = definition("t"), definition("held")


class SparkStartedError(Exception):
    """Raised if a Spark session is requested."""


def _refused() -> SparkSession:
    raise SparkStartedError


SPARK = StartingSpark(_refused, "local[*]", beside=True)


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "SLICE_ROWS", 2)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Return a lake with five transactions in silver, one with a fault in the second table."""
    silver = MadeSilver(SPARK, str(tmp_path / "lake"))
    rows = [Tx(n).insert(T, n, "a").insert(HELD, n, "b") for n in range(2, 7)]
    silver.batch(rows, [item("create", 2, T), item("create", 2, HELD)], [(4, ["shop.held"])])
    return silver.lake


def settings_of(lake: Lake, until: str | None = None) -> Settings:
    return Settings(source=SOURCE, lake=lake.root, until=until)


def gold_of(lake: Lake) -> LayerRun:
    return LayerRun.begin(SPARK, settings_of(lake), QuietProgress())


def run_gold(lake: Lake, until: str | None = None) -> LayerReport:
    return run(SPARK, settings_of(lake, until), QuietProgress())


def test_slices_yield_the_same_facts_as_one_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look() -> Facts:
        return gather(SPARK, lake, SOURCE, lsn(2), lsn(6), previous_cut_lsn=lsn(5))

    found = look()
    monkeypatch.setattr(transactions, "SLICE_ROWS", 100)
    whole = look()
    assert GtidSet.of(*(f"{s}:{a}-{b}" for s, a, b in found.gtids)) == GtidSet.of(f"{SERVER}:3-6")
    assert (found.changed, found.changes) == ({"shop.t", "shop.held"}, 8)
    assert (found.last_lsn, found.bytes) == (lsn(6), whole.bytes)
    assert (found.changed, found.changes, found.committed_at) == (
        whole.changed,
        whole.changes,
        whole.committed_at,
    )


@pytest.mark.parametrize(
    ("until", "last"),
    [("2024-01-01T00:00:04Z", 4), (f"{SERVER}:3", 3), (f"{SERVER.upper()}:6", 6), (None, 6)],
)
def test_the_stop_position_is_found_across_slices(lake: Lake, until: str | None, last: int) -> None:
    assert last_wanted(gold_of(lake), until, 0, lsn(6)) == lsn(last)


@pytest.mark.parametrize(("gtids", "last"), [("1-5", 5), ("1-3:5-6", 3), ("1-9", 6)])
def test_the_end_of_a_gtid_set_is_found_across_slices(lake: Lake, gtids: str, last: int) -> None:
    wanted = GtidSet.of(f"{SERVER}:{gtids}")
    assert last_of(gold_of(lake), wanted, 0, lsn(6)) == lsn(last)


def test_spark_only_starts_to_carry_out_a_batch(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = plan_next(gold_of(lake)).following
    assert following is not None
    monkeypatch.setattr(apply, "apply_few", lambda *_, **__: None)
    with pytest.raises(SparkStartedError):
        run_gold(lake)
    plan = Ledger(SPARK, lake, SOURCE).open("gold")
    assert plan is not None
    assert GoldState.from_body(plan.body) == following
    record = {"cut": asdict(Cut()), "changes": {}, "written": {}}
    Ledger(SPARK, lake, SOURCE).finish(plan, record)
    for until in (None, "2024-01-01T00:00:03Z"):
        report = run_gold(lake, until)
        assert report.batches == ()
        assert "shop.held" in "".join(report.faults)


def test_a_claimed_cut_is_not_published(lake: Lake) -> None:
    tables, cuts = tables_of(SPARK, lake), cuts_table(lake)
    row = {
        "source": SOURCE,
        "lsn": lsn(2),
        "committed_at": datetime(2024, 1, 1, tzinfo=timezone.utc),
        "tables": [{"schema": "shop", "table": "t", "delta_version": 3, "held": False}],
    }
    assert tables.claim(cuts, cut_step(SOURCE, 1))
    for batch, published in ((1, False), (2, True), (2, False)):
        rows = pa.Table.from_pylist([{**row, "batch": batch}], schema=CUTS)
        assert tables.append(cuts, rows, cut_step(SOURCE, batch)) == published
    assert [found["batch"] for found in tables.read(cuts).to_pylist()] == [2]


def test_stored_cascades_are_found_by_name(lake: Lake) -> None:
    changes = {(TableName("shop", "t"), 1): pa.table({"id": [1, 2, 3]})}
    name = keep(SPARK, lake, SOURCE, 1, changes)
    assert name == keep(SPARK, lake, SOURCE, 1, changes)
    assert name != keep(SPARK, lake, SOURCE, 2, changes)
    assert kept(SPARK, lake, name) == changes
    with pytest.raises(MissingCascadesError, match="_cascades"):
        kept(SPARK, lake, "another")
