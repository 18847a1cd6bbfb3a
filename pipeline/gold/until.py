"""The transaction that a run stops behind, where it is told where to stop (`pipeline.until`)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from pipeline import delta
from pipeline.bronze.executed import last_begun_anew
from pipeline.bronze.files import FileRow, read_files
from pipeline.bronze.gtids import GtidSet
from pipeline.errors import SettingsError
from pipeline.gold.facts import UUID_GTID, with_all_columns
from pipeline.lake import Lake
from pipeline.settings import Settings
from pipeline.silver.decode import OFFSET_BITS
from pipeline.until import Until

KEY = "until"


def last_wanted(spark: SparkSession, settings: Settings, low: int, high: int) -> int:
    """The LSN of the last transaction that the settings want, no less than `low`, where gold is.

    `high` is silver's last one. In the order of the log: nothing behind a transaction that is too
    late is taken. Raises SettingsError for a GTID or a file that the lake does not have.
    """
    if settings.until is None:
        return high
    lake, source, until = settings.layout, settings.source, Until.read(settings.until)
    if until.lsn is not None:
        return max(min(until.lsn, high), low)
    if not delta.exists(spark, lake.transactions):
        return high
    rows = with_all_columns(delta.read(spark, lake.transactions))
    rows = rows.where((sf.col("source") == source) & (sf.col("__lsn") <= high))
    if until.gtid is not None:
        return max(_of_gtid(rows, until.gtid), low)
    if until.place is not None:
        file, position = until.place
        return _before(rows, _behind(spark, lake, source, file, position), low, high)
    new = ~sf.coalesce("seen_before", sf.lit(False))
    return _before(rows.where(new), sf.col("committed_at") > sf.lit(until.time), low, high)


def last_of(spark: SparkSession, settings: Settings, gtids: GtidSet, low: int, high: int) -> int:
    """The LSN of the last transaction before the first one that is not in the set, between `low`
    and `high` as in `last_wanted`. Of a log that was begun anew only what came since is meant, as
    the numbers of before come again."""
    lake, source = settings.layout, settings.source
    if not delta.exists(spark, lake.transactions):
        return high
    anew = last_begun_anew(read_files(spark, lake, source), high >> OFFSET_BITS)
    begin = max(low, anew.ordinal << OFFSET_BITS if anew else low)
    rows = with_all_columns(delta.read(spark, lake.transactions))
    new = ~sf.coalesce("seen_before", sf.lit(False)) & sf.col("gtid").isNotNull()
    rows = rows.where((sf.col("source") == source) & (sf.col("__lsn") <= high) & new)
    found = _before(rows, ~_among(gtids), begin, high)
    return low if found == begin else found


def _among(gtids: GtidSet) -> Column:
    """Whether a transaction's GTID is in the set, MariaDB's by how far its domain has come."""
    number = sf.regexp_extract("gtid", r"(\d+)$", 1).try_cast("bigint")
    series = sf.lower(sf.regexp_extract("gtid", UUID_GTID, 1))
    domain = sf.regexp_extract("gtid", r"^(\d+)-\d+-\d+$", 1)
    runs = [
        (series == source) & number.between(first, end)
        for source, found in gtids.intervals.items()
        for first, end in found
    ]
    ends = [(domain == str(place[0])) & (number <= end) for place, end in gtids.last.items()]
    return reduce(operator.or_, [*runs, *ends], sf.lit(False))


def require_in_log(files: Sequence[FileRow], settings: Settings) -> None:
    """Raise SettingsError for a GTID or a file that bronze does not have, as far as it can tell:
    before silver is decoded anew, what silver has does not count. `files` are the source's."""
    if settings.until is None:
        return
    until = Until.read(settings.until)
    if until.place is not None and until.place[0] not in {row.file for row in files}:
        raise _no_file(settings.source, until.place[0])
    # Of a relay log's files bronze has not kept them.
    told = all(row.gtids is not None for row in files)
    if until.gtid is not None and told and not any(_has(row, until.gtid) for row in files):
        raise _no_gtid(until.gtid, "bronze")


def _has(row: FileRow, gtid: str) -> bool:
    return gtid in GtidSet.of(row.gtids)


def _no_gtid(gtid: str, layer: str) -> SettingsError:
    return SettingsError(
        f"{gtid} is not in {layer}.",
        key=KEY,
        remedy="Ingest and decode the log that has it, or name another transaction. It is also"
        " missing if maintenance has removed it: then gold is past it.",
    )


def _no_file(source: str, file: str) -> SettingsError:
    return SettingsError(
        f"{file} is no file of {source} in this lake.",
        key=KEY,
        remedy="binlake status tells which source has which files.",
    )


def _of_gtid(rows: DataFrame, gtid: str) -> int:
    """Where the transaction is, or, if it came again (after RESET), where it was last."""
    taken = sf.when(~sf.coalesce("seen_before", sf.lit(False)), sf.col("__lsn"))
    found = rows.where(sf.lower("gtid") == gtid).agg(sf.max(taken)).first()
    if found is None or found[0] is None:
        raise _no_gtid(gtid, "silver")
    return int(found[0])


def _behind(spark: SparkSession, lake: Lake, source: str, file: str, position: int) -> Column:
    """Whether a transaction ends behind a place in the log."""
    ordinals = [row.ordinal for row in read_files(spark, lake, source) if row.file == file]
    if not ordinals:
        raise _no_file(source, file)
    at = sf.col("__lsn").bitwiseAND((1 << OFFSET_BITS) - 1)
    ordinal = sf.shiftright("__lsn", OFFSET_BITS)
    ends = sf.coalesce("end_pos", at + 1)
    return (ordinal > ordinals[-1]) | ((ordinal == ordinals[-1]) & (ends > position))


def _before(rows: DataFrame, too_late: Column, low: int, high: int) -> int:
    """The last transaction before the first, behind `low`, that is too late."""
    behind = rows.where(sf.col("__lsn") > low)
    first = behind.where(too_late).agg(sf.min("__lsn")).first()
    if first is None or first[0] is None:
        return high
    last = behind.where(sf.col("__lsn") < first[0]).agg(sf.max("__lsn")).first()
    return low if last is None or last[0] is None else int(last[0])
