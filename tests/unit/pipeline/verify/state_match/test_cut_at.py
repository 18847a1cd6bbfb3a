"""Finding gold's cut with a server's state."""

from __future__ import annotations

from typing import NamedTuple, cast

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.plan.verification_points import AtPosition
from pipeline.lake import Ledger
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.verify.state_match import cut_at
from pipeline.verify.state_match.cut_at import Reached
from pipeline.verify.state_match.executed_at import GoldGtids
from pipeline.verify.state_match.position import differing_gtids
from pipeline.verify.state_match.way import GoldPosition
from tests.support.bronze.bronze_rows import file_row

NO_SPARK = cast(SparkSession, None)
A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
BEFORE = GtidSet.of(f"{A}:1-10")
BEGAN = 2 << OFFSET_BITS | 100


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
def test_a_cut_with_exactly_these_gtids_is_found(
    monkeypatch: pytest.MonkeyPatch, gtids: str, batch: Reached | None
) -> None:
    cuts = [(1, 0, None), (2, 77, f"{A}:11-12")]
    monkeypatch.setattr(cut_at, "cuts_since", lambda *_: cuts)

    def executed_at(spark: object, lake: object, source: str, lsn: int, own: str) -> GoldGtids:
        return GoldGtids(GtidSet.of(own), BEFORE)

    monkeypatch.setattr(cut_at, "executed_at", executed_at)
    settings = Settings(source="shop", lake="lake")
    assert cut_at._WithGtids(NO_SPARK, settings, GtidSet.of(gtids), 0).look() == batch


def test_a_replica_that_lags_after_a_seed_has_another_state() -> None:
    later, earlier = differing_gtids(GoldGtids(before=BEFORE), GtidSet.of(f"{A}:1-8"))
    assert (later, earlier) == ("", f"{A}:9-10")


class _Plan(NamedTuple):
    """The fields of silver's plan that are used."""

    cut_lsn: int
    end: tuple[int, int] = (9, 9)


class _Standing(NamedTuple):
    plan: _Plan | None


@pytest.mark.parametrize(
    ("last", "silver", "found"),
    [
        (BEGAN + 9, _Plan(BEGAN + 50), BEGAN + 9),
        (BEGAN, _Plan(BEGAN + 50), BEGAN),
        # Silver is decoded from scratch, or an old log's position is taken for the new one's.
        (BEGAN - 9, _Plan(BEGAN - 9), BEGAN),
        (BEGAN - 9, _Plan(BEGAN + 50), BEGAN),
        (BEGAN + 9, None, None),
    ],
)
def test_cuts_earlier_than_golds_position_at_the_start_are_ignored(
    monkeypatch: pytest.MonkeyPatch, last: int, silver: _Plan | None, found: int | None
) -> None:
    asked: list[int] = []

    def last_wanted(spark: object, settings: Settings, low: int, high: int) -> int:
        assert settings.until == "log.000002:500"
        asked.append(low)
        return last

    monkeypatch.setattr(cut_at, "last_wanted", last_wanted)
    monkeypatch.setattr(cut_at, "read_files", lambda *_: [file_row("log.000002", 2)])
    monkeypatch.setattr(cut_at, "is_in_silver", lambda *_: True)
    monkeypatch.setattr(cut_at, "silver_progress", lambda _: _Standing(silver))
    settings = Settings(source="shop", lake="lake")
    began = GoldPosition(BEGAN, GoldGtids(), 1)
    place = AtPosition("log.000002", 500)
    looking = cut_at._AtPosition(NO_SPARK, settings, cast(Ledger, None), place, began)
    assert looking._last_before() == found
    assert asked == ([] if silver is None else [BEGAN])
