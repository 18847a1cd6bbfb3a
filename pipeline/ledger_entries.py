"""What the ledger has of many batches: for the status, and for commands that name no source.

It keeps every batch of every source for ever: what is not asked for stays in Spark.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import DataFrame, functions as sf


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the ledger: one planned or finished batch of a layer."""

    source: str
    layer: str
    batch: int
    state: str
    run_id: str
    at: datetime


def entries(rows: DataFrame) -> list[Entry]:
    """All of the ledger's `rows`, in order of time."""
    # As a number: collect() turns a timestamp into the local time of the driver.
    micros = sf.unix_micros("at").alias("at")
    columns = ("source", "layer", "batch", "state", "run_id", micros)
    found = rows.select(*columns).orderBy("at", "batch").collect()
    times = [datetime.fromtimestamp(row["at"] / 1_000_000, timezone.utc) for row in found]
    return [Entry(**{**row.asDict(), "at": at}) for row, at in zip(found, times, strict=True)]


def last_entries(rows: DataFrame) -> list[Entry]:
    """The last of each source and layer."""
    row = sf.struct("source", "layer", "batch", "state", "run_id", "at")
    last = sf.max_by(row, sf.struct("at", "batch")).alias("last")
    return entries(rows.groupBy("source", "layer").agg(last).select("last.*"))


def sources(rows: DataFrame) -> list[str]:
    """The names that there are, in their order."""
    return sorted(row["source"] for row in rows.select("source").distinct().collect())
