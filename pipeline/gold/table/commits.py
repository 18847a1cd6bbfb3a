"""Commits to gold tables: figures of Binlake's own, and damage by others'.

Anyone may run OPTIMIZE or VACUUM or set properties; only Binlake may change rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.gold.table.damage import Damage
from pipeline.lake import delta
from pipeline.lake.child_sessions import setting
from pipeline.lake.delta_log.model import Commit
from pipeline.lake.lazy_spark import Spark, running, started
from pipeline.lake.sql_text import in_sql

SIGNATURE = "binlake gold"
"""User metadata of gold's own commits; a commit without it is by another program or user."""

MAINTENANCE = ("OPTIMIZE", "REORG", "VACUUM START", "VACUUM END")
"""Delta operations that change no rows."""
_WITHOUT_ROWS = frozenset(
    {
        *MAINTENANCE,
        *("SET TBLPROPERTIES", "UNSET TBLPROPERTIES", "CLUSTER BY", "COMPUTE STATS"),
        *("ADD CONSTRAINT", "DROP CONSTRAINT", "UPGRADE PROTOCOL", "ADD FEATURE", "DROP FEATURE"),
        *("ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL", "DOMAIN METADATA CLEANUP"),
        *("Deletion Vector Tombstones", "Empty Commit"),  # of DROP FEATURE deletionVectors
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
"""Operations that change rows, even if Delta is set to collect no metrics of them."""
_OF_COLUMNS = frozenset(
    {
        *("ADD COLUMNS", "DROP COLUMNS", "RENAME COLUMN", "REPLACE COLUMNS", "CHANGE COLUMN"),
        *("CHANGE COLUMNS", "UPDATE COLUMN METADATA", "UPDATE SCHEMA"),
    }
)
"""Operations that may change columns, or only their comments."""
_NAMES = {
    "files_removed": ("numTargetFilesRemoved", "numRemovedFiles"),
    "bytes_removed": ("numTargetBytesRemoved", "numRemovedBytes"),
    "files_added": ("numTargetFilesAdded", "numAddedFiles", "numFiles"),
    "bytes_added": ("numTargetBytesAdded", "numAddedBytes", "numOutputBytes"),
    "deletion_vectors": ("numTargetDeletionVectorsAdded", "numDeletionVectorsAdded"),
    "rows_copied": ("numTargetRowsCopied", "numCopiedRows"),
}
"""Each figure, and its names in the metrics of MERGE, DELETE and writes; a commit has one."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Findings about the commits after the version that gold wrote last.

    `foreign`: the first one that changed rows and was not undone. `columns`: one that may have
    changed columns. `sound`: the version that a RESTORE can go back to (None: there is none).
    """

    sound: int | None
    foreign: Commit | None = None
    columns: Commit | None = None


def judge(commits: Sequence[Commit], before: int) -> Judged:
    """Judge the commits after version `before`, oldest first.

    A RESTORE to the last state that Binlake left undoes the commits between. A RESTORE to before
    Binlake's own later commits does not, since Delta would skip those commits from then on.
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


def by_others(spark: Spark, table: str, commits: Sequence[Commit], before: int) -> Damage | None:
    """Return the damage that others' commits after version `before` did to a table, or None."""
    judged = judge(commits, before)
    foreign = judged.foreign
    if (
        foreign is None
        and judged.columns
        and _columns(spark, table, before) != _columns(spark, table)
    ):
        foreign = judged.columns
    if foreign is None:
        return None
    undo = f"RESTORE TABLE {in_sql(table)} TO VERSION AS OF {judged.sound} undoes it"
    return Damage(
        f"its gold table {table} was changed by another program or user: {foreign.operation},"
        f" version {foreign.version}{f' ({undo})' if judged.sound is not None else ''}"
    )


def _columns(spark: Spark, table: str, version: int | None = None) -> list[tuple[str, str]]:
    schema = delta.read(started(spark), table, version=version).schema
    return [(one.name, one.dataType.simpleString()) for one in schema]


def is_own(commit: Commit) -> bool:
    """Return True if gold's job made the commit."""
    return SIGNATURE in (commit.note or "")


def _is_unknown(commit: Commit) -> bool:
    """Return True if the operation is unknown (another Delta release, Databricks) and reports no
    rows."""
    return not commit.metrics and commit.operation not in (*_WITHOUT_ROWS, *_OF_ROWS)


def _restored(commit: Commit) -> int | None:
    """Return the version that a RESTORE goes back to; None for another operation or a timestamp."""
    version = str(commit.parameters.get("version"))
    return int(version) if commit.operation == "RESTORE" and version.isdecimal() else None


def signs(spark: Spark) -> bool:
    """Return True if the session's commits carry gold's signature, which others' commits lack.

    A Spark session that has not been started yet will be given it.
    """
    session = running(spark)
    return session is None or setting(session, delta.USER_METADATA) == SIGNATURE


# --- figures --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CommitSums:
    """Sums over commits: files removed and added, and rows copied unchanged between them.

    `deletion_vectors`: files of which rows were deleted by a deletion vector instead.
    """

    commits: int = 0
    files_removed: int = 0
    bytes_removed: int = 0
    files_added: int = 0
    bytes_added: int = 0
    deletion_vectors: int = 0
    rows_copied: int = 0


def written(commits: Iterable[Mapping[str, str]]) -> CommitSums:
    """Return the sums of the `operationMetrics` of commits."""
    metrics = list(commits)
    sums = {
        figure: sum(int(next((m[n] for n in names if n in m), 0)) for m in metrics)
        for figure, names in _NAMES.items()
    }
    return CommitSums(commits=len(metrics), **sums)


def written_since(commits: Sequence[Commit], before: int | None) -> CommitSums | None:
    """Return the sums over the commits after version `before` (None: over all commits).

    None if all of them are maintenance.
    """
    own = [
        commit.metrics
        for commit in commits
        if (before is None or commit.version > before) and commit.operation not in MAINTENANCE
    ]
    return written(own) if own else None
