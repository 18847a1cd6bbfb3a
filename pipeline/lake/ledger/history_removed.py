"""The history of a source that maintenance has removed, or is about to, by its plan in the ledger.

The plan is committed before anything is removed, so it never understates what is gone. A full
refresh of silver undoes it; during one, data that silver lacks may simply not be decoded again yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.lake.ledger.ledger import Ledger, Plan

ABANDONED = "abandoned"
"""Key in the record of a batch that was planned to begin a full refresh but did not: the reason."""
MAINTAINED = "maintained"
"""Key in the record of silver's batch that began a full refresh: maintenance's last batch then."""
SPARED = "spared"
"""Key in the record of a maintenance batch that removed nothing because of a full refresh."""
BEFORE = "removed_before"
"""Key in the same record: what earlier batches had removed, and the last of these."""


@dataclass(frozen=True, slots=True)
class Removed:
    """The range removed from silver: transactions before `lsn`, with their changes and statements.

    `committed_at`: the latest original commit time among them, in microseconds since 1970; 0 if
    nothing was removed.
    """

    lsn: int = 0
    committed_at: int = 0

    @property
    def sentence(self) -> str:
        """The reason why a table that needs these changes is incomplete."""
        return f"changes before LSN {self.lsn} were removed from silver by binlake maintain"


def removed(ledger: Ledger) -> Removed:
    """Return what has been removed of the ledger's source.

    Nothing, if a full refresh has decoded it again since, or is about to.
    """
    plan = ledger.open("maintenance")
    batch, gone = (plan.batch, _of(plan.body["removed"])) if plan else _finished(ledger)
    return gone if batch > _undone(ledger) else Removed()


def spared(ledger: Ledger, plan: Plan) -> dict[str, Any]:
    """Return the record of a maintenance batch that removes nothing because of a full refresh.

    It repeats what was removed earlier, so that the last record suffices. For another run's plan
    that includes the plan's own range: that run may have removed some of it before the refresh.
    """
    batch, gone = _finished(ledger)
    if not ledger.wrote(plan):
        batch, gone = plan.batch, _of(plan.body["removed"])
    return {SPARED: True, BEFORE: {"batch": batch, **asdict(gone)}}


def _finished(ledger: Ledger) -> tuple[int, Removed]:
    """Return the last finished maintenance batch that removed anything, and what is removed."""
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
    """Return the last maintenance batch whose removals a full refresh of silver has undone."""
    last = ledger.last("silver")
    if last is None:
        return 0
    record = ledger.record("silver") or {}
    begins = None if ABANDONED in record else last.body.get("begins")
    if begins:
        return maintained(record, begins["maintained"])
    return int((last.body.get("refresh") or {}).get("maintained", 0))


def maintained(record: Mapping[str, Any], planned: int) -> int:
    """Return the last maintenance batch before a full refresh of silver began.

    It is in the record of the batch that began the refresh; `planned` is the one in its plan, which
    may be earlier.
    """
    return int(record.get(MAINTAINED, planned))


def position_before_refresh(ledger: Ledger) -> tuple[int, int] | None:
    """Return silver's position (file ordinal, byte) before a full refresh that is running or
    planned; None if there is none.
    """
    plan, last = ledger.open("silver"), ledger.last("silver")
    if plan is not None and (begins := plan.body.get("begins")):
        return _position(begins)
    if last is None:
        return None
    begins = last.body.get("begins")
    if begins and ABANDONED not in (ledger.record("silver") or {}):
        return _position(begins)
    refresh = last.body.get("refresh") or {}
    return _position(refresh) if refresh.get("under_way") else None


def _position(row: Mapping[str, Any]) -> tuple[int, int]:
    ordinal, pos = row["upto"]
    return ordinal, pos
