"""Looking after one table: properties, files, what deletion vectors strike out, old files.

Every step finds out whether it is due, so that a run which goes on where another died does what is
left. None changes a row: whatever the order, readers see the same. A step that loses to other
writers again and again is left for the next time.
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
    Kept,
    crowded,
    fitting,
    purge_pays,
    read_days,
    struck_out,
)
from pipeline.maintenance.tables import Table, spark_tables

DELETED, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
OWN = "binlake.deletedFileRetentionDuration"
"""What maintenance has set for the first: where that is another, somebody else has."""
PROPERTIES = "its properties"


@dataclass(frozen=True, slots=True)
class Looked:
    """What a table looks like; `commits` newest first, of tables of which cuts name versions.
    `old`: files that VACUUM would remove."""

    state: TableState
    kept: Kept
    commits: Sequence[Commit]
    old: int

    def reach(self, versions: Sequence[int], now: datetime) -> timedelta:
        """How long ago the oldest of these versions was committed, as far as the log tells."""
        if not versions:
            return timedelta(0)
        oldest = min(versions)
        at = min(commit.at for commit in self.commits if commit.version >= oldest)
        return max(now - at, timedelta(0))


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done about a table; `old`: files that are to be removed."""

    kept: Kept | None = None
    struck: int = 0
    crowded: bool = False
    old: int = 0

    def __bool__(self) -> bool:
        return bool(self.kept or self.struck or self.crowded or self.old)

    def sentences(self, table: Table, looked: Looked) -> Iterator[str]:
        """In words, for `--dry-run`."""
        if self.kept:
            yield f"{table.name}: keep removed files for {self.kept.deleted} days"
        if self.struck:
            yield f"{table.name}: purge {self.struck:,} rows that are struck out"
        if self.crowded:
            size = f"{looked.state.bytes / (1 << 20):,.1f} MiB"
            yield f"{table.name}: put {looked.state.files:,} files together ({size})"
        if self.old:
            yield f"{table.name}: delete {self.old:,} old files"


def look(tables: Tables, table: Table) -> Looked | None:
    """Look at the table's log and folder; None where it is gone."""
    state = tables.state(table.stored)
    if state is None:
        return None
    properties = state.properties
    kept = Kept(
        read_days(properties.get(DELETED), DELETED_DAYS),
        read_days(properties.get(LOG), LOG_DAYS),
        asked=DELETED in properties and properties[DELETED] != properties.get(OWN),
    )
    commits = [] if table.named is None else tables.history(table.stored, None)
    return Looked(state, kept, commits, tables.old_files(table.stored))


def due(spark: Spark, table: Table, looked: Looked, cuts: timedelta, now: datetime) -> Due:
    """Decide; `cuts`: for how long they are kept."""
    much = crowded(looked.state.files, looked.state.bytes)
    if table.named is None:
        return Due(crowded=much, old=looked.old)
    # A table that somebody made again has none of the versions that cuts name.
    named = table.named if table.delta_id == looked.state.id else ()
    struck = struck_out((commit.operation, commit.metrics) for commit in looked.commits)
    pays = struck > 0 and purge_pays(struck, _rows(spark, table, looked, struck))
    return Due(
        fitting(looked.kept, cuts, looked.reach(named, now)),
        struck if pays else 0,
        much,
        looked.old,
    )


def _rows(spark: Spark, table: Table, looked: Looked, struck: int) -> int:
    """How many rows are not struck out."""
    if looked.state.rows is None:
        return delta.read(started(spark), table.stored.reference).count()
    return max(looked.state.rows - struck, 0)


@dataclass(frozen=True, slots=True)
class LookedAfter:
    """Whether anything was done to a table; sentences about what other writers kept from it."""

    changed: bool
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keeper:
    """Carries out what is due; `note` is what its commits carry."""

    spark: Spark
    tables: Tables
    note: str

    def keep(self, table: Table, what: Due) -> LookedAfter:
        """Do it, then remove old files; nothing where nothing is due.

        The properties come first: what is written next lets the versions that cuts name be read
        only as long as these say.
        """
        if not what:
            return LookedAfter(False)
        did: list[bool] = []
        left = []
        for name, step in self._steps(table, what):
            try:
                did.append(step())
            except LakeLostError:
                raise
            except ConcurrentRunError:
                left.append(f"{table.name}: {name} is left for the next time: it is being written.")
                if name == PROPERTIES:
                    break  # by the old ones, VACUUM may remove what published cuts need
        return LookedAfter(any(did), tuple(left))

    def _steps(self, table: Table, what: Due) -> Iterator[tuple[str, Callable[[], bool]]]:
        stored, note = table.stored, self.note
        if what.kept:
            yield PROPERTIES, partial(self._by_spark, table, _set(table, what.kept))
        if what.struck:
            purge = f"REORG TABLE {in_sql(stored.reference)} APPLY (PURGE)"
            yield "its purge", partial(self._by_spark, table, purge)
        by = table.kept_by(self.spark, self.tables)
        if what.crowded:
            yield "OPTIMIZE", partial(by.compact, stored, note)
        yield "VACUUM", partial(by.vacuum, stored, note)

    def _by_spark(self, table: Table, statement: str) -> bool:
        return spark_tables(self.spark, self.tables).keep(table.stored, self.note, statement)


def _set(table: Table, kept: Kept) -> str:
    deleted, log = (f"interval {days} days" for days in (kept.deleted, kept.log))
    properties = {DELETED: deleted, LOG: log} | ({} if kept.asked else {OWN: deleted})
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    return f"ALTER TABLE {in_sql(table.stored.reference)} SET TBLPROPERTIES ({told})"


def done(tables: Tables, table: Table, note: str) -> list[Commit]:
    """The commits of a table that carry this note, newest first."""
    return [commit for commit in tables.history(table.stored, 100) if commit.note == note]
