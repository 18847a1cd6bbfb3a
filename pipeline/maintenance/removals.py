"""The plan of a maintenance batch: a source's data to remove, and the needs that keep the rest.

Data may be removed up to the first position that is still needed: a limit is a position in a
source's log, as an LSN. Each has a reason, so that messages can explain why old data is kept,
and what to do about it. Uses no Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter

from pipeline.bronze.tables import FileRow
from pipeline.lake.ledger.history_removed import Removed
from pipeline.silver.decode.decode import OFFSET_BITS

FROM_START = 0
"""The LSN of a need for everything."""


@dataclass(frozen=True, slots=True, order=True)
class Need:
    """A layer's need: the LSN from which history must be kept, and why (`since`, a clause)."""

    before_lsn: int
    since: str


@dataclass(frozen=True, slots=True)
class Bronze(Need):
    """The files whose bytes are removed, and the need that keeps the rest.

    `files`: ranges of ordinals, as first and last.
    """

    files: tuple[tuple[int, int], ...] = ()
    count: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class MaintenancePlan:
    """The removals of a maintenance batch.

    `cuts_from`: the first batch whose published snapshot is kept. `bronze`: the files whose bytes
    are removed. `silver`: the need before which silver's rows are removed. `removed`: the data
    removed from silver up to this batch, by this plan and earlier ones. `cascades_upto`: the last
    of gold's batches whose cascades are removed.
    """

    cuts_from: int
    bronze: Bronze
    silver: Need
    removed: Removed
    cascades_upto: int = 0

    def sparing(self, reason: str) -> MaintenancePlan:
        """Return the plan without removals from silver and bronze, for this reason."""
        return replace(self, bronze=Bronze(FROM_START, reason), silver=Need(FROM_START, reason))

    def to_body(self) -> dict[str, Any]:
        """Return the plan as JSON, for the ledger."""
        return asdict(self)

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> MaintenancePlan:
        """Parse the result of `to_body`."""
        return _PLAN.validate_python(body)


_PLAN = TypeAdapter(MaintenancePlan)


def bronze_files(
    files: Sequence[FileRow],
    needs: Iterable[Need],
    *,
    there: Collection[int],
    faulty: Collection[int],
) -> Bronze:
    """Select the files to remove: complete ones that nothing needs.

    `there`: ordinals of files that bronze still has bytes of. `faulty`: those of files with faults
    that `binlake retry` can resolve.
    """
    need = min(needs)
    before = [
        row
        for row in files
        if row.ordinal < need.before_lsn >> OFFSET_BITS
        and row.complete
        and row.ordinal not in faulty
    ]
    going = [row for row in before if row.ordinal in there]
    return Bronze(
        need.before_lsn,
        need.since,
        tuple(_runs(row.ordinal for row in going)),
        len(going),
        sum(row.ingested_upto for row in going),
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


def first_kept(cuts: Mapping[int, datetime | None], now: datetime, keep: timedelta) -> int:
    """Return the batch of the oldest snapshot to keep, 0 without any; the last one is always kept.

    `cuts`: when each batch's snapshot was published, None if the batch is not finished.
    """
    young = (n for n, at in sorted(cuts.items()) if at is None or at >= now - keep)
    return next(young, max(cuts, default=0))
