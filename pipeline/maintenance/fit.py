"""Decide when to rewrite a table's files, and how long Delta keeps removed files.

Delta reads an earlier version only while its table's property `deletedFileRetentionDuration`
reaches back to that version's own commit, and VACUUM uses the same property. So this property keeps
published cuts readable: it must reach back to the oldest version in a cut, which for a table that
rarely changes may be much older than the cut. The Delta log must reach back as far.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from pipeline.lake.files.compaction import TARGET_BYTES

LEAST_SPARE = 16
"""The fewest files in excess that are worth a commit."""
SOFT_DELETED_SHARE = 0.1
"""The share of soft-deleted rows from which on a purge pays."""
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

    `asked`: somebody else has set it, so that it is never shortened.
    """

    deleted: int
    log: int
    asked: bool = False


def needs_compaction(files: int, size: int) -> bool:
    """True if a table of `size` bytes has far more files than it needs."""
    needed = max(1, math.ceil(size / TARGET_BYTES))
    return files - needed >= max(LEAST_SPARE, needed)


def new_retention(now: FileRetention, cuts: timedelta, reach: timedelta) -> FileRetention | None:
    """Return the retention to set, or None if the current one (`now`) is right.

    `cuts`: how long cuts are kept. `reach`: the age of the oldest version in a cut. The result has
    some slack, so that a table that rarely changes needs few commits.
    """
    need = max(cuts, reach) + AHEAD
    wanted = math.ceil(need * (1 + SLACK) / _DAY)
    little = now.asked or now.deleted <= 2 * wanted
    if need <= now.deleted * _DAY and little and now.log >= now.deleted:
        return None
    if now.asked:
        wanted = max(wanted, now.deleted)
        return FileRetention(wanted, max(LOG_DAYS, wanted, now.log), asked=True)
    base = max(LOG_DAYS, wanted)
    return FileRetention(wanted, now.log if base <= now.log <= 2 * base else base)


def soft_deleted_rows(commits: Iterable[tuple[str, Mapping[str, str]]]) -> int:
    """Return how many rows deletion vectors have soft-deleted since the last purge.

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
    """True if skipping the soft-deleted rows costs readers more than rewriting the others."""
    return soft_deleted > 0 and soft_deleted >= SOFT_DELETED_SHARE * (rows + soft_deleted)


def read_days(text: str | None, default: int) -> int:
    """Parse a property such as `interval 1 week` to whole days; the default if it has none."""
    written = re.fullmatch(r"(?:interval )?(\d+) (hour|day|week)s?", (text or "").strip().lower())
    if written is None:
        return default
    return timedelta(**{f"{written[2]}s": int(written[1])}) // _DAY
