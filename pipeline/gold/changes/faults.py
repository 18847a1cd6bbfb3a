"""Silver's quarantine as gold reads it: open faults, and the tables that they hold or held."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.gold.changes.holds import OpenFault
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import among, compare, equal, missing
from pipeline.lake.lazy_spark import Spark
from pipeline.lake.tables.choice import tables_of
from pipeline.observe.report import sentences_by_cause
from pipeline.schema_history import TableName
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.decode.silver_tables import quarantine_table
from pipeline.silver.tables.quarantine import (
    GIVEN_UP,
    RETRYABLE,
    is_of_first_table,
    sentence,
    unresolved,
)


def open_faults(spark: Spark, lake: Lake, source: str) -> list[OpenFault]:
    """Return the unresolved rows of the quarantine."""
    return [_fault(row) for row in unresolved(spark, lake, source).to_pylist()]


def in_words(faults: Sequence[OpenFault]) -> list[str]:
    """Return sentences on faults, in their order; one for all faults with the same cause."""
    of_one = [(str(f.tables[0]), f.sentence) for f in faults if f.tables and len(f.tables) == 1]
    others = [f.sentence for f in faults if not f.tables or len(f.tables) > 1]
    return [*sentences_by_cause(of_one, lambda _, sentence: sentence), *others]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A resolved fault's transaction, and the tables (`schema.table`) with rows decoded late.

    `tables` is None if the fault named none: it may then concern any table.
    """

    lsn: int
    tables: frozenset[str] | None

    def has(self, tables: Collection[str]) -> bool:
        """Return True if rows of one of these tables may have been decoded late in it."""
        return self.tables is None or not self.tables.isdisjoint(tables)


def resolved_faults(
    spark: Spark, lake: Lake, source: str, low: int, high: int
) -> tuple[Resolved, ...]:
    """Return the transactions in (`low`, `high`] whose faults have been resolved, in order."""
    where = (
        equal("source", source)
        & ~missing("resolved_batch")
        & among("kind", RETRYABLE)
        & compare("__lsn", ">", low)
        & compare("__lsn", "<=", high)
    )
    rows = tables_of(spark, lake).read(quarantine_table(lake), where, ["__lsn", "tables"])
    found = {
        Resolved(row["__lsn"], None if row["tables"] is None else frozenset(row["tables"]))
        for row in rows.to_pylist()
    }
    return tuple(sorted(found, key=lambda one: one.lsn))


def _fault(row: Mapping[str, Any]) -> OpenFault:
    """Return a row as a fault; outside a transaction, its LSN is that of its event."""
    lsn = row["__lsn"] if row["__lsn"] is not None else row["ordinal"] << OFFSET_BITS | row["__pos"]
    tables = row["tables"]
    named = None if tables is None else tuple(TableName.read(name) for name in tables)
    cause = named[0] if named and is_of_first_table(row) else None
    return OpenFault(lsn, sentence(row), named, marks_only=row["kind"] == GIVEN_UP, cause=cause)
