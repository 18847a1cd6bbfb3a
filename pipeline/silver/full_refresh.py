"""Beginning a full refresh: looked at, planned, and silver emptied of the source.

Nothing is deleted that was there to stay: bronze is not touched, and silver's tables are emptied by
commits in place. A table of changes loses its images' columns too, since they may have other types,
or be another definition's, when changes come into it again.

Maintenance and the beginning of a refresh keep out of each other's way by the ledger: each commits
its plan first, and then looks for the other's (see `maintenance.batch`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.bronze import read_files
from pipeline.bronze.files import FileRow, stored_ordinals
from pipeline.catalog.timeline.definitions import definitions, read_items
from pipeline.errors import BinlakeError, ConcurrentRunError
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.delta_log.table import LakeTable, Step
from pipeline.lake.ledger.history_removed import ABANDONED, MAINTAINED
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.starting import Spark
from pipeline.lake.tables.opening import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.settings import Settings
from pipeline.silver.decode.segments import Mark
from pipeline.silver.decode.silver_tables import (
    changes_app,
    committer,
    emptied_changes_table,
    mapped_tables,
    quarantine_table,
    statements_table,
    transactions_table,
)
from pipeline.silver.plan.batch_plan import SilverPlan
from pipeline.silver.plan.progress import Standing, silver_standing, silver_to_be
from pipeline.silver.plan.refresh import Begins, asked
from pipeline.silver.plan.seen_before import Recognised
from pipeline.silver.planning import what_is_new
from pipeline.silver.tables.views import drop_view

NAMED = 5
"""So many files are named in a refusal."""


class RefreshRefusedError(BinlakeError):
    """What a full refresh would need is not there any more; nothing was touched."""

    exit_code = 2


def goes_on(ledger: Ledger, settings: Settings) -> bool:
    """Whether a full refresh of silver is under way, and with these settings."""
    refresh = silver_to_be(ledger).refresh
    return refresh.under_way and refresh.asked == asked(settings)


def require_refreshable(spark: Spark, settings: Settings, ledger: Ledger) -> None:
    """Raise unless a full refresh would give silver all that it has; nothing is touched."""
    last = ledger.last("silver")
    if last is None:
        return
    require_no_maintenance(ledger)
    lake, source = settings.layout, settings.source
    files = read_files(spark, lake, source)
    new = what_is_new(spark, lake, source, None, settings.given_up)
    upto = stood_at(silver_standing(ledger), (last.body["to"][0], last.body["to"][1]))
    require_whole(files, stored_ordinals(spark, lake, source), source, new, upto)


def require_whole(
    files: Sequence[FileRow], there: Collection[int], source: str, new: Recognised, upto: Mark
) -> None:
    """Raise RefreshRefusedError unless bronze has all that silver was decoded from.

    `files` are the source's; `there` the ordinals of which bronze has bytes; `new`: what a decoding
    from the start would take; `upto`: what silver has come to.
    """
    if gone := gone_files(files, there):
        raise RefreshRefusedError(
            f"bronze has no bytes any more of {in_words(gone)} of {source}, which binlake maintain"
            " has removed: what they tell could not be decoded again.",
            remedy="binlake apply --full-refresh builds gold anew from silver, as long as that has"
            " everything. Else, where the binlog files are still there, ingest them into a new"
            " lake.",
        )
    if new.gaps and (not new.segments or new.end < upto):
        raise RefreshRefusedError(
            f"decoding {source} again would end before what silver has now: {' '.join(new.gaps)}",
            remedy="Do that first; nothing was touched.",
        )


def gone_files(files: Sequence[FileRow], there: Collection[int]) -> list[str]:
    """The files that were taken in, and of which bronze has nothing."""
    return [row.file for row in files if row.ingested_upto and row.ordinal not in there]


def in_words(names: Sequence[str]) -> str:
    """Some names, and how many more there are."""
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}"


def stood_at(standing: Standing, end: Mark) -> Mark:
    """Where silver stood before a full refresh; `end`: where its last batch ends.

    Of one that is begun while another is under way that is where it stood before both: gold's last
    cut may be of there.
    """
    return standing.refresh.upto if standing.refresh.under_way else end


def require_no_maintenance(ledger: Ledger) -> None:
    """Raise ConcurrentRunError while maintenance has a plan that is not finished."""
    if ledger.open("maintenance"):
        raise ConcurrentRunError(
            "binlake maintain is under way, or was killed: it may remove what this needs.",
            remedy="Run it (again) to its end, then this again.",
        )


def last_maintained(ledger: Ledger) -> int:
    """The last batch of maintenance that is done; 0: there was none."""
    last = ledger.last("maintenance")
    return last.batch if last else 0


def beginning_plan(spark: Spark, settings: Settings, ledger: Ledger) -> SilverPlan | None:
    """The batch that begins a full refresh; None where nothing was decoded yet.

    It has the place of the batch before it, where silver still stands if it is abandoned.
    """
    standing, last = silver_standing(ledger), ledger.last("silver")
    if last is None:
        return None
    before = standing.plan or SilverPlan.from_body(last.body)
    items = read_items(spark, settings.layout, settings.source)
    known = {(i.schema, i.table, i.version) for i in items if i.version is not None}
    if before.begins:  # begun and not gone on with: what was there may not be emptied yet
        known.update(before.begins.tables)
    return replace(
        before.at_its_end(),
        begins=Begins(
            asked(settings),
            last_maintained(ledger),
            tuple(sorted(known)),
            settings.decoding,
            stood_at(standing, before.end),
        ),
    )


def begin(spark: Spark, settings: Settings, ledger: Ledger, plan: Plan, body: SilverPlan) -> None:
    """Carry out a batch that begins a full refresh: empty silver of the source.

    Raises ConcurrentRunError while maintenance is under way, and RefreshRefusedError if it has
    removed what is needed since the batch was planned: then all stays as it was.
    """
    lake, source = settings.layout, settings.source
    ledger.refresh()
    if ledger.finished_by_another(plan):
        return
    require_no_maintenance(ledger)
    # One that comes from here on sees the plan, and removes nothing.
    maintained = last_maintained(ledger)
    if gone := gone_files(read_files(spark, lake, source), stored_ordinals(spark, lake, source)):
        reason = f"bronze has lost {in_words(gone)} to binlake maintain meanwhile."
        ledger.finish(plan, {ABANDONED: reason, **_record(body)})
        raise RefreshRefusedError(reason, remedy="Silver and gold are as they were.")
    tables = tables_of(spark, lake)
    for what, shared in _shared(lake):
        _delete(tables, what, shared, source, plan.batch)
    places = body.begins.tables if body.begins else ()
    # None once a run has deleted the items, when all is emptied.
    mapped = mapped_tables(read_items(spark, lake, source))

    def clear(place: tuple[str, str, int]) -> None:
        table = emptied_changes_table(lake, *place, mapped=place in mapped)
        by = committer(spark, tables, table)
        if by.exists(table):
            by.clear(table, Step(changes_app(source, *place), plan.batch))

    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        list(pool.map(clear, places))
    for schema, name in sorted({place[:2] for place in places}):
        drop_view(spark, lake, schema, name)
    # Last: they tell whose the tables are.
    _delete(tables, "definitions", definitions(lake), source, plan.batch)
    ledger.finish(plan, {MAINTAINED: maintained, **_record(replace(body, cut_lsn=0))})


def _record(body: SilverPlan) -> dict[str, object]:
    return {"to": list(body.end), "cut_lsn": body.cut_lsn, "rows": {}, "counts": {}}


def _shared(lake: Lake) -> Iterator[tuple[str, LakeTable]]:
    yield "transactions", transactions_table(lake)
    yield "statements", statements_table(lake)
    yield "quarantine", quarantine_table(lake)


def _delete(tables: Tables, name: str, table: LakeTable, source: str, batch: int) -> None:
    """Delete the rows of the source's earlier batches; another run may do this late."""
    mine = equal("source", source) & compare("batch", "<=", batch)
    tables.delete(table, mine, Step(f"silver/{source}/refresh/{name}", batch))
