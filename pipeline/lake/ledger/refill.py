"""Whether silver is being filled again, for layers before it: its plans in the ledger tell.

Meanwhile what silver has not is no sign that it was never there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.lake.ledger.history_removed import ABANDONED
from pipeline.lake.ledger.ledger import Ledger


def refilled_upto(ledger: Ledger) -> tuple[int, int] | None:
    """Where silver stood (file, byte) before a full refresh that is under way or is to begin.

    None where there is none.
    """
    plan, last = ledger.open("silver"), ledger.last("silver")
    if plan is not None and (begins := plan.body.get("begins")):
        return _mark(begins)
    if last is None:
        return None
    begins = last.body.get("begins")
    if begins and ABANDONED not in (ledger.record("silver") or {}):
        return _mark(begins)
    refresh = last.body.get("refresh") or {}
    return _mark(refresh) if refresh.get("under_way") else None


def _mark(row: Mapping[str, Any]) -> tuple[int, int]:
    ordinal, pos = row["upto"]
    return ordinal, pos
