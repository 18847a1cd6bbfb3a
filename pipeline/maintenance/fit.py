"""When it pays to rewrite a table's files, and for how long Delta is to keep what was removed.

Delta reads a version that is not the latest only as long as its table's property
`deletedFileRetentionDuration` reaches back to that version's own commit, and VACUUM goes by the
same property. So this property is what keeps a published cut readable: it must reach back to the
oldest version that a cut names, which of a table that rests may be much older than the cut. The log
must reach as far.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from pipeline.lake.files.compaction import TARGET_BYTES

LEAST_SPARE = 16
"""Fewer files than that too many are not worth a commit."""
STRUCK_SHARE = 0.1
"""A purge pays where at least this part of the rows that are read are struck out."""
AHEAD = timedelta(days=2)
"""Until maintenance comes again; also more than a write takes that has begun."""
SLACK = 0.25
_DAY = timedelta(days=1)
LOG_DAYS = 30
DELETED_DAYS = 7
"""Delta's own defaults."""


@dataclass(frozen=True, slots=True)
class Kept:
    """For how many days a table keeps removed files, and its log.

    `asked`: somebody else has set that, so that it is never made less.
    """

    deleted: int
    log: int
    asked: bool = False


def crowded(files: int, size: int) -> bool:
    """Whether a table has far more files than its bytes need."""
    needed = max(1, math.ceil(size / TARGET_BYTES))
    return files - needed >= max(LEAST_SPARE, needed)


def fitting(now: Kept, cuts: timedelta, reach: timedelta) -> Kept | None:
    """What a table's properties are to be, or None where they fit.

    `cuts`: for how long cuts are kept; `reach`: how long ago the oldest version was committed that
    one of them names. There is slack: a table that rests needs a commit only now and then.
    """
    need = max(cuts, reach) + AHEAD
    wanted = math.ceil(need * (1 + SLACK) / _DAY)
    little = now.asked or now.deleted <= 2 * wanted
    if need <= now.deleted * _DAY and little and now.log >= now.deleted:
        return None
    if now.asked:
        wanted = max(wanted, now.deleted)
        return Kept(wanted, max(LOG_DAYS, wanted, now.log), asked=True)
    base = max(LOG_DAYS, wanted)
    return Kept(wanted, now.log if base <= now.log <= 2 * base else base)


def struck_out(commits: Iterable[tuple[str, Mapping[str, str]]]) -> int:
    """How many rows deletion vectors strike out since they were last purged, newest commit first.

    Of each commit: its operation, and Delta's metrics.
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


def purge_pays(struck: int, rows: int) -> bool:
    """Whether to read past the rows that are struck out costs more than to write the others."""
    return struck > 0 and struck >= STRUCK_SHARE * (rows + struck)


def read_days(text: str | None, default: int) -> int:
    """A property such as `interval 1 week`, in whole days; the default where it says nothing."""
    written = re.fullmatch(r"(?:interval )?(\d+) (hour|day|week)s?", (text or "").strip().lower())
    if written is None:
        return default
    return timedelta(**{f"{written[2]}s": int(written[1])}) // _DAY
