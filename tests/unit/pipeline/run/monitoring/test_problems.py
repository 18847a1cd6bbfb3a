"""Problems for the webhook: each once, and once when it is over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from pipeline.errors import UnreachableError
from pipeline.gold import GoldState
from pipeline.gold.table.state import TableState
from pipeline.lake.ledger.run_record import ReportedProblem, RunRecord
from pipeline.observe import LayerReport
from pipeline.run.monitoring.problems import (
    EVERY_TABLE,
    Problem,
    changes_since,
    failure_of,
    problems_of,
)
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from tests.unit.pipeline.lake.ledger.test_run_record import RECORD

SETTINGS = Settings(source="shop", lake="/my lake")
GAP = ReportedProblem("bronze", "gap", "a file is missing")
FAULT = ReportedProblem("silver", "fault", "an event is damaged")
HELD = ReportedProblem("gold", "held", "shop.orders")
FAILED = ReportedProblem("gold", "failed", "OSError")
ALL = ("bronze", "silver", "gold")


def problem(reported: ReportedProblem) -> Problem:
    kind = reported.kind
    assert kind in ("failed", "held", "gap", "fault")
    return Problem(reported.layer, kind, reported.subject, "why")


def ran(
    layers: Sequence[str],
    notified: Sequence[ReportedProblem] | None,
    *,
    done: Sequence[str] | None = None,
    minutes: int = 0,
) -> RunRecord:
    """Return the record of a run of these layers, of which those `done` ended normally."""
    return replace(
        RECORD,
        layers=tuple(layers),
        layer_seconds=dict.fromkeys(layers if done is None else done, 1.0),
        started_at=RECORD.started_at + timedelta(minutes=minutes),
        notified=None if notified is None else tuple(notified),
    )


@pytest.mark.parametrize(
    ("earlier", "now", "found", "new", "resolved", "open_"),
    [
        ([], ran(ALL, None), [], [], [], []),
        ([], ran(ALL, None), [GAP, HELD], [GAP, HELD], [], [GAP, HELD]),
        # known already
        ([ran(ALL, [HELD])], ran(ALL, None), [HELD], [], [], [HELD]),
        # over
        ([ran(ALL, [HELD])], ran(ALL, None), [], [], [HELD], []),
        ([ran(ALL, [GAP, HELD])], ran(ALL, None), [GAP], [], [HELD], [GAP]),
        # only a layer that ended normally shows that something is over
        ([ran(ALL, [GAP, HELD])], ran(ALL, None, done=["bronze"]), [], [], [GAP], [HELD]),
        ([ran(ALL, [FAILED])], ran(ALL, None, done=ALL[:2]), [FAILED], [], [], [FAILED]),
        # each layer on its own
        ([ran(ALL, [GAP, HELD])], ran(["bronze"], None), [], [], [GAP], []),
        (
            [ran(["gold"], [HELD]), ran(["bronze"], [], minutes=1)],
            ran(ALL, None),
            [],
            [],
            [HELD],
            [],
        ),
        # a run without a webhook, or without the layer, knows nothing
        ([ran(ALL, [HELD]), ran(ALL, None, minutes=1)], ran(ALL, None), [HELD], [], [], [HELD]),
        # the last run counts
        ([ran(ALL, [HELD]), ran(ALL, [], minutes=1)], ran(ALL, None), [HELD], [HELD], [], [HELD]),
        # silver reports a fault once; gold holds its tables from then on
        ([ran(ALL, [FAULT])], ran(ALL, None), [HELD], [HELD], [], [HELD]),
        ([ran(ALL, [FAULT])], ran(ALL, None), [], [], [], []),
    ],
)
def test_only_changes_are_sent(
    earlier: list[RunRecord],
    now: RunRecord,
    found: list[ReportedProblem],
    new: list[ReportedProblem],
    resolved: list[ReportedProblem],
    open_: list[ReportedProblem],
) -> None:
    changes = changes_since(earlier, now, [problem(one) for one in found])
    assert [one.reported for one in changes.new] == new
    assert (list(changes.resolved), list(changes.open)) == (resolved, open_)
    assert changes.worth_a_call == bool(new or resolved)


def test_problems_are_held_tables_with_their_reason_and_all_other_faults_and_gaps() -> None:
    gold = GoldState(
        tables={
            TableName("shop", "a"): TableState("shop", "a", held="it is damaged"),
            TableName("shop", "b"): TableState("shop", "b", held="it is damaged"),
            TableName("shop", "c"): TableState("shop", "c"),
        },
        cut_held="an INCIDENT",
    )
    faults = (*gold.held(), "shop.c is incomplete")
    reports = [
        LayerReport("bronze", faults=("f is damaged",), gaps=("a gap",)),
        LayerReport("gold", faults=faults),
    ]
    found = list(problems_of(SETTINGS, reports, gold))
    assert [(one.layer, one.kind, one.subject, one.reason) for one in found] == [
        ("bronze", "fault", "f is damaged", "f is damaged"),
        ("bronze", "gap", "a gap", "a gap"),
        ("gold", "held", "shop.a", "it is damaged"),
        ("gold", "held", "shop.b", "it is damaged"),
        ("gold", "held", EVERY_TABLE, "an INCIDENT"),
        ("gold", "fault", "shop.c is incomplete", "shop.c is incomplete"),
    ]
    assert found[2].remedy.endswith("binlake retry --source shop --lake '/my lake'")
    # Without the ledger's state, the sentences are all there is.
    assert [one.kind for one in problems_of(SETTINGS, reports[1:], None)] == ["fault"] * len(faults)


def test_a_failure_has_the_errors_class_and_remedy() -> None:
    record = replace(RECORD, error="the store is down.", retryable=True)
    known = failure_of(record, "gold", UnreachableError("a", key="lake", remedy="Renew it."))
    assert (known.subject, known.reason, known.remedy) == (
        *("UnreachableError", "the store is down.", "Renew it."),
    )
    assert failure_of(record, "gold", OSError()).remedy == "Run the same command again."
    assert failure_of(replace(record, retryable=None), "gold", OSError()).remedy == ""
