"""Determine how far data may be removed: up to the first position that is still needed.

A limit is a position in a source's log, as an LSN. It has the reason that set it, so that messages
can explain why old data is kept, and what to do about it. Uses no Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.bronze.tables import FileRow
from pipeline.silver.decode.decode import OFFSET_BITS

FROM_START = 0
"""The LSN of a need for everything."""


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """Transactions from `lsn` on are kept, for `reason`, a clause."""

    lsn: int
    reason: str


@dataclass(frozen=True, slots=True)
class Bronze:
    """The files whose bytes are removed, and the need that keeps the rest.

    `runs`: ranges of ordinals, as first and last.
    """

    runs: tuple[tuple[int, int], ...]
    files: int
    bytes: int
    need: Need


@dataclass(frozen=True, slots=True)
class PublishedCut:
    """A row of `gold/_cuts`; `at`: when it was published, None if its batch is not finished."""

    batch: int
    at: datetime | None


def limit(needs: Iterable[Need]) -> Need:
    """Return the need with the lowest LSN; there is at least one."""
    return min(needs)


def bronze_files(
    files: Sequence[FileRow],
    needs: Iterable[Need],
    *,
    there: Collection[int],
    faulty: Collection[int],
) -> Bronze:
    """Select the files to remove: complete ones of which nothing is needed.

    `there`: ordinals of files that bronze still has bytes of. `faulty`: those of files with faults
    that `binlake retry` can resolve.
    """
    need = limit(needs)
    before = [
        row
        for row in files
        if row.ordinal < need.lsn >> OFFSET_BITS and row.complete and row.ordinal not in faulty
    ]
    going = [row for row in before if row.ordinal in there]
    return Bronze(
        tuple(_runs(row.ordinal for row in going)),
        len(going),
        sum(row.ingested_upto for row in going),
        need,
    )


def _runs(ordinals: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for ordinal in sorted(ordinals):
        if runs and runs[-1][1] == ordinal - 1:
            runs[-1] = runs[-1][0], ordinal
        else:
            runs.append((ordinal, ordinal))
    return runs


def first_young(files: Sequence[FileRow], old: Collection[int]) -> int:
    """Return the LSN of the start of the first file ingested, or grown, after the `old` batches."""
    young = [row.ordinal for row in files if row.batch not in old]
    return min(young, default=max((row.ordinal for row in files), default=0) + 1) << OFFSET_BITS


def first_kept(cuts: Sequence[PublishedCut], now: datetime, keep: timedelta) -> int:
    """Return the batch of the oldest cut to keep, 0 without cuts; the last cut is always kept."""
    if not cuts:
        return 0
    ordered = sorted(cuts, key=lambda cut: cut.batch)
    young = (cut.batch for cut in ordered if cut.at is None or cut.at >= now - keep)
    return next(young, ordered[-1].batch)
