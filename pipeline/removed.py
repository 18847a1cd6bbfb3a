"""What maintenance has removed of a source's history, or is about to: its plan in the ledger tells.

The plan is committed before anything is removed, so whoever reads it is never told too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.ledger import Ledger

ABANDONED = "abandoned"
"""In the record of a batch of silver that was to begin a full refresh, and did not: why."""
SPARED = "spared"
"""In the record of a batch of maintenance that removed nothing, for the sake of a full refresh."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Silver's transactions before `lsn` may be gone, with their changes and statements.

    None of them was committed, where it was committed first, after `committed_at` (microseconds
    since 1970; 0: none is gone).
    """

    lsn: int = 0
    committed_at: int = 0

    @property
    def sentence(self) -> str:
        """Why a table that needs them is not complete."""
        return f"changes of before LSN {self.lsn} were removed from silver by binlake maintain"

    def to_dict(self) -> dict[str, Any]:
        """As a plan of maintenance has it."""
        return {"lsn": self.lsn, "committed_at": self.committed_at}


def removed(ledger: Ledger) -> Removed:
    """What is gone of the ledger's source.

    What a full refresh has decoded again since, or is about to, is there again.
    """
    plan, under_way = ledger.last("maintenance"), ledger.open("maintenance")
    if under_way is None and (ledger.record("maintenance") or {}).get(SPARED):
        return Removed()
    plan = under_way or plan
    return Removed(**plan.body["removed"]) if plan and plan.batch > _undone(ledger) else Removed()


def _undone(ledger: Ledger) -> int:
    """The last batch of maintenance whose removals from silver count no more."""
    last = ledger.last("silver")
    if last is None:
        return 0
    given_back = ABANDONED in (ledger.record("silver") or {})
    begins = None if given_back else last.body.get("begins")
    return int((begins or last.body.get("refresh") or {}).get("maintained", 0))
