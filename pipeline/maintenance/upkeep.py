"""Maintain one table: set properties, purge soft-deleted rows, compact and vacuum.

Every step checks whether it is due, so that a run can resume an interrupted one. No step changes
rows, so readers see the same data throughout. A step that keeps losing to concurrent writers is
skipped until the next maintenance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake import delta
from pipeline.lake.delta_log.table import Commit, TableState
from pipeline.lake.sql_text import in_sql
from pipeline.lake.starting import Spark, started
from pipeline.lake.tables.tables import Tables
from pipeline.maintenance.fit import (
    DELETED_DAYS,
    LOG_DAYS,
    FileRetention,
    needs_compaction,
    new_retention,
    purge_pays,
    read_days,
    soft_deleted_rows,
)
from pipeline.maintenance.tables import Table, spark_tables

DELETED, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
OWN = "binlake.deletedFileRetentionDuration"
"""The value of DELETED that maintenance has set; if they differ, somebody else has changed it."""
PROPERTIES = "ALTER TABLE"


@dataclass(frozen=True, slots=True)
class TableDetails:
    """A table's current state. `commits`: newest first, only of tables with versions in cuts.
    `old`: the number of files that VACUUM would remove."""

    state: TableState
    kept: FileRetention
    commits: Sequence[Commit]
    old: int

    def reach(self, versions: Sequence[int], now: datetime) -> timedelta:
        """Return the age of the oldest of these versions, as far as the log reaches back."""
        if not versions:
            return timedelta(0)
        oldest = min(versions)
        at = min(commit.at for commit in self.commits if commit.version >= oldest)
        return max(now - at, timedelta(0))


@dataclass(frozen=True, slots=True)
class Due:
    """The steps due for a table: the retention to set, the number of soft-deleted rows to purge,
    whether to compact, and the number of old files to delete."""

    kept: FileRetention | None = None
    soft_deleted: int = 0
    compact: bool = False
    old: int = 0

    def __bool__(self) -> bool:
        return bool(self.kept or self.soft_deleted or self.compact or self.old)

    def sentences(self, table: Table, details: TableDetails) -> Iterator[str]:
        """Yield the steps in words, for `--dry-run`."""
        if self.kept:
            yield f"{table.name}: keep removed files for {self.kept.deleted} days"
        if self.soft_deleted:
            yield f"{table.name}: purge {self.soft_deleted:,} soft-deleted rows"
        if self.compact:
            size = f"{details.state.bytes / (1 << 20):,.1f} MiB"
            yield f"{table.name}: compact {details.state.files:,} files ({size})"
        if self.old:
            yield f"{table.name}: delete {self.old:,} old files"


def read_details(tables: Tables, table: Table) -> TableDetails | None:
    """Read the table's state from its log and folder; None if it is missing."""
    state = tables.state(table.stored)
    if state is None:
        return None
    properties = state.properties
    kept = FileRetention(
        read_days(properties.get(DELETED), DELETED_DAYS),
        read_days(properties.get(LOG), LOG_DAYS),
        asked=DELETED in properties and properties[DELETED] != properties.get(OWN),
    )
    commits = [] if table.named is None else tables.history(table.stored, None)
    return TableDetails(state, kept, commits, tables.old_files(table.stored))


def due(spark: Spark, table: Table, details: TableDetails, cuts: timedelta, now: datetime) -> Due:
    """Return the steps due; `cuts`: how long published cuts are kept."""
    compact = needs_compaction(details.state.files, details.state.bytes)
    if table.named is None:
        return Due(compact=compact, old=details.old)
    # A table that was recreated has none of the versions in cuts.
    named = table.named if table.delta_id == details.state.id else ()
    soft_deleted = soft_deleted_rows(
        (commit.operation, commit.metrics) for commit in details.commits
    )
    pays = soft_deleted > 0 and purge_pays(soft_deleted, _rows(spark, table, details, soft_deleted))
    return Due(
        new_retention(details.kept, cuts, details.reach(named, now)),
        soft_deleted if pays else 0,
        compact,
        details.old,
    )


def _rows(spark: Spark, table: Table, details: TableDetails, soft_deleted: int) -> int:
    """Return the number of rows that are not soft-deleted."""
    if details.state.rows is None:
        return delta.read(started(spark), table.stored.reference).count()
    return max(details.state.rows - soft_deleted, 0)


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """Whether a table was changed, and messages about steps that were skipped (`left`)."""

    changed: bool
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keeper:
    """Executes due steps; `note`: the user metadata of its commits."""

    spark: Spark
    tables: Tables
    note: str

    def keep(self, table: Table, what: Due) -> UpkeepResult:
        """Execute the due steps, then VACUUM; nothing if none is due.

        The properties are set first: after the next write, the versions in cuts stay readable only
        for as long as the properties say.
        """
        if not what:
            return UpkeepResult(False)
        did: list[bool] = []
        left = []
        for name, step in self._steps(table, what):
            try:
                did.append(step())
            except LakeLostError:
                raise
            except ConcurrentRunError:
                left.append(
                    f"{table.name}: skipped {name} until the next maintenance, since other runs"
                    " keep writing to the table."
                )
                if name == PROPERTIES:
                    break  # with the old properties, VACUUM may remove files that cuts need
        return UpkeepResult(any(did), tuple(left))

    def _steps(self, table: Table, what: Due) -> Iterator[tuple[str, Callable[[], bool]]]:
        stored, note = table.stored, self.note
        if what.kept:
            yield PROPERTIES, partial(self._by_spark, table, _set(table, what.kept))
        if what.soft_deleted:
            purge = f"REORG TABLE {in_sql(stored.reference)} APPLY (PURGE)"
            yield "REORG", partial(self._by_spark, table, purge)
        by = table.tables_for_writing(self.spark, self.tables)
        if what.compact:
            yield "OPTIMIZE", partial(by.compact, stored, note)
        yield "VACUUM", partial(by.vacuum, stored, note)

    def _by_spark(self, table: Table, statement: str) -> bool:
        return spark_tables(self.spark, self.tables).keep(table.stored, self.note, statement)


def _set(table: Table, kept: FileRetention) -> str:
    deleted, log = (f"interval {days} days" for days in (kept.deleted, kept.log))
    properties = {DELETED: deleted, LOG: log} | ({} if kept.asked else {OWN: deleted})
    assignments = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return f"ALTER TABLE {in_sql(table.stored.reference)} SET TBLPROPERTIES ({assignments})"


def done(tables: Tables, table: Table, note: str) -> list[Commit]:
    """Return the table's commits with this user metadata, newest first."""
    return [commit for commit in tables.history(table.stored, 100) if commit.note == note]
