"""The executed GTID set of gold at one of its cuts, as its server would report it.

A cut records the GTIDs of all transactions that the lake ever had. After a reset of the log
(RESET), the server's set starts over, and earlier numbers repeat.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.bronze.executed_gtids import first_after_reset
from pipeline.bronze.tables import FileRow
from pipeline.gold import Cut
from pipeline.gold.changes.log_facts import gather
from pipeline.gold.plan.cut import gtids_at
from pipeline.gold.plan.published_cuts import cuts_table
from pipeline.lake import Lake
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.tables.opening import tables_of
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS


@dataclass(frozen=True, slots=True)
class GoldGtids:
    """The GTIDs of gold at a cut.

    `own`: of the transactions in gold. `before`: those that the log files up to the cut list as
    executed before them. These include transactions before the lake's first file, and of an
    accepted gap (`given_up`), which the server has but the lake does not.
    """

    own: GtidSet = NO_GTIDS
    before: GtidSet = NO_GTIDS

    @property
    def all(self) -> GtidSet:
        """The executed GTID set of a server at gold's position."""
        return self.own | self.before

    @property
    def needed(self) -> GtidSet:
        """The GTIDs that a server must have to be compared: gold's own.

        Without any, those before: rows seeded from an idle server are from after these.
        """
        return self.own or self.before


def known_in(files: Iterable[FileRow]) -> GtidSet:
    """Return the GTIDs of all transactions in these files, or listed in them as earlier."""
    return GtidSet.of(*(text for row in files for text in (row.previous_gtids, row.gtids)))


def executed_at(
    spark: SparkSession, lake: Lake, source: str, lsn: int, recorded: str | None
) -> GoldGtids:
    """Return the GTIDs at a cut's LSN; `recorded` is the cut's `gtid_set`, None if it has none."""
    files = read_files(spark, lake, source)
    if not files:
        return GoldGtids(GtidSet.of(recorded))
    at = lsn >> OFFSET_BITS
    reset = first_after_reset(files, at)
    first = files[0].ordinal if reset is None else reset.ordinal
    # A gold without transactions is positioned before the first file.
    since = [row for row in files if first <= row.ordinal <= at] or files[:1]
    before = GtidSet.of(*(row.previous_gtids for row in since))
    if reset is None or not recorded:
        return GoldGtids(GtidSet.of(recorded), before)
    return GoldGtids(_own_of(spark, lake, source, lsn, since), before)


def _own_of(
    spark: SparkSession, lake: Lake, source: str, lsn: int, files: list[FileRow]
) -> GtidSet:
    """Return the GTIDs of the transactions in these files up to the LSN, which is in the last."""
    *whole, last = files
    begin = last.ordinal << OFFSET_BITS
    here = gtids_at(Cut(), gather(spark, lake, source, begin, lsn))
    return GtidSet.of(*(row.gtids for row in whole)) | here


def cuts_since(
    spark: SparkSession, lake: Lake, source: str, lsn: int
) -> list[tuple[int, int, str | None]]:
    """Return the batch, LSN and GTID set of the published cuts from an LSN on, in order."""
    where = equal("source", source) & compare("lsn", ">=", lsn)
    columns = ("batch", "lsn", "gtid_set")
    found = tables_of(spark, lake).read(cuts_table(lake), where, columns).to_pylist()
    return sorted((tuple(map(row.get, columns)) for row in found), key=itemgetter(0))
