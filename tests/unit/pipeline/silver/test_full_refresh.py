"""When a full refresh of silver starts, continues, ends, and is refused; without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.errors import ConcurrentRunError, SettingsError
from pipeline.lake.ledger.history_removed import ABANDONED, SPARED, Removed, removed, spared
from pipeline.lake.tables.native import NativeTables
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import full_refresh, next_batch
from pipeline.silver.decode.segment_refs import SegmentRef
from pipeline.silver.full_refresh import (
    RefreshRefusedError,
    begin,
    beginning_plan,
    require_no_maintenance,
    require_whole,
    resumes_refresh,
    settings_digest,
)
from pipeline.silver.next_batch import Next, next_plan
from pipeline.silver.plan.batch_plan import Refresh, RefreshStart, SilverPlan
from pipeline.silver.plan.new_segments import AvailableSegments
from pipeline.silver.plan.progress import (
    SilverProgress,
    require_same_types,
    silver_progress,
    silver_progress_ahead,
)
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row
from tests.support.lake.memory_ledger import MemoryLedger

TEXT = Settings(source="shop")
MICROS = Settings(source="shop", types={"time": "micros"})
DECODED = SilverPlan((1, 0), (3, 900), 3 << 40, conf=TEXT.decoding, executed=ExecutedGtids())
GONE = {"removed": {"lsn": 5, "committed_at": 7}}


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> MemoryLedger:
    """A ledger in which silver has decoded one batch, part of which maintenance has removed."""
    monkeypatch.setattr(full_refresh, "read_items", lambda *_: [])
    made = MemoryLedger()
    made.did("silver", DECODED.to_body())
    made.did("maintenance", GONE)
    return made


def run_of(ledger: MemoryLedger, settings: Settings = MICROS) -> LayerRun:
    return LayerRun(None, settings, ledger, QuietProgress())


def starting_plan(ledger: MemoryLedger, settings: Settings = MICROS) -> SilverPlan:
    plan = beginning_plan(run_of(ledger, settings))
    assert plan is not None
    assert SilverPlan.from_body(plan.to_body()) == plan
    return plan


def test_a_refresh_without_decoded_batches_starts_nothing() -> None:
    assert beginning_plan(run_of(MemoryLedger())) is None
    assert silver_progress(MemoryLedger()) == SilverProgress()


def test_a_refresh_is_under_way_from_its_plan_to_its_last_batch(ledger: MemoryLedger) -> None:
    assert silver_progress_ahead(ledger) == SilverProgress(1, DECODED)
    assert not resumes_refresh(run_of(ledger, MICROS))
    plan = ledger.propose("silver", starting_plan(ledger).to_body())
    assert silver_progress(ledger) == SilverProgress(1, DECODED)
    refresh = Refresh(2, settings_digest(MICROS), under_way=True, maintained=1, upto=DECODED.end)
    assert silver_progress_ahead(ledger) == SilverProgress(2, None, refresh)
    assert resumes_refresh(run_of(ledger, MICROS))
    assert not resumes_refresh(run_of(ledger, TEXT))  # other settings
    ledger.finish(plan, {})
    assert silver_progress(ledger) == SilverProgress(2, None, refresh)
    part = replace(DECODED, conf=MICROS.decoding, refresh=refresh)
    ledger.did("silver", part.to_body())
    assert silver_progress(ledger) == SilverProgress(3, part, refresh)
    assert resumes_refresh(run_of(ledger, MICROS))
    last = replace(part, refresh=replace(refresh, under_way=False))
    ledger.did("silver", last.to_body())
    assert silver_progress_ahead(ledger) == SilverProgress(4, last, last.refresh)
    assert not resumes_refresh(run_of(ledger, MICROS))  # a new refresh with the same settings


def test_a_refresh_is_identified_by_the_content_of_definitions(tmp_path: Path) -> None:
    def of(name: str) -> str:
        return settings_digest(Settings(source="shop", definitions=str(tmp_path / name)))

    (tmp_path / "a.sql").write_text("CREATE TABLE shop.t (a INT)")
    (tmp_path / "b.sql").write_text("CREATE TABLE shop.t (a INT)")
    before = of("a.sql")
    assert before == of("b.sql") != settings_digest(TEXT)
    (tmp_path / "a.sql").write_text("CREATE TABLE shop.t (b INT)")
    assert of("a.sql") != before
    with pytest.raises(SettingsError, match="cannot be read"):
        of("c.sql")


def test_the_types_are_those_of_the_refresh_from_its_plan_on(ledger: MemoryLedger) -> None:
    require_same_types(ledger, TEXT)
    with pytest.raises(SettingsError, match="binlake run --full-refresh"):
        require_same_types(ledger, MICROS)
    plan = ledger.propose("silver", starting_plan(ledger).to_body())
    for _ in range(2):
        require_same_types(ledger, MICROS)
        with pytest.raises(SettingsError, match="created with micros"):
            require_same_types(ledger, TEXT)
        ledger.finish(plan, {})


def test_an_abandoned_refresh_changes_nothing(ledger: MemoryLedger) -> None:
    ledger.did("silver", starting_plan(ledger).to_body(), {ABANDONED: "bronze has lost a file"})
    found = silver_progress_ahead(ledger)
    assert (found.batch, found.refresh) == (2, Refresh())
    assert found.plan is not None
    assert (found.plan.end, found.plan.last_lsn) == (DECODED.end, DECODED.last_lsn)
    require_same_types(ledger, TEXT)
    assert removed(ledger) == Removed(5, 7)


def test_a_refresh_restores_what_maintenance_had_removed(ledger: MemoryLedger) -> None:
    assert removed(ledger) == Removed(5, 7)
    ledger.did("silver", starting_plan(ledger).to_body())
    assert removed(ledger) == Removed()
    ledger.did("silver", replace(DECODED, refresh=Refresh(2, maintained=1)).to_body())
    assert removed(ledger) == Removed()
    plan = ledger.propose("maintenance", GONE)
    ledger.finish(plan, spared(ledger, plan))
    assert removed(ledger) == Removed()
    ledger.did("maintenance", GONE, {SPARED: False})
    assert removed(ledger) == Removed(5, 7)


def test_data_removed_before_a_spared_batch_stays_removed(ledger: MemoryLedger) -> None:
    for _ in range(2):
        plan = ledger.propose("maintenance", {"removed": {"lsn": 9, "committed_at": 9}})
        assert removed(ledger) == Removed(9, 9)
        ledger.finish(plan, spared(ledger, plan))
        assert removed(ledger) == Removed(5, 7)
    begins = starting_plan(ledger).begins
    assert begins is not None
    assert begins.maintained == 3
    # Tables that the first batch removed exist again, though later ones record it.
    ledger.did("silver", replace(DECODED, refresh=Refresh(2, maintained=1)).to_body())
    assert removed(ledger) == Removed()


def test_a_batch_of_a_run_that_died_may_have_removed_before_it_was_spared(
    ledger: MemoryLedger,
) -> None:
    plan = ledger.propose("maintenance", {"removed": {"lsn": 9, "committed_at": 9}})
    other = MemoryLedger(ledger.shared)
    other.run_id = "another"
    other.finish(plan, spared(other, plan))
    assert removed(other) == Removed(9, 9)


def test_maintenance_between_plan_and_start_counts_as_before_the_refresh(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_refresh, "read_files", lambda *_: FILES)
    monkeypatch.setattr(full_refresh, "stored_ordinals", lambda *_: {1, 2, 3})
    monkeypatch.setattr(full_refresh, "read_items", lambda *_: [])
    monkeypatch.setattr(full_refresh, "tables_of", lambda _, lake: NativeTables(lake))
    body = starting_plan(ledger)
    MemoryLedger(ledger.shared).did("maintenance", GONE)
    plan = ledger.propose("silver", body.to_body())
    begin(run_of(ledger), plan, body)
    assert removed(ledger) == Removed()
    refresh = silver_progress(ledger).refresh
    assert refresh.maintained == 2
    ledger.did("silver", replace(DECODED, refresh=refresh).to_body())
    assert removed(ledger) == Removed()


def test_unfinished_maintenance_prevents_a_refresh(ledger: MemoryLedger) -> None:
    require_no_maintenance(ledger)
    ledger.propose("maintenance", GONE)
    with pytest.raises(ConcurrentRunError, match="binlake maintain is running") as raised:
        require_no_maintenance(ledger)
    assert raised.value.retryable


def test_a_second_start_empties_the_tables_of_the_first(ledger: MemoryLedger) -> None:
    first = starting_plan(ledger)
    tables = (("shop", "t", 1), ("shop", "t", 2))
    begins = RefreshStart(settings_digest(TEXT), 1, tables, TEXT.decoding)
    ledger.did("silver", replace(first, begins=begins).to_body())
    second = starting_plan(ledger)
    assert second.begins is not None
    assert second.begins.tables == tables


def test_a_refresh_does_not_end_at_a_gap_before_silver_s_previous_position() -> None:
    refresh = Refresh(2, "settings_digest", under_way=True, upto=(3, 900))
    for end, more, under_way in (
        ((2, 100), True, True),
        ((2, 100), False, True),
        ((3, 899), False, True),
        ((3, 900), True, True),
        ((3, 900), False, False),
        ((4, 0), False, False),
    ):
        assert refresh.after(end, more=more).under_way is under_way
    done = replace(refresh, under_way=False)
    assert done.after((4, 0), more=True) == done
    part = replace(DECODED, end=(2, 100), refresh=refresh)
    assert SilverPlan.from_body(json.loads(json.dumps(part.to_body()))) == part


def test_a_waiting_refresh_is_reported_without_a_gap(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(next_batch, "new_segments", lambda *_: AvailableSegments((), (), ()))
    assert next_plan(run_of(ledger)) == Next(None, ())
    ledger.did("silver", starting_plan(ledger).to_body())
    (gap,) = next_plan(run_of(ledger)).gaps
    assert "had reached byte 900 of file number 3" in gap
    monkeypatch.setattr(
        next_batch, "new_segments", lambda *_: AvailableSegments((), (), ("lacks",))
    )
    assert next_plan(run_of(ledger)).gaps == ("lacks",)


def test_a_replacing_refresh_continues_to_the_position_before_both(
    ledger: MemoryLedger,
) -> None:
    ledger.did("silver", starting_plan(ledger).to_body())
    for _ in range(2):
        refresh = silver_progress(ledger).refresh
        ledger.did("silver", replace(DECODED, end=(2, 100), refresh=refresh).to_body())
        again = starting_plan(ledger, TEXT)
        assert again.begins is not None
        assert again.begins.upto == DECODED.end
        ledger.did("silver", again.to_body())
    over = replace(silver_progress(ledger).refresh, under_way=False)
    ledger.did("silver", replace(DECODED, end=(4, 5), refresh=over).to_body())
    begins = starting_plan(ledger).begins
    assert begins is not None
    assert begins.upto == (4, 5)


def segment(ordinal: int, start: int, end: int) -> SegmentRef:
    return SegmentRef(f"log.{ordinal:06}", ordinal, start, end, 1, GtidSet.of(f"u:{ordinal}{end}"))


SEGMENTS = [
    *(segment(1, 0, 600), segment(1, 600, 900)),
    *(segment(2, 0, 400), segment(3, 0, 500), segment(3, 500, 700)),
]


def test_a_portion_keeps_the_data_of_its_segments() -> None:
    executed: list[ExecutedGtids] = [ExecutedGtids()]
    for ref in SEGMENTS:
        executed.append(executed[-1].after(ref.gtids))
    accepted = tuple((ref, "lost") for ref in (SEGMENTS[2], SEGMENTS[3]))
    seen = {ref.place: "u:1" for ref in (SEGMENTS[1], SEGMENTS[4])}
    new = AvailableSegments(tuple(SEGMENTS), tuple(executed[:-1]), ("a gap",), accepted, seen)
    part = new.portion(901)
    assert part.segments == tuple(SEGMENTS[:3])
    assert part.executed == executed[3]
    assert (part.gaps, part.more) == ((), True)
    assert part.given_up == accepted[:1]
    assert part.seen == {SEGMENTS[1].place: "u:1"}


FILES = [file_row(f"log.{n:06}", n) for n in (1, 2, 3)]
NONE = ExecutedGtids()
WHOLE = AvailableSegments(tuple(SEGMENTS), (NONE,) * len(SEGMENTS))


@pytest.mark.parametrize(
    ("there", "new", "message"),
    [
        ({2, 3}, WHOLE, r"log\.000001 of shop"),
        (set(), WHOLE, r"log\.000001, log\.000002, log\.000003 of shop"),
        (
            {1, 2, 3},
            AvailableSegments(tuple(SEGMENTS[:2]), (NONE, NONE), ("log.000002 lacks",)),
            "lacks",
        ),
        ({1, 2, 3}, AvailableSegments((), (), ("log.000001 lacks",)), "lacks"),
    ],
)
def test_a_refresh_is_refused_if_not_everything_can_be_restored(
    there: set[int], new: AvailableSegments, message: str
) -> None:
    with pytest.raises(RefreshRefusedError, match=message) as raised:
        require_whole(FILES, there, "shop", new, (3, 700))
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "fields", [{}, {"gaps": ("what silver waits for anyway",)}, {"segments": ()}]
)
def test_a_refresh_is_accepted_if_everything_can_be_restored(fields: dict[str, Any]) -> None:
    empty = file_row("log.000004", 4, ingested_upto=0)
    require_whole([*FILES, empty], {1, 2, 3}, "shop", replace(WHOLE, **fields), (3, 700))
