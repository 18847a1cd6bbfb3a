"""Whether a server's snapshot is of the cut that gold is at: by GTIDs, or by places in the log."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.lake import Lake, Ledger
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.lake.tables.opening import tables_of
from pipeline.silver.decode import segments
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.decode.segments import Mark
from pipeline.silver.decode.silver_tables import transactions_table
from pipeline.silver.plan.progress import silver_standing
from pipeline.source import GtidSet
from pipeline.verify.checksums import PublishedCut
from pipeline.verify.server_file import ServerFile
from pipeline.verify.state_match.executed_at import GoldGtids, executed_at, known_in


def other_position(spark: SparkSession, lake: Lake, cut: PublishedCut, file: ServerFile) -> str:
    """A sentence about what the snapshot has and the cut has not, or the reverse; empty if none.

    A place in a log is that of the same file in the lake, and of the same server.
    """
    if file.has_gtids:
        gold = executed_at(spark, lake, cut.source, cut.lsn, cut.gtid_set)
        if gold.all:
            return _by_gtids(
                gold, GtidSet.of(file.gtid_set) - only_replicated(spark, lake, cut, file)
            )
    return _by_place(spark, lake, cut, file)


def only_replicated(
    spark: SparkSession, lake: Lake, cut: PublishedCut, file: ServerFile
) -> GtidSet:
    """Of the snapshot's: those of domains that a MariaDB server has replicated, maybe long ago and
    of another primary, and that neither its own log has nor the lake. They tell no state of it."""
    elsewhere = GtidSet.of(file.gtid_set).outside_domains_of(GtidSet.of(file.gtids_logged))
    if not elsewhere:
        return elsewhere
    known = known_in(read_files(spark, lake, cut.source)) | GtidSet.of(cut.gtid_set)
    return elsewhere.outside_domains_of(known)


def differing_gtids(gold: GoldGtids, theirs: GtidSet) -> tuple[str, str]:
    """What a server has and gold has not, and the reverse, in words; empty if nothing.

    MariaDB's domains are compared by how far they have come, and whose their last one is: two
    servers may use the same number.
    """
    later = gold.all.lacking(theirs) or gold.all.lacking_of_servers(theirs.last_of_domains())
    return later, theirs.lacking(gold.needed)


def _by_gtids(gold: GoldGtids, snapshot: GtidSet) -> str:
    later, earlier = differing_gtids(gold, snapshot)
    told = [f"The snapshot has {later}, which gold's cut has not."] if later else []
    told += [f"Gold's cut has {earlier}, which the snapshot has not."] if earlier else []
    return " ".join(told)


def _by_place(spark: SparkSession, lake: Lake, cut: PublishedCut, file: ServerFile) -> str:
    place = f"{file.file}, position {file.position}"
    if file.file is None or file.position is None:
        return "The server had no binary log: whether its snapshot is of gold's cut is not known."
    stored = {row.file: row for row in read_files(spark, lake, cut.source)}
    row = stored.get(file.file)
    if row is None:
        return f"The snapshot is at {place}: that file is not in the lake."
    if row.server_id != file.server_id:
        return (
            f"The snapshot is of the server with server_id {file.server_id}, the lake's {row.file}"
            f" of the one with {row.server_id}, and without GTIDs nothing tells what it has."
        )
    if row.ingested_upto < file.position:
        return f"The snapshot is at {place}: the lake has {row.ingested_upto} bytes of that file."
    here = row.ordinal << OFFSET_BITS | file.position
    if cut.lsn >= here:
        return f"The snapshot is at {place}: gold's cut is behind that."
    if not is_in_silver(spark, lake, cut.source, (row.ordinal, file.position)):
        return f"The snapshot is at {place}: not all before that is decoded in the lake."
    between = _transactions(spark, lake, cut, here)
    if between:
        return f"The snapshot is at {place}: gold's cut is {between} transactions before that."
    return ""


def is_in_silver(spark: SparkSession, lake: Lake, source: str, place: Mark) -> bool:
    """Whether silver has all that bronze has before a place: file's ordinal, position."""
    silver = silver_standing(Ledger(spark, lake, source)).plan
    if silver is None or silver.end >= place:
        return silver is not None
    return not segments.between(spark, lake, source, silver.end, place)


def _transactions(spark: SparkSession, lake: Lake, cut: PublishedCut, lsn: int) -> int:
    """How many transactions there are after the cut and before an LSN."""
    between = compare("__lsn", ">", cut.lsn) & compare("__lsn", "<", lsn)
    where = equal("source", cut.source) & between
    return tables_of(spark, lake).count(transactions_table(lake), where)
