"""The plan of a maintenance batch: everything that it removes of a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.lake.ledger.history_removed import Removed
from pipeline.maintenance.limits import FROM_START, Bronze, Need


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """The removals of a maintenance batch.

    `cuts_from`: the first batch whose cut is kept. `bronze`: the files whose bytes are removed.
    `silver`: the need before which silver's rows are removed. `removed`: what is removed of silver
    after this batch, by this plan and earlier ones. `cascades_upto`: the last of gold's batches
    whose cascades are removed.
    """

    cuts_from: int
    bronze: Bronze
    silver: Need
    removed: Removed
    cascades_upto: int = 0

    def sparing(self, reason: str) -> MaintenancePlan:
        """Return the plan without removals from silver and bronze, for this reason."""
        need = Need(FROM_START, reason)
        return replace(self, bronze=Bronze((), 0, 0, need), silver=need)

    def to_body(self) -> dict[str, Any]:
        """Return the plan as JSON, for the ledger."""
        return {
            "cuts_from": self.cuts_from,
            "bronze": {
                "files": [list(run) for run in self.bronze.runs],
                "count": self.bronze.files,
                "bytes": self.bronze.bytes,
                **_limit(self.bronze.need),
            },
            "silver": _limit(self.silver),
            "removed": self.removed.to_dict(),
            "cascades_upto": self.cascades_upto,
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> MaintenancePlan:
        """Parse the result of `to_body`."""
        bronze, silver = body["bronze"], body["silver"]
        return cls(
            body["cuts_from"],
            Bronze(
                tuple((first, last) for first, last in bronze["files"]),
                bronze["count"],
                bronze["bytes"],
                Need(bronze["before_lsn"], bronze["since"]),
            ),
            Need(silver["before_lsn"], silver["since"]),
            Removed(**body["removed"]),
            body["cascades_upto"],
        )


def _limit(need: Need) -> dict[str, Any]:
    return {"before_lsn": need.lsn, "since": need.reason}
