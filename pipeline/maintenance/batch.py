"""Carry out one plan of maintenance: remove data, maintain each table, record the batch.

A batch's results are summed up from the metrics of its commits. Each has the batch in its user
metadata, so that those of an interrupted run are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from pipeline.errors import UnreachableError
from pipeline.gold.plan.rebuild import refresh_under_way
from pipeline.gold.table.damage import damage_in
from pipeline.lake.delta_log.model import Commit
from pipeline.lake.ledger.history_removed import SPARED, spared
from pipeline.lake.ledger.ledger import Plan
from pipeline.layer import Done, LayerRun
from pipeline.maintenance.leftovers import abandoned_scratch, abandoned_seeds, remove
from pipeline.maintenance.removals import MaintenancePlan
from pipeline.maintenance.retention import carry_out, runs_before
from pipeline.maintenance.tables import Table, gold_tables, shared_tables, silver_tables
from pipeline.maintenance.upkeep import Keeper, UpkeepResult, due

SPARING_REASON = "a full refresh is in progress"
_REWRITE = {
    "rewritten_files": "numRemovedFiles",
    "rewritten_bytes": "numRemovedBytes",
    "written_files": "numAddedFiles",
    "written_bytes": "numAddedBytes",
}
_NAMES: Mapping[str, Mapping[str, str]] = {
    "DELETE": {"rows": "numDeletedRows"},
    "OPTIMIZE": _REWRITE,
    "REORG": _REWRITE,
    "VACUUM START": {"vacuumed_bytes": "sizeOfDataToDelete"},
    "VACUUM END": {"vacuumed_files": "numDeletedFiles"},
}
"""Delta's name of each figure, by operation: rows removed; files and bytes before (`rewritten`) and
after (`written`) compaction or a purge; files and bytes removed by VACUUM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintained(Done):
    """The result of a batch; `limits`: sentences about its limits and skipped steps (a run reports
    those of its last batch)."""

    limits: tuple[str, ...]


def execute(run: LayerRun, plan: Plan, *, now: datetime, shared: bool) -> Maintained:
    """Execute the plan, maintain the source's tables, and record the result.

    `shared`: also maintain the tables that sources share. Another run may finish the plan first.
    """
    ledger, settings = run.ledger, run.settings
    body = MaintenancePlan.from_body(plan.body)
    # A full refresh that began after planning needs the data that the plan would remove.
    ledger.refresh()
    sparing = spared(ledger, plan) if refresh_under_way(ledger) else {SPARED: False}
    body = body.sparing(SPARING_REASON) if sparing[SPARED] else body
    note = f"binlake maintain {plan.source} {plan.batch}"
    silver, common = silver_tables(run), shared_tables(run)
    old_runs = [runs_before(settings, now)] if shared else []
    removed = carry_out(run, body, silver, old_runs, plan.batch, note)
    seeds = remove(abandoned_seeds(run.lake, run.source, now))
    scratch = remove(abandoned_scratch(run.lake, now)) if shared else 0
    gold = gold_tables(run)
    maintained = [*gold, *silver, *(common if shared else ())]
    results = _maintain(run, maintained, note, now)
    changed = [table for table, result in results if result.changed]
    changed += [table for table in (*silver, *common) if table.name in removed]
    # The tables' histories also have the commits of an interrupted run.
    which = changed if ledger.wrote(plan) else [*gold, *silver, *common]
    found = _figures(run, which, note)
    left = [sentence for _, result in results for sentence in result.left]
    counts = _counts(body, found, seeds, scratch)
    stored = body.to_body()
    record = {
        "counts": counts,
        "tables": found,
        "bronze": stored["bronze"],
        "silver": stored["silver"],
        "left": left,
        **sparing,
    }
    ledger.finish(plan, record)
    return Maintained(plan=plan, counts=counts, limits=(*limits(body), *left))


def limits(body: MaintenancePlan) -> Iterator[str]:
    """Yield, for each layer, the position from which it is kept, and why."""
    for name, need in (("silver", body.silver), ("bronze", body.bronze)):
        before = need.before_lsn
        kept = f"{name} is kept from LSN {before} on" if before else f"all of {name} is kept"
        yield f"{kept}: {need.since}."
    if body.cuts_from:
        since = f"from gold's batch {body.cuts_from} on (retention.cuts)"
        yield f"published snapshots are kept {since}."


def _maintain(
    run: LayerRun, tables: Sequence[Table], note: str, now: datetime
) -> list[tuple[Table, UpkeepResult]]:
    keeper = Keeper(run, note)
    with run.progress.task("maintaining tables", len(tables), "tables") as task:

        def keep(table: Table) -> UpkeepResult:
            try:
                return keeper.keep(table, due(run, table, now))
            except Exception as error:
                reason = skip_reason(table, error)
                if reason is None:
                    raise
                return UpkeepResult(False, (f"{table.name} was skipped: {reason}.",))
            finally:
                task.advance()

        with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
            return list(zip(tables, pool.map(keep, tables), strict=True))


def skip_reason(table: Table, error: Exception) -> str | None:
    """Return the reason to skip a gold table whose files are damaged; None for other errors."""
    if table.named is None:
        return None
    if isinstance(error, UnreachableError):
        return error.reason.rstrip(".")  # only this table's log cannot be read
    damage = damage_in(error, table.stored.reference, None)
    return None if damage is None else damage.reason


def _figures(run: LayerRun, tables: Sequence[Table], note: str) -> dict[str, Counter[str]]:
    """Return the batch's figures by table, without tables that it did not change."""

    def figures_of(table: Table) -> Counter[str]:
        try:
            commits = table.tables_for_reading(run).history(table.stored, 100)
            return figures(commit for commit in commits if commit.note == note)
        except Exception as error:
            if skip_reason(table, error) is None:
                raise
            return Counter()

    with ThreadPoolExecutor(run.settings.parallel_tables) as pool:
        found = zip(tables, pool.map(figures_of, tables), strict=True)
        return {table.name: one for table, one in found if one}


def figures(commits: Iterable[Commit]) -> Counter[str]:
    """Return the sums of the commits' figures that are not 0."""
    found: Counter[str] = Counter()
    for commit in commits:
        for figure, name in _NAMES.get(commit.operation, {}).items():
            found[figure] += int(commit.metrics.get(name, 0))
    return +found


def _counts(
    body: MaintenancePlan, found: Mapping[str, Counter[str]], seeds: int, scratch: int
) -> dict[str, int]:
    """Return the totals by name, without those that are 0."""
    total = sum(found.values(), Counter[str]())
    silver = sum(one["rows"] for name, one in found.items() if name.startswith("silver/"))
    counts = {
        "published snapshots removed": found.get("gold/_cuts", Counter[str]())["rows"],
        "binlog files removed": body.bronze.count,
        "rows of silver removed": silver,
        "seeds removed": seeds,
        "scratch folders removed": scratch,
        "records of runs removed": found.get("ledger/runs", Counter[str]())["rows"],
        "files put together": total["rewritten_files"],
        "old files deleted": total["vacuumed_files"],
        "bytes deleted": total["vacuumed_bytes"],
    }
    return {name: count for name, count in counts.items() if count}
