"""The ledger: plans that are open, finished, proposed twice, or another run's."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from pipeline.errors import SettingsError
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.ledger import Plan, figures
from pipeline.lake.ledger.ledger_table import FORMAT, batches
from pipeline.lake.tables.native import NativeTables
from pipeline.observe.current_run import begin
from tests.support.observe.captured_log import captured_log
from tests.support.spark.no_spark import NO_SPARK


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_an_empty_lake_has_no_plans(lake: Lake) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop")
    assert ledger.open("bronze") is None
    assert ledger.last("bronze") is None
    assert ledger.record("bronze") is None
    assert ledger.history() == []


def test_a_plan_is_open_until_it_is_finished(lake: Lake) -> None:
    plan = Ledger(NO_SPARK, lake, "shop").propose("bronze", {"files": ["a"]})
    assert plan == Plan("shop", "bronze", 1, {"files": ["a"]})

    later = Ledger(NO_SPARK, lake, "shop")
    assert later.open("bronze") == plan
    assert not later.wrote(later.propose("bronze", {"files": ["a"]}))
    assert later.propose("bronze", {"files": ["another"]}) == plan
    assert later.last("bronze") is None

    later.finish(plan, {"segments": 2})
    for ledger in (later, Ledger(NO_SPARK, lake, "shop")):
        assert ledger.open("bronze") is None
        assert ledger.last("bronze") == plan
        assert ledger.record("bronze") == {"segments": 2}

    second = later.propose("bronze", {"files": ["b"]})
    assert second.batch == 2
    after = Ledger(NO_SPARK, lake, "shop")
    assert after.open("bronze") == second
    assert after.last("bronze") == plan


def test_a_run_that_proposes_does_not_look_for_the_last_batches_again(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop")
    assert ledger.last("silver") is None
    with monkeypatch.context() as patched:
        patched.setattr(NativeTables, "last", None)
        plan = ledger.propose("silver", {"to": (1, 2)})
        assert plan.body == {"to": [1, 2]}, "as one that was read"
        assert ledger.open("silver") == plan
    ledger.finish(plan, {"rows": (2,)})
    assert ledger.record("silver") == {"rows": [2]}
    assert ledger.last("silver") == Ledger(NO_SPARK, lake, "shop").last("silver") == plan


def test_full_refreshes_begun_by_other_sources_are_known(lake: Lake) -> None:
    begins = [
        {"settings_digest": "b"},
        {"settings_digest": "c", "tables": ["a table with a long name"] * 9},
    ]
    blog = Ledger(NO_SPARK, lake, "blog")
    for body in ({"n": 1}, {"begins": begins[0]}, {"begins": None}, {"begins": begins[1]}):
        blog.finish(blog.propose("silver", body), {})
    blog.propose("gold", {"begins": {"settings_digest": "not silver's"}})
    shop = Ledger(NO_SPARK, lake, "shop")
    shop.propose("silver", {"begins": {"settings_digest": "a"}})
    (found,) = [shop.refreshes_by_others()]
    assert [*found] == ["blog"]
    assert sorted(map(json.loads, found["blog"]), key=lambda one: one["settings_digest"]) == begins


@pytest.mark.parametrize("when", ["before its own commit", "after it"])
def test_commits_of_another_run_are_found(lake: Lake, when: str) -> None:
    Ledger(NO_SPARK, lake, "shop").propose("bronze", {"n": 1})
    ledger, other = Ledger(NO_SPARK, lake, "shop"), Ledger(NO_SPARK, lake, "blog")
    assert ledger.open("gold") is None
    assert ledger.refreshes_by_others() == {}
    if when == "after it":
        ledger.propose("gold", {"n": 2})
    other.propose("silver", {"begins": {"settings_digest": "b"}})
    Ledger(NO_SPARK, lake, "shop").propose("silver", {"n": 3})
    if when == "before its own commit":
        ledger.propose("gold", {"n": 2})
    ledger.refresh()
    silver = ledger.open("silver")
    assert silver is not None
    assert silver.body == {"n": 3}
    assert [*ledger.refreshes_by_others()] == ["blog"]


def test_after_a_finished_batch_all_layers_are_read_again(lake: Lake) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop")
    plan = ledger.propose("bronze", {"n": 1})
    silver = Ledger(NO_SPARK, lake, "shop").propose("silver", {"n": 2})
    assert ledger.open("silver") is None
    ledger.finish(plan, {})
    assert ledger.open("silver") == silver


def test_finishing_again_keeps_the_first_record(lake: Lake) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop")
    plan = ledger.propose("silver", {})
    ledger.finish(plan, {"rows": 1})
    Ledger(NO_SPARK, lake, "shop").finish(plan, {"rows": 2})
    assert Ledger(NO_SPARK, lake, "shop").record("silver") == {"rows": 1}


def test_a_batch_that_two_runs_finish_is_reported_by_one(lake: Lake) -> None:
    with captured_log() as log, begin("shop") as slow:
        ledger = Ledger(NO_SPARK, lake, "shop")
        plan = ledger.propose("gold", {})
        with begin("shop") as quick:
            Ledger(NO_SPARK, lake, "shop").finish(plan, {"changes": {"a": 2}})
        ledger.finish(plan, {"changes": {"a": 2}})
    assert [(batch.batch, batch.record) for batch in quick.finished] == [(1, {"changes": {"a": 2}})]
    assert slow.finished == []
    assert ["changes" in line for line in log.of("batch_finished")] == [True, False]


def test_layers_and_sources_have_batches_of_their_own(lake: Lake) -> None:
    shop, blog = Ledger(NO_SPARK, lake, "shop"), Ledger(NO_SPARK, lake, "blog")
    shop.finish(shop.propose("bronze", {"n": 1}), {})
    assert shop.propose("silver", {"n": 2}).batch == 1
    assert blog.propose("bronze", {"n": 3}).batch == 1
    assert shop.propose("bronze", {"n": 4}).batch == 2
    assert blog.open("silver") is None


def test_two_runs_that_plan_the_same_batch_get_the_same_plan(lake: Lake) -> None:
    runs = [Ledger(NO_SPARK, lake, "shop", run_id=str(n)) for n in range(3)]
    plans: list[Plan] = []
    barrier = threading.Barrier(len(runs))

    def propose(run: Ledger) -> None:
        assert run.open("gold") is None
        barrier.wait()
        plans.append(run.propose("gold", {"by": run.run_id}))

    threads = [threading.Thread(target=propose, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(plans) == 3
    assert plans[0] == plans[1] == plans[2]
    # two of the three got a plan whose steps may be running
    assert [run.wrote(plans[0]) for run in runs].count(True) == 1
    assert {plan.run_id for plan in plans} == {plans[0].body["by"]}
    assert len(Ledger(NO_SPARK, lake, "shop").history("gold")) == 1


def test_a_run_that_is_late_carries_out_the_others_finished_plan(lake: Lake) -> None:
    slow, quick = Ledger(NO_SPARK, lake, "shop"), Ledger(NO_SPARK, lake, "shop")
    assert slow.last("bronze") is None
    plan = quick.propose("bronze", {"by": "quick"})
    quick.finish(plan, {"done": "quick"})
    assert slow.propose("bronze", {"by": "slow"}) == plan
    slow.finish(plan, {"done": "slow"})
    assert slow.record("bronze") == {"done": "quick"}


def test_the_history_lists_all_entries_by_time(lake: Lake) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop", run_id="r1")
    before = datetime.now(timezone.utc) - timedelta(seconds=1)
    ledger.finish(ledger.propose("bronze", {}), {})
    ledger.propose("silver", {})
    history = ledger.history()
    assert [(e.layer, e.batch, e.state, e.run_id) for e in history] == [
        ("bronze", 1, "planned", "r1"),
        ("bronze", 1, "finished", "r1"),
        ("silver", 1, "planned", "r1"),
    ]
    assert all(before < e.at <= datetime.now(timezone.utc) for e in history)
    assert [e.layer for e in ledger.history("silver")] == ["silver"]
    assert ledger.last_entries() == history[1:]


def test_the_last_batches_of_all_sources(lake: Lake) -> None:
    every = Ledger(NO_SPARK, lake, "")
    assert (every.sources(), every.last_entries()) == ([], [])
    for source in ("shop", "blog", "shop"):
        ledger = Ledger(NO_SPARK, lake, source)
        ledger.finish(ledger.propose("bronze", {}), {})
    Ledger(NO_SPARK, lake, "blog").propose("bronze", {})
    assert every.sources() == ["blog", "shop"]
    last = [(e.source, e.layer, e.batch, e.state) for e in every.last_entries()]
    assert last == [("shop", "bronze", 2, "finished"), ("blog", "bronze", 2, "planned")]


def test_a_run_knows_what_it_finished_and_whose_plan_it_was(lake: Lake) -> None:
    with captured_log() as log, begin("shop") as killed:
        Ledger(NO_SPARK, lake, "shop").propose("gold", {"n": 1})
        assert killed.finished == []
        with begin("shop") as run:
            ledger = Ledger(NO_SPARK, lake, "shop")
            assert ledger.run_id == run.id
            plan = ledger.resume_open("gold")
            assert plan is not None
            ledger.finish(plan, {"changes": {"a": 2, "b": 3}, "held": ["c"]})
    (batch,) = run.finished
    assert (batch.layer, batch.batch, batch.planned_by) == ("gold", 1, killed.id)
    assert batch.record["changes"] == {"a": 2, "b": 3}
    planned, resumed, done = log.lines
    assert [line["event"] for line in log.lines] == [
        *("plan_committed", "plan_resumed", "batch_finished"),
    ]
    assert "planned_by" not in planned
    assert (resumed["planned_by"], resumed["run_id"]) == (killed.id, run.id)
    assert (done["batch"], done["changes"]) == (1, 5)
    assert done["seconds"] > 0


def test_any_batch_is_found_by_its_number_or_by_a_value_in_its_record(lake: Lake) -> None:
    ledger = Ledger(NO_SPARK, lake, "shop")
    assert ledger.batch_with("gold", "cut_lsn", 7) is None
    for cut in (*range(7, 20), 19):
        ledger.finish(ledger.propose("gold", {"to": cut}), {"cut_lsn": cut})
    open_plan = ledger.propose("gold", {"to": 20})
    assert [ledger.batch_with("gold", "cut_lsn", cut) for cut in (7, 19, 20)] == [1, 14, None]
    found = ledger.finished("gold", 3)
    assert found is not None
    assert (found[0].body, found[1]) == ({"to": 9}, {"cut_lsn": 9})
    assert ledger.finished("gold", open_plan.batch) is None
    assert sorted(body["to"] for body in ledger.planned("gold", 13, 15)) == [19, 19, 20]


def test_only_the_last_batches_are_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the others are removed."""
    ledger = Ledger(NO_SPARK, lake, "shop")
    for n in range(4):
        ledger.finish(ledger.propose("gold", {"n": n}), {"done": n})
    opened = DeltaTable(ledger.path)
    for file in pa.table(opened.get_add_actions(flatten=True)).to_pylist():
        if file["max.batch"] <= 2:
            Path(ledger.path, file["path"]).unlink()
    again = Ledger(NO_SPARK, lake, "shop")
    last = again.last("gold")
    assert last is not None
    assert (last.batch, again.record("gold")) == (4, {"done": 3})
    assert Ledger(NO_SPARK, lake, "").sources() == ["shop"]
    assert again.propose("gold", {}).batch == 5


def test_rows_of_a_compacted_ledger_are_found(lake: Lake) -> None:
    for source in ("shop", "blog"):
        ledger = Ledger(NO_SPARK, lake, source)
        for n in range(3):
            ledger.finish(ledger.propose("gold", {"n": n}), {"done": n})
    history = Ledger(NO_SPARK, lake, "").history()
    DeltaTable(ledger.path).optimize.compact()
    blog = Ledger(NO_SPARK, lake, "blog")
    blog.propose("gold", {"n": 3})
    blog.refresh()
    last, opened = blog.last("gold"), blog.open("gold")
    assert last is not None
    assert opened is not None
    assert (last.batch, blog.record("gold"), opened.body) == (3, {"done": 2}, {"n": 3})
    assert Ledger(NO_SPARK, lake, "").history()[:-1] == history


@pytest.mark.parametrize("number", [None, FORMAT - 1, FORMAT + 1])
def test_a_lake_of_another_release_is_refused(lake: Lake, number: int | None) -> None:
    table = batches(lake)
    schema = table.schema
    if number is None:
        names = ("begins", "format")
        schema = pa.schema([column for column in schema if column.name not in names])
    row = {"source": "shop", "layer": "gold", "batch": 1, "state": "planned", "body": "{}"}
    rows = pa.Table.from_pylist([{**row, "format": number}], schema=schema)
    NativeTables(lake).append(LakeTable(table.reference, schema), rows, Step("ledger", 1))
    ledger = Ledger(NO_SPARK, lake, "shop")
    looks: list[Callable[[], object]] = [
        lambda: ledger.last("gold"),
        lambda: ledger.propose("gold", {}),
        ledger.history,
        lambda: Ledger(NO_SPARK, lake, "blog").propose("gold", {}),
        Ledger(NO_SPARK, lake, "").sources,
    ]
    for look in looks:
        with pytest.raises(SettingsError, match=r"another release .* new folder") as refusal:
            look()
        assert refusal.value.key == "lake"


def test_the_figures_of_a_record_are_its_numbers() -> None:
    bronze = {"files": 1, "bytes": 20, "events": {"XID": 2, "QUERY": 3}}
    assert figures(bronze) == {"files": 1, "bytes": 20, "events": 5}
    counts = {"segments": 2, "rows": 9}
    silver = {"to": [1, 4], "last_lsn": 7, "rows": {"a": 4, "b": 5}, "counts": counts, "lossy": {}}
    assert figures(silver) == {"last_lsn": 7, "rows": 9, "segments": 2}
