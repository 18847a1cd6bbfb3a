"""Commits of gold tables that Binlake did not make: which of them change what a table holds.

OPTIMIZE, VACUUM, properties and the like are anybody's to make; rows and columns are Binlake's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.gold.table.commit_stats import UPKEEP
from pipeline.gold.table.damage import Damage
from pipeline.lake import delta
from pipeline.lake.child_sessions import setting
from pipeline.lake.delta_log.table import Commit
from pipeline.lake.sql_text import in_sql
from pipeline.lake.starting import Spark, running, started

MARK = "binlake gold"
"""What gold's own commits carry as their user metadata: what does not is somebody else's."""

_WITHOUT_ROWS = frozenset(
    {
        *UPKEEP,
        *("SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "CLUSTER BY", "COMPUTE STATS"),
        *("ADD CONSTRAINT", "DROP CONSTRAINT", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE"),
        *("ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL", "DOMAIN METADATA CLEANUP"),
        "ADD DELETION VECTORS TOMBSTONES",
    }
)
"""Delta's operations (`DeltaOperations.scala`) that change neither rows nor columns."""
_OF_ROWS = frozenset(
    {
        *("WRITE", "MERGE", "DELETE", "UPDATE", "TRUNCATE", "RESTORE", "CLONE", "COPY INTO"),
        *("STREAMING UPDATE", "MANUAL UPDATE", "FSCK", "REPLACE TABLE", "CREATE OR REPLACE TABLE"),
        *("REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE AS SELECT"),
    }
)
"""Those that change rows, also where Delta is told to keep no figures of them."""
_OF_COLUMNS = frozenset(
    {
        *("ADD COLUMNS", "DROP COLUMNS", "RENAME COLUMN", "REPLACE COLUMNS", "CHANGE COLUMN"),
        *("CHANGE COLUMNS", "UPDATE COLUMN METADATA", "UPDATE SCHEMA"),
    }
)
"""Those that may change columns, or only what is said of them (a comment)."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What commits behind the version that gold left tell.

    `foreign`: the first one that changed rows, which nothing has undone. `columns`: one that may
    have changed columns. `sound`: the version to which a RESTORE undoes them (None: none does).
    """

    sound: int | None
    foreign: Commit | None = None
    columns: Commit | None = None


def judge(commits: Sequence[Commit], before: int) -> Judged:
    """Look at the commits behind version `before`, oldest first.

    A RESTORE to what Binlake left last undoes what came between; one over commits of Binlake's own
    does not, since Delta skips these from then on.
    """
    sound, foreign, columns = [before], None, None
    for commit in commits:
        if is_own(commit):
            sound = [] if foreign or columns else [commit.version]
        elif _restored(commit) in sound:
            foreign = columns = None
        elif commit.operation in _OF_COLUMNS or _is_unknown(commit):
            columns = columns or commit
        elif commit.operation not in _WITHOUT_ROWS:
            foreign = foreign or commit
        if foreign is None and columns is None and commit.version not in sound:
            sound.append(commit.version)
    return Judged(sound[-1] if sound else None, foreign, columns)


def changed_by_hand(table: str, commit: Commit, sound: int | None) -> Damage:
    """The damage that a commit of somebody else is."""
    undo = f"RESTORE TABLE {in_sql(table)} TO VERSION AS OF {sound} undoes it"
    return Damage(
        f"its gold table {table} was changed by somebody else: {commit.operation}, version"
        f" {commit.version}{f' ({undo})' if sound is not None else ''}"
    )


def by_others(spark: Spark, table: str, commits: Sequence[Commit], before: int) -> Damage | None:
    """What commits of others behind version `before` have done to a table."""
    judged = judge(commits, before)
    foreign = judged.foreign
    if (
        foreign is None
        and judged.columns
        and _columns(spark, table, before) != _columns(spark, table)
    ):
        foreign = judged.columns
    return changed_by_hand(table, foreign, judged.sound) if foreign else None


def _columns(spark: Spark, table: str, version: int | None = None) -> list[tuple[str, str]]:
    schema = delta.read(started(spark), table, version=version).schema
    return [(one.name, one.dataType.simpleString()) for one in schema]


def is_own(commit: Commit) -> bool:
    """Whether gold's job made it."""
    return MARK in (commit.note or "")


def _is_unknown(commit: Commit) -> bool:
    """Whether it is of an operation of another release, or of Databricks' own, that tells of no
    rows."""
    return not commit.metrics and commit.operation not in (*_WITHOUT_ROWS, *_OF_ROWS)


def _restored(commit: Commit) -> int | None:
    """The version that a RESTORE names, if it is one and names any."""
    version = str(commit.parameters.get("version"))
    return int(version) if commit.operation == "RESTORE" and version.isdecimal() else None


def signs(spark: Spark) -> bool:
    """Whether the session's commits carry gold's mark, so that others' can be told from them.

    A Spark of our own, which has not started yet, will let that be set.
    """
    session = running(spark)
    return session is None or setting(session, delta.USER_METADATA) == MARK
