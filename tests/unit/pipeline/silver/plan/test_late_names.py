"""Tables that get names late, after maintenance has removed the start of the log."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.schema_history import TableName
from pipeline.schema_history.timeline.definitions_file import TimelineStart
from pipeline.settings import Settings
from pipeline.silver.decode.segment_refs import SegmentRef
from pipeline.silver.plan import late_names
from pipeline.silver.plan.survey import StartDefinitions
from tests.support.bronze.bronze_rows import file_row

FILES = [file_row(f"log.00000{n}", n) for n in (1, 2, 3)]
SETTINGS = Settings(definitions="start.sql")


def refs(*ordinals: int) -> list[SegmentRef]:
    return [SegmentRef(f"log.00000{n}", n, 0, 1000, 1) for n in ordinals]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The calls of `beginning`: where the log begins, and whether that is its first position."""
    calls: list[Any] = []

    def beginning(*places: Any, first: bool) -> StartDefinitions | None:
        calls.append((places[2], first))
        return StartDefinitions(1 << 40, TimelineStart()) if first else None

    monkeypatch.setattr(late_names, "unnamed", lambda _: {TableName("s", "t")})
    monkeypatch.setattr(late_names, "read_files", lambda *_: FILES)
    monkeypatch.setattr(late_names, "beginning", beginning)
    monkeypatch.setattr(late_names, "_seen_before", lambda *_: set())
    monkeypatch.setattr(late_names, "find", lambda *_: [])
    return calls


def retried(monkeypatch: pytest.MonkeyPatch, found: list[SegmentRef]) -> late_names.LateNames:
    monkeypatch.setattr(late_names.segment_refs, "between", lambda *_: found)
    options = late_names.TimelineOptions()
    spark: Any = None
    run = LayerRun.begin(spark, SETTINGS, QuietProgress())
    return late_names.late_names(run, [], options, (3, 1000))


def test_a_whole_log_is_read_from_its_start(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert retried(monkeypatch, refs(1, 2, 3)).gaps == ()
    assert asked == [((1, 0), True)]


@pytest.mark.parametrize(("there", "gone"), [((3,), 2), ((2, 3), 1), ((1, 3), 2)])
def test_a_dump_from_before_the_removed_log_is_not_used(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch, there: tuple[int, ...], gone: int
) -> None:
    found = retried(monkeypatch, refs(*there))
    assert (found.places, found.items) == (frozenset(), ())
    assert asked == [((gone + 1, 0), False)]
    assert f"binlake maintain removed the log up to log.00000{gone}" in found.gaps[0]
