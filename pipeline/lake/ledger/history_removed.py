"""What maintenance has removed of a source's history, or is about to: its plan in the ledger tells.

The plan is committed before anything is removed, so whoever reads it is never told too little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.lake.ledger.ledger import Ledger, Plan

ABANDONED = "abandoned"
"""In the record of a batch that was to begin a full refresh, and did not: why."""
MAINTAINED = "maintained"
"""In the record of a batch of silver that began one: the last batch of maintenance before it."""
SPARED = "spared"
"""In the record of a batch of maintenance that removed nothing, for the sake of a full refresh."""
BEFORE = "removed_before"
"""In the same record: what was gone before it, and by which batch."""


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
    plan = ledger.open("maintenance")
    batch, gone = (plan.batch, _of(plan.body["removed"])) if plan else _finished(ledger)
    return gone if batch > _undone(ledger) else Removed()


def spared(ledger: Ledger, plan: Plan) -> dict[str, Any]:
    """What the record has of a batch of maintenance that is spared: the last one tells for all.

    Of a plan of another run, that may have removed something of it before a refresh began.
    """
    batch, gone = _finished(ledger)
    if not ledger.wrote(plan):
        batch, gone = plan.batch, _of(plan.body["removed"])
    return {SPARED: True, BEFORE: {"batch": batch, **gone.to_dict()}}


def _finished(ledger: Ledger) -> tuple[int, Removed]:
    """What is gone by the batches of maintenance that are done, and the last that removed."""
    last, record = ledger.last("maintenance"), ledger.record("maintenance") or {}
    if last is None:
        return 0, Removed()
    if not record.get(SPARED):
        return last.batch, _of(last.body["removed"])
    before = record[BEFORE]
    return before["batch"], _of(before)


def _of(row: Mapping[str, Any]) -> Removed:
    return Removed(row["lsn"], row["committed_at"])


def _undone(ledger: Ledger) -> int:
    """The last batch of maintenance whose removals from silver count no more."""
    last = ledger.last("silver")
    if last is None:
        return 0
    record = ledger.record("silver") or {}
    begins = None if ABANDONED in record else last.body.get("begins")
    if begins:
        return maintained(record, begins["maintained"])
    return int((last.body.get("refresh") or {}).get("maintained", 0))


def maintained(record: Mapping[str, Any], planned: int) -> int:
    """The last batch of maintenance before a full refresh of silver began, by the record of the
    batch that began it; `planned`: by its plan, which may be older than one that came meanwhile."""
    return int(record.get(MAINTAINED, planned))
