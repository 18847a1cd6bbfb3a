"""Detection of a full refresh of silver from the ledger, for the layers before silver.

During one, data that silver lacks may simply not be decoded again yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.lake.ledger.history_removed import ABANDONED
from pipeline.lake.ledger.ledger import Ledger


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
