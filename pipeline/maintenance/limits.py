"""How far removal may go: up to the first thing that something still needs. Without Spark.

A limit is a place in a source's log, as an LSN. It comes with the need that set it, so that whoever
wonders why old data is still there is told what to do about it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.bronze.files import FileRow
from pipeline.silver.decode.decode import OFFSET_BITS

FROM_START = 0
"""The LSN of a need of all that there is."""


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """Transactions from `lsn` on must stay, for `reason`: a clause like `gold has come to it`."""

    lsn: int
    reason: str


@dataclass(frozen=True, slots=True)
class Bronze:
    """Which files' bytes go: runs of ordinals, first and last; and why no more do."""

    runs: tuple[tuple[int, int], ...]
    files: int
    bytes: int
    need: Need


@dataclass(frozen=True, slots=True)
class PublishedCut:
    """A row of `gold/_cuts`: when it was published (None: not finished yet)."""

    batch: int
    at: datetime | None


def limit(needs: Iterable[Need]) -> Need:
    """The need that holds most; there is always one, of what has not come in yet."""
    return min(needs)


def bronze_files(
    files: Sequence[FileRow],
    needs: Iterable[Need],
    *,
    there: Collection[int],
    faulty: Collection[int],
) -> Bronze:
    """Whole files go, those that are complete, none of which is needed.

    `there` are the ordinals of which bronze still has bytes, `faulty` those of files with faults
    that `binlake retry` takes up.
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
    """The LSN at which the first file begins that came in, or grew, too late; `old`: batches."""
    young = [row.ordinal for row in files if row.batch not in old]
    return min(young, default=max((row.ordinal for row in files), default=0) + 1) << OFFSET_BITS


def first_kept(cuts: Sequence[PublishedCut], now: datetime, keep: timedelta) -> int:
    """The batch of the oldest cut that stays; 0 where there is none. The last one always stays."""
    if not cuts:
        return 0
    ordered = sorted(cuts, key=lambda cut: cut.batch)
    young = (cut.batch for cut in ordered if cut.at is None or cut.at >= now - keep)
    return next(young, ordered[-1].batch)
