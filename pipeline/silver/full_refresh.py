"""Start a full refresh: check that it is possible, plan it, and empty silver of the source.

No permanent data is deleted: bronze is not touched, and silver's tables are emptied by commits in
place. A table of changes also loses the columns of its images, because they may have other types,
or be those of another definition, when changes are written to it again.

Maintenance and the start of a refresh avoid each other through the ledger: each commits its plan
first, and then checks for the other's (see `maintenance.batch`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from pipeline.bronze import read_files
from pipeline.bronze.files import stored_ordinals
from pipeline.bronze.tables import FileRow
from pipeline.errors import BinlakeError, ConcurrentRunError
from pipeline.lake import Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.delta_log.model import LakeTable
from pipeline.lake.delta_step import Step
from pipeline.lake.ledger.history_removed import ABANDONED, MAINTAINED
from pipeline.lake.ledger.ledger import Plan
from pipeline.lake.tables.choice import tables_of
from pipeline.lake.tables.tables import Tables
from pipeline.layer import LayerRun
from pipeline.schema_history.timeline.definitions_file import text_of
from pipeline.schema_history.timeline.stored_timeline import definitions, read_items
from pipeline.settings import Settings
from pipeline.silver.decode.segment_refs import FilePosition
from pipeline.silver.decode.silver_tables import (
    changes_app,
    committer,
    emptied_changes_table,
    mapped_tables,
    quarantine_table,
    statements_table,
    transactions_table,
)
from pipeline.silver.plan.batch_plan import RefreshStart, SilverPlan
from pipeline.silver.plan.new_segments import AvailableSegments, new_segments
from pipeline.silver.plan.progress import SilverProgress, silver_progress, silver_progress_ahead
from pipeline.silver.tables.views import drop_view

NAMED = 5
"""The most files that a refusal names."""
_IN_DIGEST = frozenset(
    {
        *("include", "exclude", "types", "definitions", "default_charset", "system_time_zone"),
        *("lower_case_table_names", "given_up"),
    }
)
"""Settings that silver's rows, timeline or faults depend on."""


class RefreshRefusedError(BinlakeError):
    """Bronze no longer has what a full refresh needs; nothing was changed."""

    exit_code = 2


def settings_digest(settings: Settings) -> str:
    """Return a digest of the settings that distinguish one full refresh from another.

    For `definitions` it covers the file's content, not its path. Raises SettingsError if the file
    cannot be read.
    """
    values = settings.model_dump(mode="json", include=set(_IN_DIGEST))
    if settings.definitions is not None:
        values["definitions"] = text_of(settings.definitions)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def resumes_refresh(run: LayerRun) -> bool:
    """Return True if a full refresh of silver is in progress with the same settings."""
    refresh = silver_progress_ahead(run.ledger).refresh
    return refresh.under_way and refresh.settings_digest == settings_digest(run.settings)


def require_refreshable(run: LayerRun) -> None:
    """Raise unless a full refresh would restore all of silver; nothing is changed."""
    last = run.ledger.last("silver")
    if last is None:
        return
    require_no_maintenance(run.ledger)
    of_source = run.spark, run.lake, run.source
    new = new_segments(*of_source, None, run.settings.given_up)
    upto = previous_end(silver_progress(run.ledger), (last.body["end"][0], last.body["end"][1]))
    require_whole(read_files(*of_source), stored_ordinals(*of_source), run.source, new, upto)


def require_whole(
    files: Sequence[FileRow],
    there: Collection[int],
    source: str,
    new: AvailableSegments,
    upto: FilePosition,
) -> None:
    """Raise RefreshRefusedError unless bronze has everything that silver was decoded from.

    `files` are the source's; `there` the ordinals of files with bytes in bronze; `new` what
    decoding from the start would cover; `upto` the position that silver has reached.
    """
    if gone := gone_files(files, there):
        raise RefreshRefusedError(
            f"bronze no longer has {in_words(gone)} of {source}, because binlake maintain removed"
            " their bytes: their changes cannot be decoded again.",
            remedy="binlake apply --full-refresh rebuilds gold from silver, if silver still has"
            " every change. Otherwise, ingest the binlog files into a new lake, if they still"
            " exist.",
        )
    if new.gaps and (not new.segments or new.end < upto):
        raise RefreshRefusedError(
            f"a full refresh of {source} would stop before silver's position: {' '.join(new.gaps)}",
            remedy="Resolve this first; nothing was changed.",
        )


def gone_files(files: Sequence[FileRow], there: Collection[int]) -> list[str]:
    """Return the ingested files whose bytes are no longer in bronze."""
    return [row.file for row in files if row.ingested_upto and row.ordinal not in there]


def in_words(names: Sequence[str]) -> str:
    """List the first names, and the number of others."""
    more = len(names) - NAMED
    return f"{', '.join(names[:NAMED])}{f' and {more} more' if more > 0 else ''}"


def previous_end(progress: SilverProgress, end: FilePosition) -> FilePosition:
    """Return silver's position before a full refresh; `end` is the end of its last batch.

    If it replaces another refresh in progress, that is the position before both: gold's published
    snapshot may be from there.
    """
    return progress.refresh.upto if progress.refresh.under_way else end


def require_no_maintenance(ledger: Ledger) -> None:
    """Raise ConcurrentRunError while maintenance has an unfinished plan."""
    if ledger.open("maintenance"):
        raise ConcurrentRunError(
            "binlake maintain is running, or was killed: it may remove data that this needs.",
            remedy="Let it finish (run it again if it was killed), then retry.",
        )


def last_maintained(ledger: Ledger) -> int:
    """Return the number of maintenance's last finished batch; 0 if there was none."""
    last = ledger.last("maintenance")
    return last.batch if last else 0


def beginning_plan(run: LayerRun) -> SilverPlan | None:
    """Plan the batch that starts a full refresh; None if nothing has been decoded yet.

    It is at the position of the batch before it, where silver stays if the refresh is abandoned.
    """
    progress, last = silver_progress(run.ledger), run.ledger.last("silver")
    if last is None:
        return None
    before = progress.plan or SilverPlan.from_body(last.body)
    items = read_items(run.spark, run.lake, run.source)
    known = {(i.schema, i.table, i.version) for i in items if i.version is not None}
    if before.begins:  # started, without a batch since: earlier tables may not be emptied yet
        known.update(before.begins.tables)
    return replace(
        before.at_its_end(),
        begins=RefreshStart(
            settings_digest(run.settings),
            last_maintained(run.ledger),
            tuple(sorted(known)),
            run.settings.decoding,
            previous_end(progress, before.end),
        ),
    )


def begin(run: LayerRun, plan: Plan, body: SilverPlan) -> None:
    """Carry out a batch that starts a full refresh: empty silver of the source.

    Raises ConcurrentRunError while maintenance is in progress, and RefreshRefusedError if it has
    removed required files since the batch was planned; nothing is changed then.
    """
    lake, source, ledger = run.lake, run.source, run.ledger
    ledger.refresh()
    if ledger.finished_by_another(plan):
        return
    require_no_maintenance(ledger)
    # Maintenance that starts from here on sees the plan, and removes nothing.
    maintained = last_maintained(ledger)
    of_source = run.spark, lake, source
    if gone := gone_files(read_files(*of_source), stored_ordinals(*of_source)):
        reason = f"binlake maintain has meanwhile removed {in_words(gone)} from bronze."
        ledger.finish(plan, {ABANDONED: reason, **_record(body)})
        raise RefreshRefusedError(reason, remedy="Silver and gold were not changed.")
    tables = tables_of(run.spark, lake)
    _delete(tables, "transactions", transactions_table(lake), source, plan.batch)
    _delete(tables, "statements", statements_table(lake), source, plan.batch)
    _delete(tables, "quarantine", quarantine_table(lake), source, plan.batch)
    places = body.begins.tables if body.begins else ()
    # None if a run has already deleted the items, after emptying all tables.
    mapped = mapped_tables(read_items(*of_source))

    def clear(place: tuple[str, str, int]) -> None:
        table = emptied_changes_table(lake, *place, mapped=place in mapped)
        by = committer(run.spark, tables, table)
        if by.exists(table):
            by.clear(table, Step(changes_app(source, *place), plan.batch))

    with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
        list(pool.map(clear, places))
    for schema, name in sorted({place[:2] for place in places}):
        drop_view(run.spark, lake, schema, name)
    # Last: they record which source owns the tables.
    _delete(tables, "definitions", definitions(lake), source, plan.batch)
    ledger.finish(plan, {MAINTAINED: maintained, **_record(replace(body, last_lsn=0))})


def _record(body: SilverPlan) -> dict[str, object]:
    return {"to": list(body.end), "last_lsn": body.last_lsn, "rows": {}, "counts": {}}


def _delete(tables: Tables, name: str, table: LakeTable, source: str, batch: int) -> None:
    """Delete the rows of the source's earlier batches; a concurrent run may do this late."""
    mine = equal("source", source) & compare("batch", "<=", batch)
    tables.delete(table, mine, Step(f"silver/{source}/refresh/{name}", batch))
