"""When the asset of gold is updated for other DAGs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from binlake_airflow.gold_asset import UNCHANGED, gold_asset, is_new, previous_run_reported

NOTHING = {"outcome": "nothing_new", "attempt": 1}
DONE = {"outcome": "done", "cut_lsn": 7, "attempt": 1}


@pytest.mark.parametrize(
    ("steps", "new"),
    [
        ([NOTHING], False),
        ([NOTHING, NOTHING], False),
        ([DONE], True),
        ([NOTHING, DONE, NOTHING], True),
        # Every run reports held tables again, whether or not it publishes a snapshot.
        ([{"outcome": "faults", "attempt": 1}], False),
        ([{"outcome": "faults", "cut_lsn": 8, "attempt": 1}], True),
        # A driver in the cluster, whose output is not visible.
        ([{"attempt": 1}], True),
        # The previous attempt may have failed after publishing.
        ([{"outcome": "nothing_new", "attempt": 2}], True),
    ],
)
def test_gold_is_new_if_a_snapshot_may_have_been_published(
    steps: list[dict[str, object]], new: bool
) -> None:
    assert is_new(steps) is new


def test_each_source_has_its_own_asset() -> None:
    assert gold_asset("shop") != gold_asset("crm")
    assert gold_asset("shop").uri == "binlake://shop/gold"


@pytest.mark.parametrize(
    ("previous", "unchanged", "reported"),
    [
        (None, None, True),
        ("success", None, True),
        ("skipped", True, True),
        # Somebody marked the run as failed while the task waited.
        ("skipped", None, False),
        ("failed", None, False),
        ("upstream_failed", None, False),
    ],
)
def test_the_previous_run_reported_unless_it_may_have_ended_without_an_event(
    previous: str | None, unchanged: bool | None, reported: bool
) -> None:
    xcom = {"task_ids": "published", "key": UNCHANGED, "run_id": "r1"}
    ti = SimpleNamespace(
        task_id="published",
        get_previous_ti=lambda: previous and SimpleNamespace(state=previous, run_id="r1"),
        xcom_pull=lambda **pulled: unchanged if pulled == xcom else pytest.fail("another XCom"),
    )
    context: Any = {"ti": ti}
    assert previous_run_reported(context) is reported
