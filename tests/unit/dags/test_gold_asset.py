"""When other DAGs are told that gold is new."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from binlake_airflow.gold_asset import NOTHING_TO_TELL, gold_asset, is_new, told_before

NOTHING = {"outcome": "nothing_new", "attempt": 1}
DONE = {"outcome": "done", "cut_lsn": 7, "attempt": 1}


@pytest.mark.parametrize(
    ("steps", "new"),
    [
        ([NOTHING], False),
        ([NOTHING, NOTHING], False),
        ([DONE], True),
        ([NOTHING, DONE, NOTHING], True),
        # Something is held, which every run says again, whether or not it publishes a cut.
        ([{"outcome": "faults", "attempt": 1}], False),
        ([{"outcome": "faults", "cut_lsn": 8, "attempt": 1}], True),
        # A driver in the cluster, whose output is not seen.
        ([{"attempt": 1}], True),
        # The attempt before may have published, and failed then.
        ([{"outcome": "nothing_new", "attempt": 2}], True),
    ],
)
def test_what_is_new(steps: list[dict[str, object]], new: bool) -> None:
    assert is_new(steps) is new


def test_sources_have_assets_of_their_own() -> None:
    assert gold_asset("shop") != gold_asset("crm")
    assert gold_asset("shop").uri == "binlake://shop/gold"


@pytest.mark.parametrize(
    ("before", "mark", "told"),
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
def test_what_the_run_before_published_was_told(
    before: str | None, mark: bool | None, told: bool
) -> None:
    asked = {"task_ids": "published", "key": NOTHING_TO_TELL, "run_id": "r1"}
    ti = SimpleNamespace(
        task_id="published",
        get_previous_ti=lambda: before and SimpleNamespace(state=before, run_id="r1"),
        xcom_pull=lambda **what: mark if what == asked else pytest.fail("asked for another"),
    )
    context: Any = {"ti": ti}
    assert told_before(context) is told
