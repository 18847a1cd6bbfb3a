"""How far data may be removed, for each need that keeps it; the plan in the ledger."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.lake.ledger.ledger import Plan
from pipeline.maintenance.needs import bronze_age, decoding_needs, gold_needs
from pipeline.maintenance.removals import (
    Bronze,
    MaintenancePlan,
    Need,
    bronze_files,
    first_kept,
    first_young,
)
from pipeline.silver.plan.batch_plan import Retried, SilverPlan
from tests.support.bronze.bronze_rows import file_row

NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)
DAY = timedelta(days=1)


def at(ordinal: int, pos: int = 0) -> int:
    """Return an LSN."""
    return ordinal << 40 | pos


@dataclass
class Plans:
    """A ledger with these plans."""

    open_plans: dict[str, dict[str, Any]] = field(default_factory=dict)
    last_plans: dict[str, dict[str, Any]] = field(default_factory=dict)

    def open(self, layer: str) -> Plan | None:
        body = self.open_plans.get(layer)
        return Plan("shop", layer, 8, body) if body else None

    def last(self, layer: str) -> Plan | None:
        body = self.last_plans.get(layer)
        return Plan("shop", layer, 7, body) if body else None

    def record(self, layer: str) -> dict[str, Any] | None:
        return {}


def state(*tables: TableState, **fields: Any) -> GoldState:
    return GoldState(cut_lsn=at(9, 500), tables={t.name: t for t in tables}, **fields)


def table(name: str, to: int, held: str | None = None, **fields: Any) -> TableState:
    return TableState("shop", name, to_lsn=to, held=held, **fields)


APPLIED = table("orders", at(9, 500))
HELD = table("held", at(4, 100), held="it is damaged")
EXCLUDED = table("left_out", at(2, 100))
MOVING = table("orders", at(9, 900), from_lsn=at(9, 300), touched=True)


@pytest.mark.parametrize(
    ("last", "under_way", "lsn", "reason"),
    [
        (None, None, 0, "applied nothing"),
        (state(APPLIED), None, at(9, 501), "gold has not applied the rest"),
        (state(APPLIED, HELD), None, at(4, 101), "shop.held is held there: it is damaged"),
        (state(APPLIED, EXCLUDED), None, at(9, 501), "gold has not applied"),
        (state(APPLIED, xa_from=at(5, 7)), None, at(5, 7), "XA transaction"),
        (state(APPLIED, xa_from=at(9, 501)), None, at(9, 501), "gold has not applied"),
        (state(APPLIED, xa_from=0), None, at(9, 501), "gold has not applied"),
        (state(APPLIED), state(MOVING), at(9, 301), "batch 8 is in progress"),
        (state(APPLIED), state(replace(MOVING, touched=False)), at(9, 501), "gold has not applied"),
    ],
)
def test_gold_needs_what_it_has_not_applied(
    last: GoldState | None, under_way: GoldState | None, lsn: int, reason: str
) -> None:
    ledger = Plans(
        {"gold": under_way.to_body()} if under_way else {},
        {"gold": last.to_body()} if last else {},
    )
    need = min(gold_needs(ledger))
    assert need.before_lsn == lsn
    assert reason in need.since


def silver(**fields: Any) -> dict[str, Any]:
    whole = {"start": (6, 4), "end": (9, 700), "last_lsn": at(9, 600), "executed": ExecutedGtids()}
    return SilverPlan(**{**whole, **fields}).to_body()


@pytest.mark.parametrize(
    ("last", "under_way", "lsn", "reason"),
    [
        (None, None, 0, "decoded nothing"),
        (silver(), None, at(9, 700), "silver has not decoded the rest"),
        (silver(), silver(start=(9, 700), end=(9, 900)), at(9, 700), "silver"),
        (
            silver(),
            silver(start=(9, 700), end=(9, 700), retried=(Retried(3, 40, (1,)),)),
            at(3, 40),
            "batch 8 is in progress",
        ),
    ],
)
def test_bronze_is_needed_from_where_decoding_continues(
    last: dict[str, Any] | None, under_way: dict[str, Any] | None, lsn: int, reason: str
) -> None:
    ledger = Plans({"silver": under_way} if under_way else {}, {"silver": last} if last else {})
    need = min(decoding_needs(ledger))
    assert need.before_lsn == lsn
    assert reason in need.since


FILES = [file_row(f"log.00000{n}", n, batch=n) for n in range(1, 7)]
OPEN = replace(FILES[1], state="open", complete=False)


@pytest.mark.parametrize(
    ("files", "need", "there", "faulty", "runs"),
    [
        (FILES, at(4), range(7), (), ((1, 3),)),
        (FILES, at(4, 900), range(7), (), ((1, 3),)),
        (FILES, at(1, 900), range(7), (), ()),
        (FILES, 0, range(7), (), ()),
        (FILES, at(6), range(7), {3}, ((1, 2), (4, 5))),
        (FILES, at(6), {4, 5, 6}, (), ((4, 5),)),
        ([FILES[0], OPEN, *FILES[2:]], at(4), range(7), (), ((1, 1), (3, 3))),
        (FILES, at(99), range(7), (), ((1, 6),)),
    ],
)
def test_complete_files_of_which_nothing_is_needed_are_removed(
    files: Any, need: int, there: Any, faulty: Any, runs: Any
) -> None:
    found = bronze_files(files, [Need(need, "why")], there=there, faulty=faulty)
    assert found.files == runs
    count = sum(last - first + 1 for first, last in runs)
    assert (found.count, found.bytes) == (count, 1000 * count)
    assert found.since == "why"


def test_the_first_young_file_keeps_the_later_ones() -> None:
    assert first_young(FILES, old={1, 2, 4, 5, 6}) == at(3)
    assert first_young(FILES, old=range(9)) == at(7)
    assert first_young([], old=()) == at(1)


@pytest.mark.parametrize(
    ("days", "keep", "lsn"),
    [(31, 30 * DAY, at(7)), (30, 30 * DAY, at(1)), (1, timedelta(0), at(7)), (99, None, 0)],
)
def test_the_age_of_bronze_counts_from_ingest(days: int, keep: timedelta | None, lsn: int) -> None:
    finished = {("bronze", n): NOW - days * DAY for n in range(1, 7)}
    assert bronze_age(tuple(FILES), finished, NOW, keep).before_lsn == lsn


CUTS: dict[int, datetime | None] = {n: NOW - (10 - n) * DAY for n in range(1, 6)}


@pytest.mark.parametrize(
    ("cuts", "days", "batch"),
    [
        ({}, 7, 0),
        (CUTS, 7, 3),
        (CUTS, 99, 1),
        (CUTS, 2, 5),
        (CUTS, 0, 5),
        (dict(reversed(CUTS.items())), 7, 3),
        ({**CUTS, 5: None}, 0, 5),
        ({3: None, 4: CUTS[4], 5: CUTS[5]}, 0, 3),
    ],
)
def test_the_last_cut_and_young_cuts_are_kept(
    cuts: dict[int, datetime | None], days: int, batch: int
) -> None:
    assert first_kept(cuts, NOW, days * DAY) == batch


PLAN = MaintenancePlan(
    5,
    Bronze(8 << 40, "silver has come to it", ((1, 3), (7, 7)), 4, 4000),
    Need(9 << 40, "gold has come to it"),
    Removed(9 << 40, 1_700_000_000_000_000),
    4,
)
STORED = (
    '{"cuts_from": 5, "bronze": {"before_lsn": 8796093022208, "since": "silver has come to it",'
    ' "files": [[1, 3], [7, 7]], "count": 4, "bytes": 4000}, "silver": {"before_lsn":'
    ' 9895604649984, "since": "gold has come to it"}, "removed": {"lsn": 9895604649984,'
    ' "committed_at": 1700000000000000}, "cascades_upto": 4}'
)


def test_a_plan_round_trips_through_the_ledger() -> None:
    assert MaintenancePlan.from_body(json.loads(json.dumps(PLAN.to_body()))) == PLAN
    assert json.dumps(PLAN.to_body()) == STORED


def test_removed_history_counts_from_the_plan_on() -> None:
    assert removed(Plans()) == Removed()
    assert removed(Plans({"maintenance": PLAN.to_body()})) == PLAN.removed
    assert removed(Plans({}, {"maintenance": PLAN.to_body()})) == PLAN.removed
    assert f"before LSN {9 << 40}" in PLAN.removed.sentence


def test_the_earliest_need_is_the_limit() -> None:
    needs = [Need(at(5), "later"), Need(at(3), "first"), Need(at(9), "last")]
    assert min(needs) == Need(at(3), "first")
