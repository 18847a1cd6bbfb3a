"""What the ledger has of many batches: for the status, and for commands that name no source."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: one planned or finished batch of a layer."""

    source: str
    layer: str
    batch: int
    state: str
    run_id: str
    at: datetime


def entries(rows: pa.Table) -> list[Entry]:
    """All of the ledger's `rows`, in order of time."""
    found = rows.select([field.name for field in fields(Entry)]).to_pylist()
    return sorted((Entry(**row) for row in found), key=_when)


def last_entries(rows: pa.Table) -> list[Entry]:
    """The last of each source and layer."""
    last = {(entry.source, entry.layer): entry for entry in entries(rows)}
    return sorted(last.values(), key=_when)


def _when(entry: Entry) -> tuple[datetime, int]:
    return entry.at, entry.batch
