"""Which transactions gold has at one of its cuts, by GTID, as a server would tell it of itself.

What a cut records is of all that the lake ever had. Where a log was begun anew (RESET), its server
counts from there, and numbers of before come again.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.executed import last_begun_anew
from pipeline.bronze.files import FileRow, read_files
from pipeline.bronze.gtids import NO_GTIDS, GtidSet
from pipeline.gold.cut import Cut, gtids_at
from pipeline.gold.facts import gather
from pipeline.lake import Lake
from pipeline.silver.decode import OFFSET_BITS


@dataclass(frozen=True, slots=True)
class GoldGtids:
    """`own`: of the transactions that are in gold; `before`: of those before the log's first file,
    which the lake never had, as far as the log tells."""

    own: GtidSet = NO_GTIDS
    before: GtidSet = NO_GTIDS

    @property
    def all(self) -> GtidSet:
        """What a server has that is where gold is."""
        return self.own | self.before


def executed_at(
    spark: SparkSession, lake: Lake, source: str, lsn: int, recorded: str | None
) -> GoldGtids:
    """Those at a cut's LSN; `recorded` is the `gtid_set` of the cut. None where it has none."""
    files = read_files(spark, lake, source)
    if not recorded or not files:
        return GoldGtids(GtidSet.of(recorded))
    anew = last_begun_anew(files, lsn >> OFFSET_BITS)
    if anew is None:
        return GoldGtids(GtidSet.of(recorded), GtidSet.of(files[0].previous_gtids))
    since = [row for row in files if anew.ordinal <= row.ordinal <= lsn >> OFFSET_BITS]
    return _since(spark, lake, source, lsn, since)


def _since(
    spark: SparkSession, lake: Lake, source: str, lsn: int, files: list[FileRow]
) -> GoldGtids:
    """Of these files alone, of which the last one holds the LSN."""
    *whole, last = files
    begin = last.ordinal << OFFSET_BITS
    here = gtids_at(Cut(), gather(spark, lake, source, begin, lsn))
    return GoldGtids(
        GtidSet.of(*(row.gtids for row in whole)) | here,
        GtidSet.of(*(row.previous_gtids for row in files)),
    )


def cuts_since(
    spark: SparkSession, lake: Lake, source: str, lsn: int
) -> list[tuple[int, int, str]]:
    """The published cuts from an LSN on that have GTIDs: batch, LSN and what they record, in
    order."""
    rows = delta.read(spark, lake.cuts).where(sf.col("source") == source)
    rows = rows.where((sf.col("lsn") >= lsn) & sf.col("gtid_set").isNotNull())
    found = rows.select("batch", "lsn", "gtid_set").collect()
    return sorted((row["batch"], row["lsn"], row["gtid_set"]) for row in found)
