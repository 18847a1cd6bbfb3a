"""When a full refresh of silver begins, goes on, ends, is refused; without Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.bronze.executed_gtids import Executed
from pipeline.errors import ConcurrentRunError, SettingsError
from pipeline.lake.ledger.history_removed import ABANDONED, SPARED, Removed, removed, spared
from pipeline.lake.tables.native import NativeTables
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver import full_refresh as anew, planning
from pipeline.silver.decode.segments import SegmentRef
from pipeline.silver.full_refresh import (
    RefreshRefusedError,
    begin,
    beginning_plan,
    goes_on,
    require_no_maintenance,
    require_whole,
)
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.progress import (
    Standing,
    require_same_types,
    silver_standing,
    silver_to_be,
)
from pipeline.silver.plan.refresh import Begins, Refresh, asked
from pipeline.silver.plan.seen_before import Recognised
from pipeline.silver.planning import Next, next_plan
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row
from tests.support.lake.memory_ledger import MemoryLedger

TEXT = Settings(source="shop")
MICROS = Settings(source="shop", types={"time": "micros"})
DECODED = SilverPlan((1, 0), (3, 900), 3 << 40, conf=TEXT.decoding, executed=Executed())
GONE = {"removed": {"lsn": 5, "committed_at": 7}}


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> MemoryLedger:
    """Silver has decoded one batch, and maintenance has removed of it."""
    monkeypatch.setattr(anew, "read_items", lambda *_: [])
    made = MemoryLedger()
    made.did("silver", DECODED.to_body())
    made.did("maintenance", GONE)
    return made


def begun(ledger: MemoryLedger, settings: Settings = MICROS) -> SilverPlan:
    plan = beginning_plan(None, settings, ledger)
    assert plan is not None
    assert SilverPlan.from_body(plan.to_body()) == plan
    return plan


def test_nothing_is_begun_where_nothing_is_decoded() -> None:
    assert beginning_plan(None, MICROS, MemoryLedger()) is None
    assert silver_standing(MemoryLedger()) == Standing()


def test_a_refresh_is_under_way_from_its_plan_to_its_last_batch(ledger: MemoryLedger) -> None:
    assert silver_to_be(ledger) == Standing(1, DECODED)
    assert not goes_on(ledger, MICROS)
    plan = ledger.propose("silver", begun(ledger).to_body())
    assert silver_standing(ledger) == Standing(1, DECODED)
    refresh = Refresh(2, asked(MICROS), under_way=True, maintained=1, upto=DECODED.end)
    assert silver_to_be(ledger) == Standing(2, None, refresh)
    assert goes_on(ledger, MICROS)
    assert not goes_on(ledger, TEXT)  # another is asked for
    ledger.finish(plan, {})
    assert silver_standing(ledger) == Standing(2, None, refresh)
    part = replace(DECODED, conf=MICROS.decoding, refresh=refresh)
    ledger.did("silver", part.to_body())
    assert silver_standing(ledger) == Standing(3, part, refresh)
    assert goes_on(ledger, MICROS)
    last = replace(part, refresh=replace(refresh, under_way=False))
    ledger.did("silver", last.to_body())
    assert silver_to_be(ledger) == Standing(4, last, last.refresh)
    assert not goes_on(ledger, MICROS)  # given again, it is done again


def test_other_definitions_are_another_refresh_wherever_they_are(tmp_path: Path) -> None:
    def of(name: str) -> str:
        return asked(Settings(source="shop", definitions=str(tmp_path / name)))

    (tmp_path / "a.sql").write_text("CREATE TABLE shop.t (a INT)")
    (tmp_path / "b.sql").write_text("CREATE TABLE shop.t (a INT)")
    before = of("a.sql")
    assert before == of("b.sql") != asked(TEXT)
    (tmp_path / "a.sql").write_text("CREATE TABLE shop.t (b INT)")
    assert of("a.sql") != before
    with pytest.raises(SettingsError, match="cannot be read"):
        of("c.sql")


def test_the_types_are_those_of_the_refresh_from_its_plan_on(ledger: MemoryLedger) -> None:
    require_same_types(ledger, TEXT)
    with pytest.raises(SettingsError, match="binlake run --full-refresh"):
        require_same_types(ledger, MICROS)
    plan = ledger.propose("silver", begun(ledger).to_body())
    for _ in range(2):
        require_same_types(ledger, MICROS)
        with pytest.raises(SettingsError, match="made with micros"):
            require_same_types(ledger, TEXT)
        ledger.finish(plan, {})


def test_one_that_is_abandoned_leaves_all_as_it_was(ledger: MemoryLedger) -> None:
    ledger.did("silver", begun(ledger).to_body(), {ABANDONED: "bronze has lost a file"})
    found = silver_to_be(ledger)
    assert (found.batch, found.refresh) == (2, Refresh())
    assert found.plan is not None
    assert (found.plan.end, found.plan.cut_lsn) == (DECODED.end, DECODED.cut_lsn)
    require_same_types(ledger, TEXT)
    assert removed(ledger) == Removed(5, 7)


def test_what_was_removed_before_a_refresh_is_there_again(ledger: MemoryLedger) -> None:
    assert removed(ledger) == Removed(5, 7)
    ledger.did("silver", begun(ledger).to_body())
    assert removed(ledger) == Removed()
    ledger.did("silver", replace(DECODED, refresh=Refresh(2, maintained=1)).to_body())
    assert removed(ledger) == Removed()
    plan = ledger.propose("maintenance", GONE)
    ledger.finish(plan, spared(ledger, plan))
    assert removed(ledger) == Removed()
    ledger.did("maintenance", GONE, {SPARED: False})
    assert removed(ledger) == Removed(5, 7)


def test_what_was_removed_before_a_batch_that_is_spared_stays_so(ledger: MemoryLedger) -> None:
    for _ in range(2):
        plan = ledger.propose("maintenance", {"removed": {"lsn": 9, "committed_at": 9}})
        assert removed(ledger) == Removed(9, 9)
        ledger.finish(plan, spared(ledger, plan))
        assert removed(ledger) == Removed(5, 7)
    begins = begun(ledger).begins
    assert begins is not None
    assert begins.maintained == 3
    # What the first batch removed is there again, though later ones tell of it.
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


def test_maintenance_between_the_plan_and_its_beginning_counts_as_before_it(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(anew, "read_files", lambda *_: FILES)
    monkeypatch.setattr(anew, "stored_ordinals", lambda *_: {1, 2, 3})
    monkeypatch.setattr(anew, "read_items", lambda *_: [])
    monkeypatch.setattr(anew, "tables_of", lambda _, lake: NativeTables(lake))
    body = begun(ledger)
    MemoryLedger(ledger.shared).did("maintenance", GONE)
    plan = ledger.propose("silver", body.to_body())
    begin(SimpleNamespace(), MICROS, ledger, plan, body)
    assert removed(ledger) == Removed()
    refresh = silver_standing(ledger).refresh
    assert refresh.maintained == 2
    ledger.did("silver", replace(DECODED, refresh=refresh).to_body())
    assert removed(ledger) == Removed()


def test_maintenance_that_is_not_done_keeps_a_refresh_from_beginning(ledger: MemoryLedger) -> None:
    require_no_maintenance(ledger)
    ledger.propose("maintenance", GONE)
    with pytest.raises(ConcurrentRunError, match="binlake maintain is under way") as raised:
        require_no_maintenance(ledger)
    assert raised.value.retryable


def test_a_second_beginning_empties_what_the_first_was_to(ledger: MemoryLedger) -> None:
    first = begun(ledger)
    tables = (("shop", "t", 1), ("shop", "t", 2))
    begins = Begins(asked(TEXT), 1, tables, TEXT.decoding)
    ledger.did("silver", replace(first, begins=begins).to_body())
    second = begun(ledger)
    assert second.begins is not None
    assert second.begins.tables == tables


def test_it_is_not_over_at_a_gap_before_where_silver_stood() -> None:
    refresh = Refresh(2, "asked", under_way=True, upto=(3, 900))
    for end, more, under_way in (
        ((2, 100), True, True),
        ((2, 100), False, True),
        ((3, 899), False, True),
        ((3, 900), True, True),
        ((3, 900), False, False),
        ((4, 0), False, False),
    ):
        assert refresh.behind(end, more=more).under_way is under_way
    done = replace(refresh, under_way=False)
    assert done.behind((4, 0), more=True) == done
    part = replace(DECODED, end=(2, 100), refresh=refresh)
    assert SilverPlan.from_body(json.loads(json.dumps(part.to_body()))) == part


def test_silver_says_where_it_waits_though_no_gap_tells(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "what_is_new", lambda *_: Recognised((), (), ()))
    assert next_plan(None, MICROS, ledger, QuietProgress()) == Next(None, ())
    ledger.did("silver", begun(ledger).to_body())
    (told,) = next_plan(None, MICROS, ledger, QuietProgress()).gaps
    assert "had come to byte 900 of file number 3" in told
    monkeypatch.setattr(planning, "what_is_new", lambda *_: Recognised((), (), ("lacks",)))
    assert next_plan(None, MICROS, ledger, QuietProgress()).gaps == ("lacks",)


def test_one_in_place_of_another_goes_to_where_silver_stood_before_both(
    ledger: MemoryLedger,
) -> None:
    ledger.did("silver", begun(ledger).to_body())
    for _ in range(2):
        refresh = silver_standing(ledger).refresh
        ledger.did("silver", replace(DECODED, end=(2, 100), refresh=refresh).to_body())
        again = begun(ledger, TEXT)
        assert again.begins is not None
        assert again.begins.upto == DECODED.end
        ledger.did("silver", again.to_body())
    over = replace(silver_standing(ledger).refresh, under_way=False)
    ledger.did("silver", replace(DECODED, end=(4, 5), refresh=over).to_body())
    begins = begun(ledger).begins
    assert begins is not None
    assert begins.upto == (4, 5)


def segment(ordinal: int, start: int, end: int) -> SegmentRef:
    return SegmentRef(f"log.{ordinal:06}", ordinal, start, end, 1, GtidSet.of(f"u:{ordinal}{end}"))


SEGMENTS = [
    *(segment(1, 0, 600), segment(1, 600, 900)),
    *(segment(2, 0, 400), segment(3, 0, 500), segment(3, 500, 700)),
]


def test_a_portion_keeps_what_is_told_of_its_segments() -> None:
    behind: list[Executed] = [Executed()]
    for ref in SEGMENTS:
        behind.append(behind[-1].behind(ref.gtids))
    accepted = tuple((ref, "lost") for ref in (SEGMENTS[2], SEGMENTS[3]))
    seen = {ref.place: "u:1" for ref in (SEGMENTS[1], SEGMENTS[4])}
    new = Recognised(tuple(SEGMENTS), tuple(behind[1:]), ("a gap",), accepted, seen)
    part = new.portion(901)
    assert part.segments == tuple(SEGMENTS[:3])
    assert part.executed == behind[3]
    assert (part.gaps, part.more) == ((), True)
    assert part.given_up == accepted[:1]
    assert part.seen == {SEGMENTS[1].place: "u:1"}


FILES = [file_row(f"log.{n:06}", n) for n in (1, 2, 3)]
NONE = Executed()
WHOLE = Recognised(tuple(SEGMENTS), (NONE,) * len(SEGMENTS))


@pytest.mark.parametrize(
    ("there", "new", "told"),
    [
        ({2, 3}, WHOLE, r"log\.000001 of shop"),
        (set(), WHOLE, r"log\.000001, log\.000002, log\.000003 of shop"),
        (
            {1, 2, 3},
            Recognised(tuple(SEGMENTS[:2]), (NONE, NONE), ("log.000002 lacks",)),
            "lacks",
        ),
        ({1, 2, 3}, Recognised((), (), ("log.000001 lacks",)), "lacks"),
    ],
)
def test_it_is_refused_where_not_all_would_come_again(
    there: set[int], new: Recognised, told: str
) -> None:
    with pytest.raises(RefreshRefusedError, match=told) as raised:
        require_whole(FILES, there, "shop", new, (3, 700))
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    "fields", [{}, {"gaps": ("what silver waits for anyway",)}, {"segments": ()}]
)
def test_it_is_not_where_all_would(fields: dict[str, Any]) -> None:
    empty = file_row("log.000004", 4, ingested_upto=0)
    require_whole([*FILES, empty], {1, 2, 3}, "shop", replace(WHOLE, **fields), (3, 700))
