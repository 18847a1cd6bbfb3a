"""Compare the position of a server's snapshot with gold's cut, by GTIDs or log positions."""

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
from pipeline.silver.plan.progress import silver_progress
from pipeline.source import GtidSet
from pipeline.verify.checksums import PublishedCut
from pipeline.verify.server_file import ServerFile
from pipeline.verify.state_match.executed_at import GoldGtids, executed_at, known_in


def other_position(spark: SparkSession, lake: Lake, cut: PublishedCut, file: ServerFile) -> str:
    """Return a sentence about how the snapshot's position differs from the cut's; empty if equal.

    Log positions are compared within the file of the same name from the same server.
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
    """Return the snapshot's GTIDs in domains that neither the MariaDB server's own log nor the lake
    has.

    The server has only replicated them, maybe long ago from an unrelated primary; they are ignored.
    """
    elsewhere = GtidSet.of(file.gtid_set).outside_domains_of(GtidSet.of(file.gtids_logged))
    if not elsewhere:
        return elsewhere
    known = known_in(read_files(spark, lake, cut.source)) | GtidSet.of(cut.gtid_set)
    return elsewhere.outside_domains_of(known)


def differing_gtids(gold: GoldGtids, theirs: GtidSet) -> tuple[str, str]:
    """Return the GTIDs that only the server has, and that only gold has, as text; empty if none.

    MariaDB's domains are compared by sequence number and server id of the last GTID: two servers
    may use the same number.
    """
    later = gold.all.lacking(theirs) or gold.all.missing_by_server(theirs.last_of_domains())
    return later, theirs.lacking(gold.needed)


def _by_gtids(gold: GoldGtids, snapshot: GtidSet) -> str:
    later, earlier = differing_gtids(gold, snapshot)
    sentences = [f"The snapshot has {later}, which gold's cut lacks."] if later else []
    sentences += [f"Gold's cut has {earlier}, which the snapshot lacks."] if earlier else []
    return " ".join(sentences)


def _by_place(spark: SparkSession, lake: Lake, cut: PublishedCut, file: ServerFile) -> str:
    place = f"{file.file}, position {file.position}"
    if file.file is None or file.position is None:
        return (
            "The server had no binary log, so it is unknown whether its snapshot is at gold's cut."
        )
    stored = {row.file: row for row in read_files(spark, lake, cut.source)}
    row = stored.get(file.file)
    if row is None:
        return f"The snapshot is at {place}: that file is not in the lake."
    if row.server_id != file.server_id:
        return (
            f"The snapshot is from the server with server_id {file.server_id}, the lake's"
            f" {row.file} from the one with {row.server_id}; without GTIDs their positions cannot"
            " be compared."
        )
    if row.ingested_upto < file.position:
        return f"The snapshot is at {place}: the lake has {row.ingested_upto} bytes of that file."
    here = row.ordinal << OFFSET_BITS | file.position
    if cut.lsn >= here:
        return f"The snapshot is at {place}: gold's cut is after that."
    if not is_in_silver(spark, lake, cut.source, (row.ordinal, file.position)):
        return f"The snapshot is at {place}: the log before that is not fully decoded in the lake."
    between = _transactions(spark, lake, cut, here)
    if between:
        return f"The snapshot is at {place}: gold's cut is {between} transactions before that."
    return ""


def is_in_silver(spark: SparkSession, lake: Lake, source: str, place: Mark) -> bool:
    """True if silver has everything that bronze has before a (file ordinal, position)."""
    silver = silver_progress(Ledger(spark, lake, source)).plan
    if silver is None or silver.end >= place:
        return silver is not None
    return not segments.between(spark, lake, source, silver.end, place)


def _transactions(spark: SparkSession, lake: Lake, cut: PublishedCut, lsn: int) -> int:
    """Return the number of transactions after the cut and before an LSN."""
    between = compare("__lsn", ">", cut.lsn) & compare("__lsn", "<", lsn)
    where = equal("source", cut.source) & between
    return tables_of(spark, lake).count(transactions_table(lake), where)
