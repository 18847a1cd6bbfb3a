"""What a batch of maintenance did, for its record: summed from what its commits say of themselves.

Each commit carries the batch as its user metadata, so what a run did that died is told too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from pipeline.lake.delta_log.table import Commit


def tag(source: str, batch: int) -> str:
    """What the batch's commits carry."""
    return f"binlake maintain {source} {batch}"


@dataclass(frozen=True, slots=True)
class Figures:
    """Rows removed; files and bytes put together or purged, before and after; files and bytes that
    VACUUM removed."""

    rows: int = 0
    rewritten_files: int = 0
    rewritten_bytes: int = 0
    written_files: int = 0
    written_bytes: int = 0
    vacuumed_files: int = 0
    vacuumed_bytes: int = 0

    def to_dict(self) -> dict[str, int]:
        """Those that are not 0."""
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
"""By operation, what Delta calls each figure."""


def figures(commits: Iterable[Commit]) -> Figures:
    """The sums over commits."""
    found = dict.fromkeys(asdict(Figures()), 0)
    for commit in commits:
        for figure, name in _NAMES.get(commit.operation, {}).items():
            found[figure] += int(commit.metrics.get(name, 0))
    return Figures(**found)
