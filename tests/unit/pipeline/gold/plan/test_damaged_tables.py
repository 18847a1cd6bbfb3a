"""Gold's next batch with damaged tables: they are held, and those that depend on them wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline.gold import GoldState
from pipeline.gold.changes.holds import OpenFault
from pipeline.gold.plan.batch_plan import Known, plan_batch, same
from pipeline.gold.plan.reach import NOT_FROM_START
from pipeline.gold.table.damage import Damage
from pipeline.schema_history import TableName
from tests.unit.pipeline.gold.plan.test_batch_plan import SETTINGS, T, U, item, plan

GONE = Damage("its gold table is gone")


def damaged(state: GoldState, *names: TableName, upto: int = 150, **options: Any) -> GoldState:
    known = Known(1, upto, options.pop("items", []), (), damaged=dict.fromkeys(names, GONE))
    return plan_batch(state, known, SETTINGS)


def test_a_damaged_table_is_held_and_not_complete() -> None:
    items = [item("create", 10), item("create", 10, U), item("create", 120)]
    before = plan(100, items)
    state = damaged(before, T, items=items)
    table = state.tables[T]
    assert (table.to_lsn, table.complete, table.touched) == (100, False, False)
    assert table.held == table.reason == GONE.held(T)
    assert (state.tables[U].to_lsn, state.tables[U].held) == (150, None)
    assert not same(before, state)
    assert same(state, damaged(state, T, items=items))
    assert GoldState.from_body(state.to_body()) == state


@pytest.mark.parametrize("whole", [True, False])
def test_a_repaired_table_continues_with_its_earlier_completeness(whole: bool) -> None:
    items = [item("create" if whole else "observed", 10)]
    state = damaged(damaged(plan(100, items), T, items=items), T, items=items, upto=160)
    table = plan(200, items, previous=state).tables[T]
    assert (table.to_lsn, table.held, table.damage) == (200, None, None)
    assert (table.complete, table.reason) == (whole, None if whole else NOT_FROM_START)
    assert state.without_refusals().tables[T].complete is whole


def test_damage_that_only_a_refresh_repairs_is_not_retried() -> None:
    state = plan(100, [item("create", 10)])
    known = Known(1, 150, [], (), damaged={T: replace(GONE, final=True)})
    state = plan_batch(state, known, SETTINGS).without_refusals()
    assert state.tables[T].held
    assert state.tables[T].damage == replace(GONE, final=True, whole=True)


def test_a_table_that_is_renamed_together_with_a_damaged_one_waits() -> None:
    items = [
        item("create", 10),
        item("create", 10, U),
        replace(item("moved", 120, T), definition=None, other=U),
        replace(item("renamed", 120, U), other=T),
    ]
    state = damaged(plan(100, items), T, items=items)
    assert state.tables[U].to_lsn == 119
    assert "shop.t" in (state.tables[U].held or "")


def test_the_faulty_table_is_reported_before_those_that_wait_for_it() -> None:
    items = [item("create", 10), item("create", 10, U)]
    fault = OpenFault(50, "its key is no date", (U, T), cause=U)
    state = plan(100, items, [fault])
    assert state.held() == [
        "shop.u is held: its key is no date",
        "shop.t is held: it waits for shop.u: its key is no date",
    ]
    assert [table.to_lsn for table in state.tables.values()] == [49, 49]
