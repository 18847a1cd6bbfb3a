"""Ensure that a table belongs to one source, even while a full refresh has emptied the timeline.

The timeline records which tables a source has. While a full refresh fills it again, the batch that
started the refresh records them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pipeline.catalog import TableName
from pipeline.catalog.timeline.definitions import require_own_tables, table_of_other_source
from pipeline.lake import Ledger
from pipeline.lake.starting import Spark
from pipeline.silver.plan.progress import silver_progress_ahead
from pipeline.silver.plan.refresh import BEGINS, Begins, Refresh


def require_unclaimed(spark: Spark, ledger: Ledger, names: Collection[TableName]) -> None:
    """Raise SettingsError if another source of this lake has one of these tables or refreshes
    it."""
    lake, source = ledger.lake, ledger.source
    # In this order: a timeline is emptied only after the ledger has the plan to do so.
    require_own_tables(spark, lake, source, names)
    if not names:
        return
    for other, begun in sorted(refreshes_by_others(ledger).items()):
        refresh = silver_progress_ahead(Ledger(spark, lake, other)).refresh
        if taken := sorted(claimed(refresh, begun).intersection(names)):
            raise table_of_other_source(taken[0], other, source)


def claimed(refresh: Refresh, begun: Iterable[Begins]) -> set[TableName]:
    """Return the tables that a source had before a full refresh in progress.

    `begun` are all of its refreshes: one that replaced another in progress did not see all tables.
    """
    if not refresh.under_way:
        return set()
    return {
        TableName(schema, table)
        for one in begun
        if one.upto == refresh.upto
        for schema, table, _ in one.tables
    }


def refreshes_by_others(ledger: Ledger) -> Mapping[str, Sequence[Begins]]:
    """Return all full refreshes that other sources have started, read again from the ledger."""
    ledger.refresh()
    return {
        source: [BEGINS.validate_json(text) for text in texts]
        for source, texts in ledger.refreshes_by_others().items()
    }
