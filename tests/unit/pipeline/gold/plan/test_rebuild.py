"""When gold is rebuilt, how that is resumed, and what its batches record; without Spark."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import cast

import pytest
from pyspark.sql import SparkSession

from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.errors import ConcurrentRunError
from pipeline.gold import Cut, GoldState, next_batch
from pipeline.gold.plan import rebuild
from pipeline.gold.plan.batch_plan import LEFT_OUT
from pipeline.gold.plan.publication import published
from pipeline.gold.plan.rebuild import (
    GONE,
    after_batch,
    awaits_rebuild,
    beginning_record,
    beginning_state,
    begins_refresh,
    is_overtaken,
    is_resumed,
    is_stale,
    not_rebuilt,
    progress,
    refresh_under_way,
    replaces_gone_table,
    require_all_of_silver,
)
from pipeline.gold.table.gold_table import BASE, POSITION, TableProgress, position_text
from pipeline.gold.table.state import TableState
from pipeline.lake.ledger.history_removed import ABANDONED, SPARED, spared
from pipeline.layer import LayerRun
from pipeline.maintenance.needs import decoding_needs, gold_needs
from pipeline.maintenance.removals import FROM_START
from pipeline.observe.progress import QuietProgress
from pipeline.run.totals import cut_of
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.silver.full_refresh import RefreshRefusedError
from pipeline.silver.plan.batch_plan import Refresh, RefreshStart, SilverPlan
from tests.support.lake.memory_ledger import MemoryLedger
from tests.support.silver.made_silver import definition, item

NO_SPARK = cast(SparkSession, None)
SETTINGS = Settings(source="shop", exclude=["shop.u"])
DECODED = SilverPlan((1, 0), (3, 900), 3 << 40, conf=SETTINGS.decoding, executed=ExecutedGtids())
T, U = TableName("shop", "t"), TableName("shop", "u")
ENTRIES = [
    {"schema": "shop", "table": name, "delta_id": name, "delta_version": 5} for name in ("t", "u")
]
PUBLISHED = {
    "cut": asdict(Cut("u:1-9", 1_000_000, ENTRIES)),
    "cut_lsn": 3 << 40,
    "published_at": "2026-11-22T10:00:00+00:00",
    "drift": {"shop.t": {}},
}
APPLIED = GoldState(
    1,
    3 << 40,
    tables={
        T: TableState("shop", "t", to_lsn=3 << 40, complete=True, version=2),
        U: TableState("shop", "u", to_lsn=2 << 40, version=1, reason=LEFT_OUT),
    },
)


@pytest.fixture
def ledger() -> MemoryLedger:
    """Return a ledger in which silver and gold have done a batch each."""
    made = MemoryLedger()
    made.did("silver", DECODED.to_body())
    made.did("gold", APPLIED.to_body(), PUBLISHED)
    return made


def decode_again(ledger: MemoryLedger, *, under_way: bool = False) -> None:
    begins = RefreshStart("asked", 0, (), SETTINGS.decoding)
    last = ledger.did("silver", replace(DECODED, begins=begins).to_body())
    if not under_way:
        ledger.did("silver", replace(DECODED, refresh=Refresh(last.batch)).to_body())


def begin(ledger: MemoryLedger) -> GoldState:
    state = beginning_state(SETTINGS, ledger)
    ledger.did("gold", state.to_body(), beginning_record(ledger.record("gold"), state))
    assert GoldState.of(ledger) == state
    return state


def test_all_but_excluded_tables_are_reset(ledger: MemoryLedger) -> None:
    state = begin(ledger)
    last = ledger.last("gold")
    assert last is not None
    assert begins_refresh(last)
    assert state.tables[T] == TableState("shop", "t", reason=GONE)
    assert state.tables[U] == APPLIED.tables[U]
    assert (state.cut_lsn, state.rebuild.upto, state.rebuild.under_way) == (0, 3 << 40, True)
    (sentence_of_t, sentence_of_u) = not_rebuilt(SETTINGS, state)
    assert ("shop.t" in sentence_of_t, "shop.u" in sentence_of_u) == (True, True)
    record = ledger.record("gold") or {}
    assert published(record) == {U: 5}
    assert Cut.of(record).gtid_set is None
    assert record["drift"] == {}
    # Until a snapshot is published, the previous one's lag counts.
    assert cut_of(record) == cut_of(PUBLISHED)
    again = beginning_record(record, state)
    assert again["published"] == record["published"]


def test_in_a_catalog_a_table_in_another_case_keeps_its_place() -> None:
    old, new = TableName("shop", "Orders"), TableName("shop", "orders")
    state = GoldState(tables={old: TableState("shop", "Orders", reason=GONE), T: APPLIED.tables[T]})
    catalog = Settings(source="shop", catalog="main")
    assert replaces_gone_table(catalog, state, new)
    assert not replaces_gone_table(SETTINGS, state, new)
    assert not replaces_gone_table(catalog, state, old)
    assert not replaces_gone_table(catalog, state, TableName("shop", "T"))
    other = TableState("shop", "ORDERS", version=1)
    assert not replaces_gone_table(
        catalog, replace(state, tables={**state.tables, other.name: other}), new
    )
    built = replace(state, tables={**state.tables, new: TableState("shop", "orders", version=1)})
    assert not_rebuilt(catalog, built) == []  # nobody should remove it
    assert len(not_rebuilt(catalog, state)) == len(not_rebuilt(SETTINGS, built)) == 1


def test_the_place_of_a_reset_table_counts_as_known(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def taken(_spark: object, reference: str, _source: str, *, known: bool) -> None:
        asked[reference] = known

    monkeypatch.setattr(next_batch, "taken", taken)
    gone = TableState("shop", "T", reason=GONE)
    items = [item("create", n, definition(name)) for n, name in ((1, "t"), (2, "new"))]
    catalog = Settings(source="shop", catalog="main")
    run = LayerRun(NO_SPARK, catalog, MemoryLedger(), QuietProgress())
    assert next_batch._occupied(run, GoldState(tables={gone.name: gone}), items) == {}
    assert asked == {"`main`.`shop`.`t`": True, "`main`.`shop`.`new`": False}


def test_a_refresh_is_resumed_until_a_cut_is_published(ledger: MemoryLedger) -> None:
    assert not is_resumed(ledger, SETTINGS)
    state = begin(ledger)
    assert is_resumed(ledger, SETTINGS)
    assert refresh_under_way(ledger)
    assert not is_resumed(
        ledger, Settings(source="shop", exclude=["shop.u"], keys={"shop.t": ["a"]})
    )
    part = replace(state, cut_lsn=1 << 40, rebuild=after_batch(state.rebuild, ends=False))
    ledger.did("gold", part.to_body(), PUBLISHED)
    assert is_resumed(ledger, SETTINGS)
    assert f"{1 << 40} of {3 << 40}" in (progress(ledger) or "")
    last = replace(APPLIED, rebuild=after_batch(part.rebuild, ends=True))
    plan = ledger.propose("gold", last.to_body())
    assert is_resumed(ledger, SETTINGS)  # killed before its end, it is carried out by the next run
    ledger.finish(plan, PUBLISHED)
    assert not is_resumed(ledger, SETTINGS)
    assert (refresh_under_way(ledger), progress(ledger)) == (False, None)
    assert after_batch(last.rebuild, ends=True) == last.rebuild


def test_an_open_plan_to_begin_a_refresh_counts_as_under_way(ledger: MemoryLedger) -> None:
    ledger.propose("gold", beginning_state(SETTINGS, ledger).to_body())
    assert (is_resumed(ledger, SETTINGS), refresh_under_way(ledger)) == (True, True)


def test_gold_is_stale_once_a_refresh_of_silver_is_planned(ledger: MemoryLedger) -> None:
    assert [is_stale(ledger), is_overtaken(ledger, APPLIED), awaits_rebuild(ledger)] == [False] * 3
    decode_again(ledger, under_way=True)
    assert is_stale(ledger)
    assert is_overtaken(ledger, APPLIED)
    assert "decoded again, from the start" in (progress(ledger) or "")
    decode_again(ledger)
    assert is_resumed(ledger, SETTINGS)  # it is due, whoever asks
    assert "gold has not started yet" in (progress(ledger) or "")
    state = begin(ledger)
    assert not is_stale(ledger)
    assert awaits_rebuild(ledger)
    assert not is_overtaken(ledger, state)
    done = replace(APPLIED, rebuild=after_batch(state.rebuild, ends=True))
    ledger.did("gold", done.to_body(), PUBLISHED)
    assert not awaits_rebuild(ledger)
    begin(ledger)
    assert not awaits_rebuild(ledger)  # gold alone; `run --full-refresh` requires more


def test_a_lake_without_gold_has_nothing_to_rebuild() -> None:
    ledger = MemoryLedger()
    ledger.did("silver", DECODED.to_body())
    decode_again(ledger)
    assert not is_stale(ledger)
    assert awaits_rebuild(ledger)


def test_maintenance_removes_nothing_during_a_refresh(ledger: MemoryLedger) -> None:
    assert min([*gold_needs(ledger), *decoding_needs(ledger)]).before_lsn > FROM_START
    decode_again(ledger)
    for needs in (gold_needs, decoding_needs):
        assert min(needs(ledger)).before_lsn == FROM_START


def test_gold_is_not_rebuilt_from_less_than_it_was_built_from(ledger: MemoryLedger) -> None:
    require_all_of_silver(ledger)
    ledger.did("maintenance", {"removed": {"lsn": 5, "committed_at": 7}})
    with pytest.raises(RefreshRefusedError, match="LSN 5 were removed from silver") as raised:
        require_all_of_silver(ledger)
    assert "binlake run --full-refresh" in raised.value.remedy


REMOVED = {"removed": {"lsn": 5, "committed_at": 7}}


@pytest.mark.parametrize("done", [True, False])
def test_maintenance_before_the_plan_prevents_a_refresh(ledger: MemoryLedger, done: bool) -> None:
    held = replace(APPLIED, xa_from=7)
    ledger.did("gold", APPLIED.to_body(), {**PUBLISHED, "state": held.overrides()})
    require_all_of_silver(ledger)
    maintenance = MemoryLedger(ledger.shared).propose("maintenance", REMOVED)
    plan = ledger.propose("gold", beginning_state(SETTINGS, ledger).to_body())
    if done:
        MemoryLedger(ledger.shared).finish(maintenance, {SPARED: False})
    with pytest.raises(RefreshRefusedError if done else ConcurrentRunError):
        rebuild.carry_out(ledger, plan)
    assert ledger.open("gold") is None
    assert GoldState.of(ledger) == held
    record = ledger.record("gold") or {}
    assert ABANDONED in record
    assert cut_of(record) == cut_of(PUBLISHED)
    assert published(record) == published(PUBLISHED)
    assert not refresh_under_way(ledger)
    rebuild.carry_out(ledger, plan)  # by another run, late: it is done


def test_maintenance_after_the_plan_removes_nothing(ledger: MemoryLedger) -> None:
    plan = ledger.propose("gold", beginning_state(SETTINGS, ledger).to_body())
    maintenance = ledger.propose("maintenance", {"removed": {"lsn": 0, "committed_at": 0}})
    assert refresh_under_way(ledger)
    rebuild.carry_out(ledger, plan)
    ledger.finish(maintenance, spared(ledger, maintenance))
    assert GoldState.of(ledger).rebuild.under_way
    ledger.did("maintenance", REMOVED)
    with pytest.raises(RefreshRefusedError):
        next_batch.plan_next(LayerRun(NO_SPARK, SETTINGS, ledger, QuietProgress()))


def test_positions_of_an_earlier_refresh_are_ignored_and_of_a_later_one_final() -> None:
    made, later = item("create", 3, definition()), item("alter", 9, definition())
    was = {POSITION: position_text(later, 0), BASE: f"{position_text(made, 0)}@4"}
    assert TableProgress(was).reached == later.position
    assert TableProgress(was).base(made) == 4
    assert TableProgress(was, refresh=7).reached == (0, 0)
    assert TableProgress(was, refresh=7).base(made) is None
    begun = {**was, BASE: f"{position_text(made, 7)}@12"}
    assert TableProgress(begun, refresh=7).reached == (0, 0)
    assert TableProgress(begun, refresh=7).begun == made.position
    assert TableProgress(begun, refresh=7).base(made) == 12
    assert TableProgress(begun).reached > later.position
    done = {**begun, POSITION: position_text(made, 7)}
    assert TableProgress(done, refresh=7).reached == made.position
    assert TableProgress(done, refresh=9).begun == (0, 0)
