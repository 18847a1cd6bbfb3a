"""Runs that stop at a given point, on handmade silver: whole transactions, in log order."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.files import write_files
from pipeline.errors import SettingsError
from pipeline.gold.plan import until as until_module
from pipeline.gold.plan.until import last_of, last_wanted
from pipeline.lake import Lake, Ledger
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row
from tests.support.gold.made_lake import MadeLake
from tests.support.silver.made_silver import (
    SERVER,
    SOURCE,
    MadeTransaction as Tx,
    definition,
    item,
    lsn,
)

T = definition("t")
OTHER = "00000000-71ca-11e1-9e33-c80aa9429562"


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> MadeLake:
    """Return a lake whose silver has transactions 2, 3 and 5, the last after a gap in time."""
    made = MadeLake(spark, tmp_path_factory.mktemp("until") / "lake")
    rows = [Tx(n).insert(T, n, "a") for n in (2, 3, 5)]
    made.silver.batch(rows, [item("create", 2, T)])
    files = [file_row("binlog.000001", 1, source=SOURCE)]
    write_files(spark, Lake(made.root), SOURCE, files, batch=1)
    return made


def gold_of(lake: MadeLake) -> LayerRun:
    return LayerRun.begin(lake.spark, lake.settings(), QuietProgress())


@pytest.mark.parametrize(
    ("until", "low", "last"),
    [
        (None, 0, 5),
        ("2024-01-01T00:00:02Z", 0, 2),
        ("2024-01-01T00:00:02.999Z", 0, 2),
        ("2024-01-01T01:00:03+01:00", 0, 3),
        ("2024-01-01T00:00:04", 0, 3),
        ("2024-01-02", 0, 5),
        ("2023-12-31", 0, 0),
        ("2023-12-31", 3, 3),
        (f"{SERVER}:3", 0, 3),
        (f"{SERVER.upper()}:3", 0, 3),
        (f"{SERVER}:2", 3, 3),
        (str(lsn(3)), 0, 3),
        (str(lsn(99)), 0, 5),
        (str(lsn(2)), 3, 3),
        ("binlog.000001:4000", 0, 3),  # transaction 3 ends there, and takes 1000 bytes
        ("binlog.000001:3999", 0, 2),
        ("binlog.000001:4", 0, 0),
        ("binlog.000001:99999", 0, 5),
    ],
)
def test_the_last_transaction_is_found_by_every_form_of_until(
    lake: MadeLake, until: str | None, low: int, last: int
) -> None:
    start = lsn(low) if low else 0
    found = last_wanted(gold_of(lake), until, start, lsn(5))
    assert found == (lsn(last) if last else 0)


@pytest.mark.parametrize(
    ("gtids", "low", "last"),
    [
        (f"{SERVER}:1-3", 0, 3),
        (f"{SERVER.upper()}:1-2", 0, 2),
        (f"{SERVER}:1-9,{OTHER}:7", 0, 5),
        (f"{SERVER}:1-2:5", 0, 2),
        (f"{SERVER}:1-2", 3, 3),
        (f"{SERVER}:3-5", 0, 0),
        (f"{SERVER}:3-5", 2, 5),
        (f"{SERVER}:tag:1-9", 0, 0),
        ("0-1-9", 0, 0),
    ],
)
def test_the_last_transaction_of_a_set_is_found(
    lake: MadeLake, gtids: str, low: int, last: int
) -> None:
    start = lsn(low) if low else 0
    found = last_of(gold_of(lake), GtidSet.of(gtids), start, lsn(5))
    assert found == (lsn(last) if last else 0)


def test_in_a_reset_log_the_last_transaction_since_is_found(
    lake: MadeLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [file_row("binlog.000003", 0), file_row("binlog.000001", 1)]
    monkeypatch.setattr(until_module, "read_files", lambda *_: files)
    for gtids, last in ((f"{SERVER}:1-2", lsn(2)), (f"{SERVER}:9", 0)):
        found = last_of(gold_of(lake), GtidSet.of(gtids), 0, lsn(5))
        assert found == last


@pytest.mark.parametrize(
    ("until", "message"),
    [(f"{OTHER}:3", "is not in silver"), ("binlog.000009:4", "made has no file binlog.000009")],
)
def test_a_run_cannot_stop_at_what_the_lake_does_not_have(
    lake: MadeLake, until: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        last_wanted(gold_of(lake), until, 0, lsn(5))


def test_a_later_run_continues_where_an_earlier_one_stopped(lake: MadeLake) -> None:
    path = Lake(lake.root).gold("shop", "t")

    def ids() -> list[int]:
        return sorted(row["id"] for row in lake.spark.read.format("delta").load(path).collect())

    first = lake.run(until=f"{SERVER}:3")
    assert (ids(), first.batches) == ([2, 3], (1,))
    assert "Gold stops at" in "".join(first.notes)
    assert Ledger(lake.spark, Lake(lake.root), SOURCE).last("gold").body["cut_lsn"] == lsn(3)
    assert lake.run(until="2024-01-01T00:00:01Z").batches == ()
    assert (lake.run().batches, ids()) == ((2,), [2, 3, 5])
