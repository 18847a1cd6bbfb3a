"""Which of gold's cuts is of a server's state, by what the cuts have."""

from __future__ import annotations

from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.gtids import GtidSet
from pipeline.settings import Settings
from pipeline.verify import cut_at
from pipeline.verify.cut_at import Reached
from pipeline.verify.executed_at import GoldGtids
from pipeline.verify.position import differing_gtids

NO_SPARK = cast(SparkSession, None)
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
BEFORE = GtidSet.of(f"{A}:1-10")


@pytest.mark.parametrize(
    ("gtids", "batch"),
    [
        # The cut of a lake that was just seeded has no transaction of its own.
        (f"{A}:1-10", Reached(1)),
        (f"{A}:1-12", Reached(2)),
        (f"{A}:1-15", None),
        (f"{A}:1-11", Reached(None)),
        (f"{A}:1-8", Reached(None)),
    ],
)
def test_a_cut_with_just_these_gtids_is_found(
    monkeypatch: pytest.MonkeyPatch, gtids: str, batch: Reached | None
) -> None:
    cuts = [(1, 0, None), (2, 77, f"{A}:11-12")]
    monkeypatch.setattr(cut_at, "cuts_since", lambda *_: cuts)

    def executed_at(spark: object, lake: object, source: str, lsn: int, own: str) -> GoldGtids:
        return GoldGtids(GtidSet.of(own), BEFORE)

    monkeypatch.setattr(cut_at, "executed_at", executed_at)
    settings = Settings(source="shop", lake="lake")
    assert cut_at._WithGtids(NO_SPARK, settings, GtidSet.of(gtids), 0).look() == batch


def test_a_replica_that_lags_behind_a_seed_is_of_another_state() -> None:
    later, earlier = differing_gtids(GoldGtids(before=BEFORE), GtidSet.of(f"{A}:1-8"))
    assert (later, earlier) == ("", f"{A}:9-10")
