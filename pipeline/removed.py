"""What maintenance has removed of a source's history, or is about to: its plan in the ledger tells.

The plan is committed before anything is removed, so whoever reads it is never told too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipeline.ledger import Ledger


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
    """What is gone of the ledger's source."""
    plan = ledger.open("maintenance") or ledger.last("maintenance")
    return Removed(**plan.body["removed"]) if plan else Removed()
