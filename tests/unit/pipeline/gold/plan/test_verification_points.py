"""Verification points at which gold stops, and the removal of obsolete ones."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.errors import SettingsError
from pipeline.gold.plan import verification_points as points
from pipeline.gold.plan.verification_points import (
    PATIENCE,
    AtPosition,
    WithGtids,
    next_verification_point,
    requested_point,
)
from pipeline.lake import stores
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.source import GtidSet

NO_SPARK = cast(SparkSession, None)
LOW, HIGH = 100, 900


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LayerRun:
    """Return a run over a lake in which position n of the only file has the LSN n."""

    def last_wanted(run: object, until: str, low: int, high: int) -> int:
        file, position = until.split(":")
        if file != "binlog.000001":
            raise SettingsError("no such file", key="until")
        return max(low, min(high, int(position)))

    monkeypatch.setattr(points, "last_wanted", last_wanted)
    settings = Settings(source="shop", lake=str(tmp_path))
    return LayerRun.begin(NO_SPARK, settings, QuietProgress())


def asked(run: LayerRun) -> list[str]:
    return stores.names_in(run.lake.verification_points("shop"))


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([], HIGH),
        ([500], 500),
        ([700, 300, 500], 300),
        ([1000], HIGH),
        ([50, 400], 400),
    ],
    ids=["none", "one", "the first of several", "after everything", "one that is passed"],
)
def test_gold_stops_at_the_first_point_after_it(
    run: LayerRun, places: list[int], expected: int
) -> None:
    with ExitStack() as waiting:
        for place in places:
            waiting.enter_context(
                requested_point(run.lake, "shop", AtPosition("binlog.000001", place))
            )
        assert next_verification_point(run, LOW, HIGH) == expected
        assert len(asked(run)) == sum(place > LOW for place in places)


def test_a_point_is_requested_as_long_as_somebody_waits(run: LayerRun) -> None:
    with requested_point(run.lake, "shop", AtPosition("binlog.000001", 500)):
        assert next_verification_point(run, LOW, HIGH) == 500
        assert next_verification_point(run, 400, HIGH) == 500
    assert asked(run) == []


def test_points_of_another_source_are_ignored(run: LayerRun) -> None:
    with requested_point(run.lake, "blog", AtPosition("binlog.000001", 500)):
        assert next_verification_point(run, LOW, HIGH) == HIGH


def test_a_log_file_not_in_the_lake_yet_is_waited_for(run: LayerRun) -> None:
    with requested_point(run.lake, "shop", AtPosition("binlog.000002", 500)):
        assert next_verification_point(run, LOW, HIGH) == HIGH
        assert len(asked(run)) == 1


def test_a_future_point_is_kept_if_nothing_is_new(run: LayerRun) -> None:
    with requested_point(run.lake, "shop", AtPosition("binlog.000001", 1000)):
        assert next_verification_point(run, HIGH, HIGH) == HIGH
        assert len(asked(run)) == 1


def test_a_gtid_set_is_a_verification_point(run: LayerRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a log whose n-th transaction has number n and LSN n."""

    def last_of(run: object, gtids: GtidSet, low: int, high: int) -> int:
        return next((n for n in range(low, high) if f"u:{n + 1}" not in gtids), high)

    monkeypatch.setattr(points, "last_of", last_of)
    with (
        requested_point(run.lake, "shop", WithGtids("u:1-700")),
        requested_point(run.lake, "shop", AtPosition("binlog.000001", 500)),
    ):
        assert next_verification_point(run, LOW, HIGH) == 500
        assert next_verification_point(run, 500, HIGH) == 700
        assert next_verification_point(run, 700, HIGH) == HIGH
        assert asked(run) == []


def test_expired_requests_are_removed(run: LayerRun) -> None:
    old = {"file": "binlog.000001", "position": 500, "requested_at": time.time() - PATIENCE - 1}
    stores.write(f"{run.lake.verification_points('shop')}/old.json", json.dumps(old).encode())
    assert next_verification_point(run, LOW, HIGH) == HIGH
    assert asked(run) == []


def test_a_request_being_written_is_not_read(run: LayerRun) -> None:
    stores.write(f"{run.lake.verification_points('shop')}/half.json{stores.ASIDE}", b"{")
    assert next_verification_point(run, LOW, HIGH) == HIGH
    assert len(asked(run)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1]",
        '{"gtid_set": "u:1"}',
        '{"file": "binlog.000001"}',
        '{"file": 1, "position": "x", "requested_at": 0}',
    ],
)
def test_a_malformed_request_stops_nothing(run: LayerRun, text: str) -> None:
    stores.write(f"{run.lake.verification_points('shop')}/odd.json", text.encode())
    with requested_point(run.lake, "shop", AtPosition("binlog.000001", 500)):
        assert next_verification_point(run, LOW, HIGH) == 500


def test_a_newer_releases_request_is_understood(run: LayerRun) -> None:
    request = {"file": "binlog.000001", "position": 500, "requested_at": time.time(), "more": 1}
    stores.write(f"{run.lake.verification_points('shop')}/new.json", json.dumps(request).encode())
    assert next_verification_point(run, LOW, HIGH) == 500


def test_an_impossible_position_is_removed(run: LayerRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(*_: object) -> int:
        raise ValueError("is no place")

    monkeypatch.setattr(points, "last_wanted", unreadable)
    with requested_point(run.lake, "shop", AtPosition("binlog", 500)):
        assert next_verification_point(run, LOW, HIGH) == HIGH
        assert asked(run) == []
