"""Sum what a maintenance batch did, for its record, from the metrics of its commits.

Each commit has the batch in its user metadata, so that those of an interrupted run are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from pipeline.lake.delta_log.table import Commit


def tag(source: str, batch: int) -> str:
    """Return the user metadata of the batch's commits."""
    return f"binlake maintain {source} {batch}"


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows removed; files and bytes before (`rewritten`) and after (`written`) compaction or a
    purge; files and bytes removed by VACUUM."""

    rows: int = 0
    rewritten_files: int = 0
    rewritten_bytes: int = 0
    written_files: int = 0
    written_bytes: int = 0
    vacuumed_files: int = 0
    vacuumed_bytes: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return the figures that are not 0."""
        return {name: value for name, value in asdict(self).items() if value}


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
"""Delta's name of each figure, by operation."""


def figures(commits: Iterable[Commit]) -> Figures:
    """Sum the figures of commits."""
    found = dict.fromkeys(asdict(Figures()), 0)
    for commit in commits:
        for figure, name in _NAMES.get(commit.operation, {}).items():
            found[figure] += int(commit.metrics.get(name, 0))
    return Figures(**found)
