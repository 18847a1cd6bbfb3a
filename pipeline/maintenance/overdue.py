"""Whether a source's maintenance is overdue: nothing else shows that it is paused or missing.

Maintenance makes Delta keep what published snapshots name. Without it, those of tables that rarely
change may become unreadable, and files accumulate.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from pipeline.lake import Ledger
from pipeline.lake.ledger.ledger_table import FINISHED, PLANNED

PATIENCE = timedelta(days=2)
"""How long maintenance may not run: see docs/guides/maintenance.md."""


def last_maintained(ledger: Ledger) -> datetime | None:
    """Return when maintenance of the ledger's source was last finished; None if it never was."""
    last = ledger.last("maintenance")
    return None if last is None else ledger.time_of("maintenance", last.batch, FINISHED)


def overdue(ledger: Ledger, maintained_at: datetime | None, now: datetime) -> str | None:
    """Return a sentence if maintenance is overdue, since it last ran or since the first ingest."""
    since = maintained_at or ledger.time_of("bronze", 1, PLANNED) or now
    if now - since <= PATIENCE:
        return None
    age = f"{(now - since).days} days"
    what = f"was last maintained {age} ago" if maintained_at else f"was not maintained in {age}"
    return (
        f"{ledger.source} {what}, and published snapshots may become unreadable: schedule binlake"
        " maintain daily, or unpause its DAG."
    )
