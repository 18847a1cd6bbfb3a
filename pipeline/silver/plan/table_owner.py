"""Whose a table is: no other source may have it, though its full refresh has emptied the timeline.

The timeline tells which tables a source has. While a full refresh is under way it is being filled
again; until then the batch that began that tells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from pipeline.catalog import TableName
from pipeline.catalog.timeline.definitions import no_own_table, require_own_tables
from pipeline.lake import Ledger
from pipeline.lake.starting import Spark
from pipeline.silver.plan.progress import silver_to_be
from pipeline.silver.plan.refresh import BEGINS, Begins, Refresh


def require_unclaimed(spark: Spark, ledger: Ledger, names: Collection[TableName]) -> None:
    """Raise SettingsError if another source has one of these tables in this lake, or is about to
    have it again."""
    lake, source = ledger.lake, ledger.source
    # In this order: a timeline is emptied once the ledger says that it will be.
    require_own_tables(spark, lake, source, names)
    if not names:
        return
    for other, begun in sorted(begun_by_others(ledger).items()):
        refresh = silver_to_be(Ledger(spark, lake, other)).refresh
        if taken := sorted(claimed(refresh, begun).intersection(names)):
            raise no_own_table(taken[0], other, source)


def claimed(refresh: Refresh, begun: Iterable[Begins]) -> set[TableName]:
    """The tables that a source had before a full refresh that is under way; `begun`: all of its.

    One that came in place of another, of which it kept the end, finds not all of them.
    """
    if not refresh.under_way:
        return set()
    return {
        TableName(schema, table)
        for one in begun
        if one.upto == refresh.upto
        for schema, table, _ in one.tables
    }


def begun_by_others(ledger: Ledger) -> Mapping[str, Sequence[Begins]]:
    """The full refreshes that other sources have ever begun: looked up anew."""
    ledger.refresh()
    return {
        source: [BEGINS.validate_json(text) for text in texts]
        for source, texts in ledger.begun_by_others().items()
    }
