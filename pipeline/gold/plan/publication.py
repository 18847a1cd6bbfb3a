"""Publish consistent snapshots of gold: a row of `gold/_cuts` (a cut) for each commit reached.

A row lists the Delta version of every table: read together, they are the source as of that commit,
except for tables that the row marks as held or not complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from typing import Any

import pyarrow as pa

from pipeline.gold.changes.log_facts import Facts
from pipeline.gold.plan.cuts_table import CUTS, cuts_table
from pipeline.gold.table.commits import CommitSums, by_others, is_own, signs, written_since
from pipeline.gold.table.damage import Damage, damage_in, gone
from pipeline.gold.table.names import gold_name
from pipeline.gold.table.state import GoldState, TableState
from pipeline.lake.delta_log.model import Commit
from pipeline.lake.delta_log.spark_written import commits_since, state as state_of, version_of
from pipeline.lake.delta_step import Step
from pipeline.lake.lazy_spark import Spark
from pipeline.layer import LayerRun
from pipeline.schema_history import TableName
from pipeline.settings import Settings
from pipeline.source import GtidSet


def cut_step(source: str, batch: int) -> Step:
    """Return the step that publishes the snapshot of a batch."""
    return Step(f"gold/{source}/_cuts", batch)


@dataclass(frozen=True, slots=True)
class Cut:
    """The published snapshot in gold's ledger, on which the next one builds.

    `committed_at` is in microseconds since 1970; `tables` are entries of `TABLES`.
    """

    gtid_set: str | None = None
    committed_at: int | None = None
    tables: Sequence[Mapping[str, Any]] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any] | None) -> Cut:
        """Return the published snapshot in a batch's record; an empty one without a record."""
        return cls(**record["cut"]) if record else cls()


def published(record: Mapping[str, Any] | None) -> dict[TableName, int]:
    """Return the Delta versions of the tables in the published snapshot of a batch's record."""
    return {
        TableName(entry["schema"], entry["table"]): entry["delta_version"]
        for entry in Cut.of(record).tables
        if entry["delta_id"] is not None
    }


def published_at(
    record: Mapping[str, Any] | None, before: int, upto: int, facts: Facts
) -> str | None:
    """Return when the last commit of a snapshot was published; its new commits are those in
    (`before`, `upto`].

    A snapshot without a newer commit shows the same state as the previous one and keeps its time.
    Otherwise, while the source is idle, logs ingested long ago would seem to lag.
    """
    if record is None or (before < upto and facts.last_lsn is not None and before < facts.last_lsn):
        return datetime.now(timezone.utc).isoformat()
    at: str | None = record.get("published_at")
    return at


def publish(
    run: LayerRun,
    state: GoldState,
    facts: Facts,
    before: Cut,
    batch: int,
    session: Spark,
    moved: Mapping[TableName, int],
) -> tuple[Cut, Mapping[str, CommitSums], GoldState]:
    """Publish a plan's snapshot once its tables are applied, unless its full refresh continues.

    Return the snapshot, the figures written since the previous one by `schema.table`, and gold's
    state after it, in which tables found damaged do not equal the source's.

    `facts` cover at least the range from the previous snapshot to this one. `session` is the
    session used to read the tables' commits. `moved`: Delta versions of tables on which only
    maintenance has committed since the previous snapshot.
    """
    found = _inspect_tables(session, run.settings, state, before, batch)
    state = state.with_damaged(
        {table.state.name: table.damage for table in found if table.damage is not None}
    )
    entries = [_entry(run.settings, state, table, moved) for table in found]
    cut = Cut(
        str(gtids_at(before, facts)) or None,
        before.committed_at if facts.committed_at is None else facts.committed_at,
        entries,
    )
    done = {str(table.state.name): table.written for table in found if table.written}
    if state.rebuild.under_way:
        return cut, done, state
    row = {"source": run.source, "batch": batch, "lsn": state.cut_lsn, **asdict(cut)}
    rows = pa.Table.from_pylist([row], schema=CUTS)
    run.ledger.tables.append(cuts_table(run.lake), rows, cut_step(run.source, batch))
    return cut, done, state


def gtids_at(before: Cut, facts: Facts) -> GtidSet:
    """Return the GTID set of the previous snapshot plus the GTIDs in `facts`.

    For MariaDB the latest sequence numbers count, even if RESET restarted them.
    """
    known = GtidSet.of(before.gtid_set)
    runs = (f"{source}:{first}-{last}" for source, first, last in facts.gtids)
    added = GtidSet.of(*runs, *facts.server_ends)
    return GtidSet((known | added).intervals, {**known.last, **added.last})


@dataclass(frozen=True, slots=True)
class _InspectedTable:
    """A table after a batch: its Delta ID and version, what the batch wrote, and any damage.

    `damage` is newly found, or known damage that turned out to be less severe.
    """

    state: TableState
    delta_id: str | None
    delta_version: int | None
    written: CommitSums | None = None
    damage: Damage | None = None


def _inspect_tables(
    spark: Spark, settings: Settings, state: GoldState, before: Cut, batch: int
) -> list[_InspectedTable]:
    """Inspect every table; one that the batch did not touch stays as in the previous snapshot."""
    known = {(entry["schema"], entry["table"]): entry for entry in before.tables}
    judges = state.signed and signs(spark)

    def inspected(table: TableState) -> _InspectedTable:
        last = known.get((table.schema, table.table)) or {}
        again = batch == table.refresh
        delta_id, since = last.get("delta_id"), last.get("delta_version")
        unchanged = _InspectedTable(table, delta_id, since if delta_id else None)
        # Without a version, a table at the path is not the source's, unless it was in the
        # previous snapshot: a table that starts without a known definition is emptied.
        if not (table.touched if delta_id else table.version is not None):
            return unchanged
        path = gold_name(settings, table.schema, table.table)
        try:
            found = state_of(spark, path)
            if found is None and (table.dropped or not delta_id):
                return _InspectedTable(table, None, None)
            if found is None:
                return replace(unchanged, damage=table.damage or gone(path))
            commits = commits_since(spark, path, since)
        except Exception as error:
            damage = damage_in(error, path, version_of(path))
            if damage is None:
                raise
            return replace(unchanged, damage=table.damage or damage)
        damage = (
            _damage(spark, table, path, commits, since)
            if judges and delta_id and since is not None and not again
            else None
        )
        kept = damage is not None and not damage.met
        return _InspectedTable(
            table,
            delta_id if delta_id and not again else found.id,
            # A version that another program or user wrote is not a state of the source.
            since if kept else commits[0].version,
            written_since(commits, since),
            damage,
        )

    tables = [state.tables[name] for name in sorted(state.tables)]
    with ThreadPoolExecutor(settings.parallel_tables) as pool:
        return list(pool.map(inspected, tables))


def _damage(
    spark: Spark,
    table: TableState,
    path: str,
    commits: Sequence[Commit],
    since: int,
) -> Damage | None:
    """Return the damage that a table's commits since the previous snapshot show, or None."""
    found = [commit for commit in reversed(commits) if commit.version > since]
    if damage := by_others(spark, path, found, since):
        return damage
    if table.damage and table.damage.final and not any(map(is_own, found)):
        return replace(table.damage, final=False)
    return None


def _entry(
    settings: Settings, state: GoldState, inspected: _InspectedTable, moved: Mapping[TableName, int]
) -> dict[str, Any]:
    """Return a table's entry in the snapshot."""
    table = state.tables[inspected.state.name]
    version = inspected.delta_version
    if version is not None and table.damage is None:
        version = max(version, moved.get(table.name, version))
    return {
        "schema": table.schema,
        "table": table.table,
        "path": gold_name(settings, table.schema, table.table),
        "delta_id": inspected.delta_id,
        "delta_version": version,
        "held": state.holds(table) is not None or table.to_lsn < state.cut_lsn,
        "complete": table.complete,
    }
