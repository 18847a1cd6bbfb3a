"""Maintaining a table that another run writes, or in a lake that another run has taken over."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake import Lake, delta
from pipeline.lake.delta_log.table import LakeTable
from pipeline.lake.tables.by_spark import SparkTables
from pipeline.maintenance.tables import Table
from pipeline.maintenance.upkeep import Due, Keeper

NO_SPARK: Any = None
TABLE = Table("gold/shop/t", LakeTable("s3a://lake/gold/shop/t", pa.schema([])), named=())


def test_steps_are_skipped_on_conflicts_and_a_lost_lake_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeper = Keeper(NO_SPARK, SparkTables(NO_SPARK, Lake("s3a://lake")), "maintain shop 1")
    refusal: ConcurrentRunError = ConcurrentRunError("it lost 8 times to other writers.")

    def commit(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr(delta, "commit", commit)
    monkeypatch.setattr(SparkTables, "exists", lambda *_: True)
    monkeypatch.setattr(SparkTables, "old_files", lambda *_: 1)
    monkeypatch.setattr(SparkTables, "_session", lambda *_: NO_SPARK)
    assert len(keeper.keep(TABLE, Due(compact=True)).left) == 2
    assert not keeper.keep(TABLE, Due()).changed
    refusal = LakeLostError("another run took the lake over.")
    with pytest.raises(LakeLostError):
        keeper.keep(TABLE, Due(compact=True))
