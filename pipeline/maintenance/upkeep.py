"""Maintain one table: set properties, purge soft-deleted rows, compact, vacuum, apply options.

Every step checks whether it is due, so that a run can resume an interrupted one. No step changes
rows, so readers see the same data throughout. A step that keeps losing to concurrent writers is
skipped until the next maintenance.

Delta reads an earlier version only while its table's property `deletedFileRetentionDuration`
reaches back to that version's own commit, and VACUUM uses the same property. So this property keeps
published snapshots readable: it must reach back to the oldest version in one, which for a table
that rarely changes may be much older than the snapshot. The Delta log must reach back as far.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from pyspark.errors import PySparkException

from pipeline.errors import ConcurrentRunError, LakeLostError, sentence_of
from pipeline.gold.table.table_metadata import properties_clause, set_without_spark
from pipeline.lake import delta
from pipeline.lake.delta_log.delta_rs import DELETED, LOG
from pipeline.lake.delta_log.model import Commit, DeltaState
from pipeline.lake.files.compaction import TARGET_BYTES
from pipeline.lake.sql_text import in_sql
from pipeline.lake.tables.tables import Tables
from pipeline.layer import LayerRun
from pipeline.maintenance.gold_options import DROP_VECTORS, clauses
from pipeline.maintenance.tables import Table, spark_tables

OWN = "binlake.deletedFileRetentionDuration"
"""The value of DELETED that maintenance has set; if it differs, another program or user set it."""
PROPERTIES = "ALTER TABLE"

LEAST_SPARE = 16
"""The fewest files in excess that are worth a commit."""
SOFT_DELETED_SHARE = 0.1
"""The share of soft-deleted rows from which a purge pays."""
AHEAD = timedelta(days=2)
"""The time until the next maintenance; also longer than any write takes."""
SLACK = 0.25
_DAY = timedelta(days=1)
LOG_DAYS = 30
DELETED_DAYS = 7
"""Delta's own defaults."""


@dataclass(frozen=True, slots=True)
class FileRetention:
    """The retention of a table's removed files (`deleted`) and of its Delta log, in days.

    `set_by_others`: not by Binlake, so that it is never shortened.
    """

    deleted: int
    log: int
    set_by_others: bool = False


@dataclass(frozen=True, slots=True)
class Due:
    """The steps due for a table: the retention to set, the number of soft-deleted rows to purge,
    the files to compact and their bytes, the number of old files to delete, and the clauses of
    ALTER TABLE that apply the settings to a gold table."""

    kept: FileRetention | None = None
    soft_deleted: int = 0
    files: int = 0
    bytes: int = 0
    old: int = 0
    options: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.kept or self.soft_deleted or self.files or self.old or self.options)

    def sentences(self, name: str) -> Iterator[str]:
        """Yield the steps in words, for `--dry-run`; `name`: the table's."""
        if self.kept:
            yield f"{name}: keep removed files for {self.kept.deleted} days"
        if self.soft_deleted:
            yield f"{name}: purge {self.soft_deleted:,} soft-deleted rows"
        if self.files:
            yield f"{name}: compact {self.files:,} files ({self.bytes / (1 << 20):,.1f} MiB)"
        if self.old:
            yield f"{name}: delete {self.old:,} old files"
        for clause in self.options:
            yield f"{name}: ALTER TABLE … {clause}, to apply the settings under gold"


def due(run: LayerRun, table: Table, now: datetime) -> Due:
    """Return the due steps, from the table's log and folder; none if it is missing."""
    tables = table.tables_for_reading(run)
    state = tables.state(table.stored)
    if state is None:
        return Due()  # gold's next run reports it
    files = state.files if needs_compaction(state.files, state.bytes) else 0
    what = Due(files=files, bytes=state.bytes, old=tables.old_files(table.stored))
    if table.named is None:
        return what
    commits = tables.history(table.stored, None)
    properties = state.properties
    kept = FileRetention(
        read_days(properties.get(DELETED), DELETED_DAYS),
        read_days(properties.get(LOG), LOG_DAYS),
        set_by_others=DELETED in properties and properties[DELETED] != properties.get(OWN),
    )
    # A table that was re-created has none of the versions in snapshots.
    named = table.named if table.delta_id == state.id else ()
    soft_deleted = soft_deleted_rows((commit.operation, commit.metrics) for commit in commits)
    pays = soft_deleted > 0 and purge_pays(soft_deleted, _rows(run, table, state, soft_deleted))
    wanted, reference = table.wanted, table.stored.reference
    options = tuple(clauses(run, reference, wanted, state)) if wanted else ()
    pays = pays and DROP_VECTORS not in options  # which purges them, too
    return replace(
        what,
        options=options,
        kept=new_retention(kept, run.settings.retention.cuts, _reach(commits, named, now)),
        soft_deleted=soft_deleted if pays else 0,
    )


def _reach(commits: Sequence[Commit], versions: Sequence[int], now: datetime) -> timedelta:
    """Return the age of the oldest of these versions, as far as the log reaches back."""
    if not versions:
        return timedelta(0)
    oldest = min(versions)
    at = min(commit.at for commit in commits if commit.version >= oldest)
    return max(now - at, timedelta(0))


def _rows(run: LayerRun, table: Table, state: DeltaState, soft_deleted: int) -> int:
    """Return the number of rows that are not soft-deleted."""
    if state.rows is None:
        return delta.read(run.session, table.stored.reference).count()
    return max(state.rows - soft_deleted, 0)


@dataclass(frozen=True, slots=True)
class UpkeepResult:
    """Result of a table's upkeep: `changed` or not, and messages on skipped steps (`left`)."""

    changed: bool
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Keeper:
    """Executor of due steps; `note`: the user metadata of its commits."""

    run: LayerRun
    note: str

    def keep(self, table: Table, what: Due) -> UpkeepResult:
        """Execute the due steps, with a VACUUM if it may remove something.

        The properties are set first: after the next write, the versions in snapshots stay readable
        only for as long as the properties say.
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
                    break  # with the old properties, VACUUM may remove files that snapshots need
            except PySparkException as error:
                if name not in what.options:
                    raise
                left.append(
                    f"{table.name}: Spark refused {name}: {sentence_of(error)} Change the table's"
                    " settings under gold, or the table, until they agree."
                )
        return UpkeepResult(any(did), tuple(left))

    def _steps(self, table: Table, what: Due) -> Iterator[tuple[str, Callable[[], bool]]]:
        stored, note = table.stored, self.note

        def by() -> Tables:
            return table.tables_for_writing(self.run)

        old = what.old
        if what.kept:
            yield PROPERTIES, partial(self._retain, table, _properties(what.kept))
            old = table.tables_for_reading(self.run).old_files(stored)  # by the new retention
        if what.soft_deleted:
            purge = f"REORG TABLE {in_sql(stored.reference)} APPLY (PURGE)"
            yield "REORG", partial(self._by_spark, table, purge)
        if what.files:
            yield "OPTIMIZE", lambda: by().compact(stored, note)
        if old:
            yield "VACUUM", lambda: by().vacuum(stored, note)
        for clause in what.options:
            statement = f"ALTER TABLE {in_sql(stored.reference)} {clause}"
            yield clause, partial(self._by_spark, table, statement)

    def _retain(self, table: Table, properties: Mapping[str, str]) -> bool:
        reference, done = table.stored.reference, False

        def act() -> None:
            nonlocal done
            done = set_without_spark(self.run.spark, reference, properties, self.note)

        delta.commit(act, reference)
        statement = f"ALTER TABLE {in_sql(reference)} {properties_clause(properties)}"
        return done or self._by_spark(table, statement)

    def _by_spark(self, table: Table, statement: str) -> bool:
        return spark_tables(self.run).keep(table.stored, self.note, statement)


def _properties(kept: FileRetention) -> dict[str, str]:
    deleted, log = (f"interval {days} days" for days in (kept.deleted, kept.log))
    return {DELETED: deleted, LOG: log} | ({} if kept.set_by_others else {OWN: deleted})


# --- due steps ------------------------------------------------------------------------------------


def needs_compaction(files: int, size: int) -> bool:
    """Return True if a table of `size` bytes has far more files than it needs."""
    needed = max(1, math.ceil(size / TARGET_BYTES))
    return files - needed >= max(LEAST_SPARE, needed)


def new_retention(now: FileRetention, cuts: timedelta, reach: timedelta) -> FileRetention | None:
    """Return the retention to set, or None if the current one (`now`) is right.

    `cuts`: the retention of snapshots. `reach`: the age of the oldest version in one. The result
    has some slack, so that a table that rarely changes needs few commits.
    """
    need = max(cuts, reach) + AHEAD
    wanted = math.ceil(need * (1 + SLACK) / _DAY)
    little = now.set_by_others or now.deleted <= 2 * wanted
    if need <= now.deleted * _DAY and little and now.log >= now.deleted:
        return None
    if now.set_by_others:
        wanted = max(wanted, now.deleted)
        return FileRetention(wanted, max(LOG_DAYS, wanted, now.log), set_by_others=True)
    base = max(LOG_DAYS, wanted)
    return FileRetention(wanted, now.log if base <= now.log <= 2 * base else base)


def soft_deleted_rows(commits: Iterable[tuple[str, Mapping[str, str]]]) -> int:
    """Return the number of rows soft-deleted by deletion vectors since the last purge.

    `commits`: the operation and Delta's metrics of each commit, newest first.
    """
    count = 0
    for operation, metrics in commits:
        if operation in ("REORG", "OPTIMIZE"):
            break
        if int(metrics.get("numTargetDeletionVectorsAdded", 0)):
            names = ("numTargetRowsUpdated", "numTargetRowsDeleted")
        elif int(metrics.get("numDeletionVectorsAdded", 0)):
            names = ("numDeletedRows", "numUpdatedRows")
        else:
            continue
        count += sum(int(metrics.get(name, 0)) for name in names)
    return count


def purge_pays(soft_deleted: int, rows: int) -> bool:
    """Return True if skipping soft-deleted rows costs readers more than rewriting the others."""
    return soft_deleted > 0 and soft_deleted >= SOFT_DELETED_SHARE * (rows + soft_deleted)


def read_days(text: str | None, default: int) -> int:
    """Parse a property such as `interval 1 week` to whole days; the default if it has none."""
    written = re.fullmatch(r"(?:interval )?(\d+) (hour|day|week)s?", (text or "").strip().lower())
    if written is None:
        return default
    return timedelta(**{f"{written[2]}s": int(written[1])}) // _DAY
