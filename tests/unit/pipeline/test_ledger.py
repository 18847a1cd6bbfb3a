"""Plans that are open, finished, proposed twice, or another run's."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipeline import delta
from pipeline.lake import Lake
from pipeline.ledger import Ledger, Plan, figures
from pipeline.under_way import begin
from tests.support.said_lines import listening


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path))


def test_an_empty_lake_has_no_plans(spark: SparkSession, lake: Lake) -> None:
    ledger = Ledger(spark, lake, "shop")
    assert ledger.open("bronze") is None
    assert ledger.last("bronze") is None
    assert ledger.record("bronze") is None
    assert ledger.history() == []


def test_a_plan_is_open_until_it_is_finished(spark: SparkSession, lake: Lake) -> None:
    plan = Ledger(spark, lake, "shop").propose("bronze", {"files": ["a"]})
    assert plan == Plan("shop", "bronze", 1, {"files": ["a"]})

    later = Ledger(spark, lake, "shop")
    assert later.open("bronze") == plan
    assert not later.wrote(later.propose("bronze", {"files": ["a"]}))
    assert later.propose("bronze", {"files": ["another"]}) == plan
    assert later.last("bronze") is None

    later.finish(plan, {"segments": 2})
    for ledger in (later, Ledger(spark, lake, "shop")):
        assert ledger.open("bronze") is None
        assert ledger.last("bronze") == plan
        assert ledger.record("bronze") == {"segments": 2}

    second = later.propose("bronze", {"files": ["b"]})
    assert second.batch == 2
    after = Ledger(spark, lake, "shop")
    assert after.open("bronze") == second
    assert after.last("bronze") == plan


def test_what_a_run_has_committed_itself_it_does_not_read_back(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    with begin("shop") as run:
        ledger = Ledger(spark, lake, "shop")
        assert ledger.last("silver") is None
        with monkeypatch.context() as patched:
            patched.setattr(delta, "read", None)
            plan = ledger.propose("silver", {"to": (1, 2)})
            assert plan.body == {"to": [1, 2]}, "as one that was read"
            ledger.finish(plan, {"rows": 2})
    assert [batch.record for batch in run.finished] == [{"rows": 2}]
    assert ledger.last("silver") == Ledger(spark, lake, "shop").last("silver") == plan


def test_what_nobody_else_has_committed_to_is_not_read_again(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    Ledger(spark, lake, "blog").propose("silver", {"begins": {"asked": "b"}})
    Ledger(spark, lake, "shop").propose("silver", {"begins": {"asked": "a"}})
    ledger = Ledger(spark, lake, "shop")
    open_plan = ledger.open("silver")
    assert open_plan is not None
    assert ledger.begun_by_others() == {"blog": ['{"asked":"b"}']}
    with monkeypatch.context() as patched:
        patched.setattr(delta, "read", None)
        ledger.finish(open_plan, {"rows": (2,)})
        plan = ledger.propose("gold", {"n": 1})
        ledger.refresh()
        assert ledger.record("silver") == {"rows": [2]}, "as one that was read"
        assert ledger.open("gold") == plan
        assert [*ledger.begun_by_others()] == ["blog"]


@pytest.mark.parametrize("when", ["before its own commit", "behind it"])
def test_what_another_run_commits_is_found(spark: SparkSession, lake: Lake, when: str) -> None:
    Ledger(spark, lake, "shop").propose("bronze", {"n": 1})
    ledger, other = Ledger(spark, lake, "shop"), Ledger(spark, lake, "blog")
    assert ledger.open("gold") is None
    assert ledger.begun_by_others() == {}
    if when == "behind it":
        ledger.propose("gold", {"n": 2})
    other.propose("silver", {"begins": {"asked": "b"}})
    Ledger(spark, lake, "shop").propose("silver", {"n": 3})
    if when == "before its own commit":
        ledger.propose("gold", {"n": 2})
    ledger.refresh()
    silver = ledger.open("silver")
    assert silver is not None
    assert silver.body == {"n": 3}
    assert [*ledger.begun_by_others()] == ["blog"]


def test_behind_a_finished_batch_all_layers_are_looked_at_anew(
    spark: SparkSession, lake: Lake
) -> None:
    ledger = Ledger(spark, lake, "shop")
    plan = ledger.propose("bronze", {"n": 1})
    silver = Ledger(spark, lake, "shop").propose("silver", {"n": 2})
    assert ledger.open("silver") is None
    ledger.finish(plan, {})
    assert ledger.open("silver") == silver


def test_the_session_stays_the_active_one(spark: SparkSession, lake: Lake) -> None:
    ledger = Ledger(spark, lake, "shop")
    ledger.finish(ledger.propose("bronze", {}), {})
    active = SparkSession.getActiveSession()
    assert active is not None
    assert active.conf.get("spark.sql.adaptive.enabled") == spark.conf.get(
        "spark.sql.adaptive.enabled"
    )


def test_finishing_again_keeps_the_first_record(spark: SparkSession, lake: Lake) -> None:
    ledger = Ledger(spark, lake, "shop")
    plan = ledger.propose("silver", {})
    ledger.finish(plan, {"rows": 1})
    Ledger(spark, lake, "shop").finish(plan, {"rows": 2})
    assert Ledger(spark, lake, "shop").record("silver") == {"rows": 1}


def test_a_batch_that_two_runs_finish_is_told_by_one(spark: SparkSession, lake: Lake) -> None:
    with listening() as said, begin("shop") as slow:
        ledger = Ledger(spark, lake, "shop")
        plan = ledger.propose("gold", {})
        with begin("shop") as quick:
            Ledger(spark, lake, "shop").finish(plan, {"changes": {"a": 2}})
        ledger.finish(plan, {"changes": {"a": 2}})
    assert [(batch.batch, batch.record) for batch in quick.finished] == [(1, {"changes": {"a": 2}})]
    assert slow.finished == []
    assert ["changes" in line for line in said.of("batch_finished")] == [True, False]


def test_layers_and_sources_have_batches_of_their_own(spark: SparkSession, lake: Lake) -> None:
    shop, blog = Ledger(spark, lake, "shop"), Ledger(spark, lake, "blog")
    shop.finish(shop.propose("bronze", {"n": 1}), {})
    assert shop.propose("silver", {"n": 2}).batch == 1
    assert blog.propose("bronze", {"n": 3}).batch == 1
    assert shop.propose("bronze", {"n": 4}).batch == 2
    assert blog.open("silver") is None


def test_two_runs_that_plan_the_same_batch_get_the_same_plan(
    spark: SparkSession, lake: Lake
) -> None:
    runs = [Ledger(spark, lake, "shop", run_id=str(n)) for n in range(3)]
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
    # two of the three were handed a plan whose steps may be under way
    assert [run.wrote(plans[0]) for run in runs].count(True) == 1
    assert {plan.run_id for plan in plans} == {plans[0].body["by"]}
    assert len(Ledger(spark, lake, "shop").history("gold")) == 1


def test_a_run_that_was_overtaken_carries_out_the_others_finished_plan(
    spark: SparkSession, lake: Lake
) -> None:
    slow, quick = Ledger(spark, lake, "shop"), Ledger(spark, lake, "shop")
    assert slow.last("bronze") is None
    plan = quick.propose("bronze", {"by": "quick"})
    quick.finish(plan, {"done": "quick"})
    assert slow.propose("bronze", {"by": "slow"}) == plan
    slow.finish(plan, {"done": "slow"})
    assert slow.record("bronze") == {"done": "quick"}


def test_history_tells_who_did_what_when(spark: SparkSession, lake: Lake) -> None:
    ledger = Ledger(spark, lake, "shop", run_id="r1")
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


def test_the_last_batches_of_all_sources(spark: SparkSession, lake: Lake) -> None:
    every = Ledger(spark, lake, "")
    assert (every.sources(), every.last_entries()) == ([], [])
    for source in ("shop", "blog", "shop"):
        ledger = Ledger(spark, lake, source)
        ledger.finish(ledger.propose("bronze", {}), {})
    Ledger(spark, lake, "blog").propose("bronze", {})
    assert every.sources() == ["blog", "shop"]
    last = [(e.source, e.layer, e.batch, e.state) for e in every.last_entries()]
    assert last == [("shop", "bronze", 2, "finished"), ("blog", "bronze", 2, "planned")]


def test_a_run_knows_what_it_finished_and_whose_plan_it_was(
    spark: SparkSession, lake: Lake
) -> None:
    with listening() as said, begin("shop") as killed:
        Ledger(spark, lake, "shop").propose("gold", {"n": 1})
        assert killed.finished == []
        with begin("shop") as run:
            ledger = Ledger(spark, lake, "shop")
            assert ledger.run_id == run.id
            plan = ledger.take_up("gold")
            assert plan is not None
            ledger.finish(plan, {"changes": {"a": 2, "b": 3}, "held": ["c"]})
    (batch,) = run.finished
    assert (batch.layer, batch.batch, batch.planned_by) == ("gold", 1, killed.id)
    assert batch.record["changes"] == {"a": 2, "b": 3}
    planned, taken_up, done = said.lines
    assert [line["event"] for line in said.lines] == [
        *("plan_committed", "plan_taken_up", "batch_finished"),
    ]
    assert "planned_by" not in planned
    assert (taken_up["planned_by"], taken_up["run_id"]) == (killed.id, run.id)
    assert (done["batch"], done["changes"]) == (1, 5)
    assert done["seconds"] > 0


def test_the_figures_of_a_record_are_its_numbers() -> None:
    bronze = {"files": 1, "bytes": 20, "events": {"XID": 2, "QUERY": 3}}
    assert figures(bronze) == {"files": 1, "bytes": 20, "events": 5}
    counts = {"segments": 2, "rows": 9}
    silver = {"to": [1, 4], "cut_lsn": 7, "rows": {"a": 4, "b": 5}, "counts": counts, "lossy": {}}
    assert figures(silver) == {"cut_lsn": 7, "rows": 9, "segments": 2}
