"""Find the batch in which gold published a cut at the position of a server's snapshot."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.bronze.tables import FileRow
from pipeline.gold import GoldState
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.plan.verification_points import AtPosition, Wanted
from pipeline.lake import Ledger
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.plan.progress import silver_progress
from pipeline.source import GtidSet
from pipeline.verify.state_match.executed_at import GoldGtids, cuts_since, executed_at
from pipeline.verify.state_match.position import differing_gtids, is_in_silver
from pipeline.verify.state_match.way import GoldPosition

PAUSE = 5.0
"""Seconds between two checks."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Gold has reached or passed a position; `batch` published the cut there, None if none did."""

    batch: int | None


Look = Callable[[], Reached | None]
"""Returns None until gold has reached the position."""


def batch_at(
    spark: SparkSession,
    settings: Settings,
    wanted: Wanted,
    began: GoldPosition,
    patience: float,
    progress: Progress,
) -> int | None:
    """Return the batch that published the wanted cut, waiting up to `patience` seconds for it.

    Batches earlier than gold's position when verify `began` are ignored. None if there is no such
    cut by then, or gold has passed the position: then the last cut is compared, and the difference
    in transactions reported.
    """
    ends = time.monotonic() + patience
    ledger = Ledger(spark, settings.layout, settings.source)
    look: Look = (
        _AtPosition(spark, settings, ledger, wanted, began).look
        if isinstance(wanted, AtPosition)
        else _WithGtids(spark, settings, GtidSet.of(wanted.gtid_set), began.lsn).look
    )
    with progress.task("wait for gold's cut", None, "checks") as task:
        while True:
            if found := look():
                return found.batch
            if time.monotonic() >= ends:
                return None
            time.sleep(min(PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


@dataclass(slots=True)
class _WithGtids:
    """Looks for a cut with exactly these GTIDs; `known` caches the GTIDs of cuts by batch."""

    spark: SparkSession
    settings: Settings
    gtids: GtidSet
    since: int
    known: dict[int, GoldGtids] = field(default_factory=dict)

    def look(self) -> Reached | None:
        """Return the last cut with these GTIDs; one that has more means that gold passed them."""
        lake, source = self.settings.layout, self.settings.source
        passed = False
        for batch, lsn, recorded in reversed(cuts_since(self.spark, lake, source, self.since)):
            if batch not in self.known:
                self.known[batch] = executed_at(self.spark, lake, source, lsn, recorded)
            later, earlier = differing_gtids(self.known[batch], self.gtids)
            if not later and not earlier:
                return Reached(batch)
            passed = passed or bool(earlier)
        return Reached(None) if passed else None


@dataclass(frozen=True, slots=True)
class _AtPosition:
    """Looks for the cut at a position in the log that the lake ingests."""

    spark: SparkSession
    settings: Settings
    ledger: Ledger
    wanted: AtPosition
    began: GoldPosition

    def look(self) -> Reached | None:
        """Return the cut there, once silver has everything before the position."""
        self.ledger.refresh()
        last = self._last_before()
        if last is None or GoldState.of(self.ledger).cut_lsn < last:
            return None
        return Reached(self.ledger.batch_with("gold", "cut_lsn", last))

    def _last_before(self) -> int | None:
        """Return the LSN of the last transaction before the position, at least that of gold's cut
        when verify began; None until silver has everything before it."""
        lake, source = self.settings.layout, self.settings.source
        silver, position = silver_progress(self.ledger).plan, self.wanted.position
        row = self._file()
        if silver is None or row is None or row.ingested_upto < position:
            return None
        if not is_in_silver(self.spark, lake, source, (row.ordinal, position)):
            return None
        until = f"{self.wanted.file}:{position}"
        wanted = self.settings.model_copy(update={"until": until})
        low = self.began.lsn
        return max(last_wanted(self.spark, wanted, low, silver.cut_lsn), low)

    def _file(self) -> FileRow | None:
        """Return the last file of that name, unless gold was after the position in it when verify
        began: then the log was reset, and the lake does not have the new file yet."""
        rows = read_files(self.spark, self.settings.layout, self.settings.source)
        named = [row for row in rows if row.file == self.wanted.file]
        if not named or named[-1].server_id != self.began.server_id:
            return None
        at = named[-1].ordinal << OFFSET_BITS | self.wanted.position
        return named[-1] if at > self.began.lsn else None
