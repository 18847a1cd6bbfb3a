"""Which transactions gold has at one of its cuts, by GTID, as a server would tell it of itself.

What a cut records is of all that the lake ever had. Where a log was begun anew (RESET), its server
counts from there, and numbers of before come again.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.bronze.executed_gtids import last_begun_anew
from pipeline.bronze.files import FileRow
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
    """`own`: of the transactions that are in gold; `before`: of those that the log's files tell to
    be before them, up to the cut. The lake never had those before the first file, nor those of a
    gap that was accepted (`given_up`), and a server has them all the same."""

    own: GtidSet = NO_GTIDS
    before: GtidSet = NO_GTIDS

    @property
    def all(self) -> GtidSet:
        """What a server has that is where gold is."""
        return self.own | self.before

    @property
    def needed(self) -> GtidSet:
        """What a server must have: gold's own. Where it has none, those before: rows that were
        seeded from a server at rest are of behind these."""
        return self.own or self.before


def known_in(files: Iterable[FileRow]) -> GtidSet:
    """Of all transactions that these files have, or tell to be before them."""
    return GtidSet.of(*(text for row in files for text in (row.previous_gtids, row.gtids)))


def executed_at(
    spark: SparkSession, lake: Lake, source: str, lsn: int, recorded: str | None
) -> GoldGtids:
    """Those at a cut's LSN; `recorded` is the `gtid_set` of the cut: without it there are no own
    ones."""
    files = read_files(spark, lake, source)
    if not files:
        return GoldGtids(GtidSet.of(recorded))
    at = lsn >> OFFSET_BITS
    anew = last_begun_anew(files, at)
    first = files[0].ordinal if anew is None else anew.ordinal
    # Before the first transaction gold is before the first file.
    since = [row for row in files if first <= row.ordinal <= at] or files[:1]
    before = GtidSet.of(*(row.previous_gtids for row in since))
    if anew is None or not recorded:
        return GoldGtids(GtidSet.of(recorded), before)
    return GoldGtids(_own_of(spark, lake, source, lsn, since), before)


def _own_of(
    spark: SparkSession, lake: Lake, source: str, lsn: int, files: list[FileRow]
) -> GtidSet:
    """Of the transactions in these files alone, of which the last one holds the LSN."""
    *whole, last = files
    begin = last.ordinal << OFFSET_BITS
    here = gtids_at(Cut(), gather(spark, lake, source, begin, lsn))
    return GtidSet.of(*(row.gtids for row in whole)) | here


def cuts_since(
    spark: SparkSession, lake: Lake, source: str, lsn: int
) -> list[tuple[int, int, str | None]]:
    """The published cuts from an LSN on: batch, LSN and what they record, in order."""
    where = equal("source", source) & compare("lsn", ">=", lsn)
    columns = ("batch", "lsn", "gtid_set")
    found = tables_of(spark, lake).read(cuts_table(lake), where, columns).to_pylist()
    return sorted((tuple(map(row.get, columns)) for row in found), key=itemgetter(0))
