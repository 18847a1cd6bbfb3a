"""The newest file of the input: a run that finds nothing new reports its age."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from pipeline.observe.quantities import duration
from pipeline.observe.report import NewestFile
from pipeline.source.logs.listing import Listing


@dataclass(frozen=True, slots=True)
class InputAge:
    """The age limit of a run's input (`stale`), and the newest file.

    `stale`: None for no limit. `newest`: None if the store does not record when files were written.
    """

    newest: NewestFile | None
    stale: timedelta | None

    @classmethod
    def of(cls, listing: Listing, stale: timedelta | None) -> InputAge:
        """Return it for the files of a listing."""
        times = [
            NewestFile(binlog.stored.name, binlog.stored.written_at)
            for binlog in listing.binlogs
            if binlog.stored.written_at is not None
        ]
        return cls(max(times, key=lambda file: file.written_at, default=None), stale)

    def faults(self, now: datetime) -> Iterator[str]:
        """Yield a sentence if the newest file is older than `stale`; it stays the same until a
        newer file arrives."""
        if self.stale is None or self.newest is None:
            return
        if now - self.newest.written_at > self.stale:
            yield (
                f"No new log: the newest file, {self.newest.name}, was last written at"
                f" {self.newest.written_at:%Y-%m-%d %H:%M:%S} UTC, longer ago than stale"
                f" ({duration(self.stale.total_seconds())}) allows. Check the capture, or what"
                " copies the logs; if the source may be idle for longer, raise stale."
            )

    def notes(self) -> Iterator[str]:
        """Yield a sentence if `stale` cannot be checked."""
        if self.stale is not None and self.newest is None:
            yield (
                "stale is not checked: the store of binlogs does not record when its files were"
                " written."
            )
