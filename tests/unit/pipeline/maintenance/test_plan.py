"""The maintenance plan in the ledger, and the sums of its commits in the record."""

from __future__ import annotations

import json
from datetime import datetime, timezone

from pipeline.lake.delta_log.table import Commit
from pipeline.lake.ledger.history_removed import Removed, removed
from pipeline.maintenance.limits import Bronze, Need
from pipeline.maintenance.plan import MaintenancePlan
from pipeline.maintenance.record import Figures, figures
from tests.unit.pipeline.maintenance.test_limits import Plans

PLAN = MaintenancePlan(
    5,
    Bronze(((1, 3), (7, 7)), 4, 4000, Need(8 << 40, "silver has come to it")),
    Need(9 << 40, "gold has come to it"),
    Removed(9 << 40, 1_700_000_000_000_000),
    4,
)


def test_a_plan_round_trips_through_the_ledger() -> None:
    assert MaintenancePlan.from_body(json.loads(json.dumps(PLAN.to_body()))) == PLAN


def test_removed_history_counts_from_the_plan_on() -> None:
    assert removed(Plans()) == Removed()
    assert removed(Plans({"maintenance": PLAN.to_body()})) == PLAN.removed
    assert removed(Plans({}, {"maintenance": PLAN.to_body()})) == PLAN.removed
    assert f"before LSN {9 << 40}" in PLAN.removed.sentence


def commit(operation: str, **metrics: str) -> Commit:
    return Commit(1, datetime.now(timezone.utc), operation, metrics)


def test_commits_of_all_kinds_are_summed() -> None:
    commits = [
        commit("DELETE", numDeletedRows="3", numRemovedFiles="2"),
        commit("OPTIMIZE", numRemovedFiles="9", numAddedFiles="1", numRemovedBytes="90"),
        commit("REORG", numRemovedFiles="1", numAddedFiles="1", numAddedBytes="7"),
        commit("VACUUM START", sizeOfDataToDelete="100", numFilesToDelete="5"),
        commit("VACUUM END", numDeletedFiles="4"),
        commit("SET TBLPROPERTIES"),
    ]
    assert figures(commits) == Figures(3, 10, 90, 2, 7, 4, 100)
    assert figures([]).to_dict() == {}
    assert figures(commits[:1]).to_dict() == {"rows": 3}
