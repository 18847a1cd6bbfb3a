"""Figures of a batch's commits to a gold table, from Delta's `operationMetrics`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.lake.delta_log.table import Commit

_NAMES = {
    "files_removed": ("numTargetFilesRemoved", "numRemovedFiles"),
    "bytes_removed": ("numTargetBytesRemoved", "numRemovedBytes"),
    "files_added": ("numTargetFilesAdded", "numAddedFiles", "numFiles"),
    "bytes_added": ("numTargetBytesAdded", "numAddedBytes", "numOutputBytes"),
    "deletion_vectors": ("numTargetDeletionVectorsAdded", "numDeletionVectorsAdded"),
    "rows_copied": ("numTargetRowsCopied", "numCopiedRows"),
}
"""Each figure, and its names in the metrics of MERGE, DELETE and writes; a commit has one."""

MAINTENANCE = ("OPTIMIZE", "REORG", "VACUUM START", "VACUUM END")
"""Delta operations that change no rows."""


@dataclass(frozen=True, slots=True)
class Written:
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


def written(commits: Iterable[Mapping[str, str]]) -> Written:
    """Return the sums of the `operationMetrics` of commits."""
    metrics = list(commits)
    sums = {
        figure: sum(int(next((m[n] for n in names if n in m), 0)) for m in metrics)
        for figure, names in _NAMES.items()
    }
    return Written(commits=len(metrics), **sums)


def written_since(commits: Sequence[Commit], before: int | None) -> Written | None:
    """Return the sums over the commits after version `before` (None: over all commits).

    None if all of them are maintenance.
    """
    own = [
        commit.metrics
        for commit in commits
        if (before is None or commit.version > before) and commit.operation not in MAINTENANCE
    ]
    return written(own) if own else None
