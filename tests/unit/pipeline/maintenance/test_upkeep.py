"""Looking after a table that another run writes, and in a lake that another run has taken over."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline import delta
from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.maintenance.tables import Table
from pipeline.maintenance.upkeep import Due, Keeper

NO_SPARK: Any = None
TABLE = Table("gold", "gold/shop/t", "s3a://lake/gold/shop/t")


def test_a_table_that_is_written_is_left_and_a_lake_that_is_lost_ends_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keeper = Keeper(NO_SPARK, "maintenance/shop", 1)
    refusal: ConcurrentRunError = ConcurrentRunError("it lost 8 times to other writers.")

    def commit(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr(delta, "commit", commit)
    assert len(keeper.keep(TABLE, Due(crowded=True)).left) == 2
    refusal = LakeLostError("another run took the lake over.")
    with pytest.raises(LakeLostError):
        keeper.keep(TABLE, Due(crowded=True))
