"""Looking after one table: properties, files, what deletion vectors strike out, old files.

Every step finds out whether it is due, so that a run which goes on where another died does what is
left. None changes a row: whatever the order, readers see the same. A step that loses to other
writers again and again is left for the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import partial

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.errors import ConcurrentRunError, LakeLostError
from pipeline.lake_tables.by_spark import BIG_ROWS
from pipeline.maintenance.fit import (
    DELETED_DAYS,
    LOG_DAYS,
    SMALL_BYTES,
    TARGET_BYTES,
    Kept,
    crowded,
    fitting,
    purge_pays,
    read_days,
    struck_out,
)
from pipeline.maintenance.tables import Table
from pipeline.sessions import own_session
from pipeline.sql_text import in_sql

_FILE = r"\.(parquet|bin)$"
"""Data, and deletion vectors."""
DELETED, LOG = "delta.deletedFileRetentionDuration", "delta.logRetentionDuration"
OWN = "binlake.deletedFileRetentionDuration"
"""What maintenance has set for the first: where that is another, somebody else has."""
PROPERTIES = "its properties"
SESSION = {
    "spark.databricks.delta.optimize.maxFileSize": str(TARGET_BYTES),
    "spark.databricks.delta.optimize.minFileSize": str(SMALL_BYTES),
    # What VACUUM removed is then told in the table's history.
    "spark.databricks.delta.vacuum.logging.enabled": "true",
    # VACUUM lists folders in as many tasks, by default 10,000.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "8",
}
"""Settings of the session that tables are looked after in."""


@dataclass(frozen=True, slots=True)
class Commit:
    """One of a table's commits, from its history."""

    version: int
    at: datetime
    operation: str
    metrics: dict[str, str] = field(default_factory=dict)
    tag: str | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """What a table looks like; `commits` newest first."""

    files: int
    bytes: int
    kept: Kept
    commits: Sequence[Commit]
    delta_id: str

    def reach(self, versions: Sequence[int], now: datetime) -> timedelta:
        """How long ago the oldest of these versions was committed, as far as the log tells."""
        if not versions:
            return timedelta(0)
        oldest = min(versions)
        at = min(commit.at for commit in self.commits if commit.version >= oldest)
        return max(now - at, timedelta(0))


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be done about a table, besides VACUUM."""

    kept: Kept | None = None
    struck: int = 0
    crowded: bool = False

    def sentences(self, table: Table, looked: Looked) -> list[str]:
        """In words, for `--dry-run`."""
        found = []
        if self.kept:
            found.append(f"{table.name}: keep removed files for {self.kept.deleted} days")
        if self.struck:
            found.append(f"{table.name}: purge {self.struck:,} rows that are struck out")
        if self.crowded:
            size = f"{looked.bytes / (1 << 20):,.1f} MiB"
            found.append(f"{table.name}: put {looked.files:,} files together ({size})")
        return found


def look(spark: SparkSession, table: Table) -> Looked:
    """Ask Delta: one look at the table, one at its history."""
    detail = delta.detail(spark, table.reference)
    micros = sf.unix_micros("timestamp").alias("at")
    columns = ("version", micros, "operation", "operationMetrics", "userMetadata")
    history = delta.history(spark, table.reference, None if table.named is not None else 1)
    commits = [
        Commit(
            row["version"],
            datetime.fromtimestamp(row["at"] / 1_000_000, timezone.utc),
            row["operation"],
            row["operationMetrics"] or {},
            row["userMetadata"],
        )
        for row in history.select(*columns).collect()
    ]
    properties = detail.properties
    kept = Kept(
        read_days(properties.get(DELETED), DELETED_DAYS),
        read_days(properties.get(LOG), LOG_DAYS),
        asked=DELETED in properties and properties[DELETED] != properties.get(OWN),
    )
    return Looked(detail.files, detail.bytes, kept, commits, detail.id)


def due(spark: SparkSession, table: Table, looked: Looked, cuts: timedelta, now: datetime) -> Due:
    """Decide; `cuts`: for how long they are kept."""
    if table.named is None:
        return Due(crowded=crowded(looked.files, looked.bytes))
    # A table that somebody made anew has none of the versions that cuts name.
    named = table.named if table.delta_id == looked.delta_id else ()
    struck = struck_out((commit.operation, commit.metrics) for commit in looked.commits)
    pays = struck > 0 and purge_pays(struck, delta.read(spark, table.reference).count())
    return Due(
        fitting(looked.kept, cuts, looked.reach(named, now)),
        struck if pays else 0,
        crowded(looked.files, looked.bytes),
    )


Step = Callable[[SparkSession], bool]
"""Does something to a table in that session, or finds nothing to do."""


@dataclass(frozen=True, slots=True)
class LookedAfter:
    """Whether anything was done to a table; sentences about what other writers kept from it."""

    changed: bool
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Keeper:
    """Carries out what is due; `spark` is a session for it, `app` and `version` name its steps."""

    spark: SparkSession
    app: str
    version: int

    def keep(self, table: Table, what: Due) -> LookedAfter:
        """Do it, then remove old files.

        The properties come first: what is written next lets the versions that cuts name be read
        only as long as these say.
        """
        steps: list[tuple[str, Step]] = []
        if what.kept:
            steps.append((PROPERTIES, partial(_set, table, what.kept)))
        if what.struck:
            steps.append(("its purge", partial(_purge, table)))
        if what.crowded:
            steps.append(("OPTIMIZE", partial(_optimize, table)))
        steps.append(("VACUUM", partial(_vacuum, table)))
        session = own_session(self.spark, BIG_ROWS) if table.big_rows else self.spark
        did: list[bool] = []
        left = []

        def take(step: Step) -> None:
            did.append(step(session))

        for name, step in steps:
            app = f"{self.app}/{table.name}"
            try:
                delta.commit(
                    partial(take, step), app=app, version=self.version, table=table.reference
                )
            except LakeLostError:
                raise
            except ConcurrentRunError:
                left.append(f"{table.name}: {name} is left for the next time: it is being written.")
                if name == PROPERTIES:
                    break  # by the old ones, VACUUM may remove what published cuts need
        return LookedAfter(any(did), tuple(left))


def _set(table: Table, kept: Kept, spark: SparkSession) -> bool:
    deleted, log = (f"interval {days} days" for days in (kept.deleted, kept.log))
    properties = {DELETED: deleted, LOG: log} | ({} if kept.asked else {OWN: deleted})
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(f"ALTER TABLE {in_sql(table.reference)} SET TBLPROPERTIES ({told})")
    return True


def _purge(table: Table, spark: SparkSession) -> bool:
    spark.sql(f"REORG TABLE {in_sql(table.reference)} APPLY (PURGE)").collect()
    return True


def _optimize(table: Table, spark: SparkSession) -> bool:
    spark.sql(f"OPTIMIZE {in_sql(table.reference)}").collect()
    return True


def _vacuum(table: Table, spark: SparkSession) -> bool:
    """By the properties that the table has by then; what finds nothing would be told there too."""
    if not old_files(spark, table):
        return False
    spark.sql(f"VACUUM {in_sql(table.reference)}").collect()
    return True


def old_files(spark: SparkSession, table: Table) -> int:
    """How many files VACUUM would remove.

    It also names folders whose files are all removed and not old yet, and leaves them.
    """
    paths = spark.sql(f"VACUUM {in_sql(table.reference)} DRY RUN")
    return paths.where(sf.col("path").rlike(_FILE)).count()


def done(spark: SparkSession, table: Table, tag: str) -> list[Commit]:
    """The commits of a table that have this tag, newest first."""
    rows = delta.history(spark, table.reference, 100).collect()
    nothing = datetime.fromtimestamp(0, timezone.utc)
    return [
        Commit(row["version"], nothing, row["operation"], row["operationMetrics"] or {}, tag)
        for row in rows
        if row["userMetadata"] == tag
    ]
