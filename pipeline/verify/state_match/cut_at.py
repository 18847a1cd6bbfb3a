"""The batch in which gold was at the place of a server's snapshot, once there is one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.bronze.files import FileRow
from pipeline.gold import GoldState
from pipeline.gold.plan.until import last_wanted
from pipeline.gold.plan.verification_points import AtPosition, Wanted
from pipeline.lake import Ledger
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.plan.progress import silver_standing
from pipeline.source import GtidSet
from pipeline.verify.state_match.executed_at import GoldGtids, cuts_since, executed_at
from pipeline.verify.state_match.position import differing_gtids, is_in_silver
from pipeline.verify.state_match.way import GoldStanding

PAUSE = 5.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Gold has come to a place, or past it: the batch of the cut that is there, None if none is."""

    batch: int | None


Look = Callable[[], Reached | None]
"""Gives None as long as gold has not come there."""


def batch_at(
    spark: SparkSession,
    settings: Settings,
    wanted: Wanted,
    began: GoldStanding,
    patience: float,
    progress: Progress,
) -> int | None:
    """The batch of gold that published the wanted cut, waiting for it so many seconds; none of
    before the cut that gold was at when verify `began`.

    None where there is none by then, or where gold went past that place: the last cut is then
    compared, and what the one has and the other has not is told.
    """
    ends = time.monotonic() + patience
    ledger = Ledger(spark, settings.layout, settings.source)
    look: Look = (
        _AtPosition(spark, settings, ledger, wanted, began).look
        if isinstance(wanted, AtPosition)
        else _WithGtids(spark, settings, GtidSet.of(wanted.gtid_set), began.lsn).look
    )
    with progress.task("wait for gold's cut", None, "looks") as task:
        while True:
            if found := look():
                return found.batch
            if time.monotonic() >= ends:
                return None
            time.sleep(min(PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


@dataclass(slots=True)
class _WithGtids:
    """Looks for a cut with just these GTIDs. What cuts have that were looked at is kept."""

    spark: SparkSession
    settings: Settings
    gtids: GtidSet
    since: int
    known: dict[int, GoldGtids] = field(default_factory=dict)

    def look(self) -> Reached | None:
        """The last one that has them; past it is a cut that has more."""
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
    """Looks for the cut at a place in the log that the lake takes."""

    spark: SparkSession
    settings: Settings
    ledger: Ledger
    wanted: AtPosition
    began: GoldStanding

    def look(self) -> Reached | None:
        """The cut there, once all before the place is in silver."""
        self.ledger.refresh()
        last = self._last_before()
        if last is None or GoldState.of(self.ledger).cut_lsn < last:
            return None
        return Reached(self.ledger.batch_with("gold", "cut_lsn", last))

    def _last_before(self) -> int | None:
        """The LSN of the last transaction before the place, but none before the cut where gold was
        when verify began; None as long as silver has not all."""
        lake, source = self.settings.layout, self.settings.source
        silver, position = silver_standing(self.ledger).plan, self.wanted.position
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
        """The last file of that name, unless the place in it is before where gold was: then the log
        was begun anew, and the lake has not got the new file yet."""
        rows = read_files(self.spark, self.settings.layout, self.settings.source)
        named = [row for row in rows if row.file == self.wanted.file]
        if not named or named[-1].server_id != self.began.server_id:
            return None
        at = named[-1].ordinal << OFFSET_BITS | self.wanted.position
        return named[-1] if at > self.began.lsn else None
