"""Gold's position in the log as a server would report it, compared with a snapshot's.

A published snapshot records the GTIDs of all transactions that the lake ever had. After a reset of
the log (RESET), the server's set starts over, and earlier numbers repeat. Without GTIDs on both
sides, log positions are compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from pipeline.bronze import read_files
from pipeline.bronze.executed_gtids import first_after_reset
from pipeline.bronze.tables import FileRow
from pipeline.gold import Cut
from pipeline.gold.changes.log_facts import gather
from pipeline.gold.plan.cuts_table import cuts_table
from pipeline.gold.plan.publication import gtids_at
from pipeline.lake.delta_log.conditions import compare, equal
from pipeline.layer import LayerRun
from pipeline.silver.decode import segment_refs
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.decode.segment_refs import FilePosition
from pipeline.silver.decode.silver_tables import transactions_table
from pipeline.silver.plan.progress import silver_progress
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS
from pipeline.verify.checksums import VerifiedSnapshot
from pipeline.verify.server_file import ServerFile

_CATCH_UP = "capture and run until gold is there, and then verify again."


@dataclass(frozen=True, slots=True)
class GoldGtids:
    """The GTIDs of gold at a published snapshot.

    `own`: of the transactions in gold. `before`: those that the log files up to it list as
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


def executed_at(run: LayerRun, lsn: int, recorded: str | None) -> GoldGtids:
    """Return the GTIDs at a snapshot's LSN; `recorded` is its `gtid_set`, None if it has none."""
    files = read_files(run.spark, run.lake, run.source)
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
    # The last of these files is not in gold as a whole.
    *whole, last = since
    begin = last.ordinal << OFFSET_BITS
    here = gtids_at(Cut(), gather(run.spark, run.lake, run.source, begin, lsn))
    return GoldGtids(GtidSet.of(*(row.gtids for row in whole)) | here, before)


def cuts_since(run: LayerRun, lsn: int) -> list[tuple[int, int, str | None]]:
    """Return the batch, LSN and GTID set of the published snapshots from an LSN on, in order."""
    where = equal("source", run.source) & compare("lsn", ">=", lsn)
    columns = ("batch", "lsn", "gtid_set")
    found = run.ledger.tables.read(cuts_table(run.lake), where, columns).to_pylist()
    return sorted((tuple(map(row.get, columns)) for row in found), key=itemgetter(0))


def other_position(run: LayerRun, snapshot: VerifiedSnapshot, file: ServerFile) -> str:
    """Return a sentence on how the server's position differs from the snapshot's; empty if equal.

    Log positions are compared within the file of the same name from the same server.
    """
    if file.has_gtids:
        gold = executed_at(run, snapshot.lsn, snapshot.gtid_set)
        if gold.all:
            theirs = GtidSet.of(file.gtid_set) - only_replicated(run, snapshot, file)
            later, earlier = differing_gtids(gold, theirs)
            sentences = []
            if later:
                sentences.append(
                    f"The server's snapshot contains {later}, which gold's published snapshot"
                    f" lacks: {_CATCH_UP}"
                )
            if earlier:
                sentences.append(
                    f"Gold's published snapshot contains {earlier}, which the server's lacks: if it"
                    " is a replica, verify again once it has caught up; generate a file again."
                )
            return " ".join(sentences)
    return _by_place(run, snapshot, file)


def only_replicated(run: LayerRun, snapshot: VerifiedSnapshot, file: ServerFile) -> GtidSet:
    """Return the server's GTIDs in domains that neither the MariaDB server's own log nor the lake
    has.

    The server has only replicated them, maybe long ago from an unrelated primary; they are ignored.
    """
    elsewhere = GtidSet.of(file.gtid_set).outside_domains_of(GtidSet.of(file.gtids_logged))
    if not elsewhere:
        return elsewhere
    known = known_in(read_files(run.spark, run.lake, run.source)) | GtidSet.of(snapshot.gtid_set)
    return elsewhere.outside_domains_of(known)


def differing_gtids(gold: GoldGtids, theirs: GtidSet) -> tuple[str, str]:
    """Return the GTIDs that only the server has, and that only gold has, as text; empty if none.

    MariaDB's domains are compared by sequence number and server id of the last GTID: two servers
    may use the same number.
    """
    later = gold.all.lacking(theirs) or gold.all.missing_by_server(theirs.last_of_domains())
    return later, theirs.lacking(gold.needed)


def _by_place(run: LayerRun, snapshot: VerifiedSnapshot, file: ServerFile) -> str:
    at = f"The server's snapshot is at {file.file}, position {file.position}"
    if file.file is None or file.position is None:
        return "The server had no binary log, so its snapshot cannot be compared with gold's."
    stored = {row.file: row for row in read_files(run.spark, run.lake, run.source)}
    row = stored.get(file.file)
    if row is None:
        return f"{at}; that file is not in the lake: {_CATCH_UP}"
    if row.server_id != file.server_id:
        return (
            f"The server's snapshot is from server_id {file.server_id}, the lake's"
            f" {row.file} from server_id {row.server_id}; without GTIDs their positions cannot"
            " be compared."
        )
    if row.ingested_upto < file.position:
        return f"{at}; the lake has {row.ingested_upto} bytes of that file: {_CATCH_UP}"
    here = row.ordinal << OFFSET_BITS | file.position
    if snapshot.lsn >= here:
        return f"{at}; gold's published snapshot is later."
    if not is_in_silver(run, (row.ordinal, file.position)):
        return f"{at}; the log before it is not fully decoded in the lake: {_CATCH_UP}"
    after = compare("__lsn", ">", snapshot.lsn) & compare("__lsn", "<", here)
    where = equal("source", run.source) & after
    if between := run.ledger.tables.count(transactions_table(run.lake), where):
        transactions = "1 transaction" if between == 1 else f"{between:,} transactions"
        return f"{at}; gold's published snapshot is {transactions} earlier: {_CATCH_UP}"
    return ""


def is_in_silver(run: LayerRun, place: FilePosition) -> bool:
    """Return True if silver has everything that bronze has before a (file ordinal, position)."""
    run.ledger.refresh()
    silver = silver_progress(run.ledger).plan
    if silver is None or silver.end >= place:
        return silver is not None
    return not segment_refs.between(run.spark, run.lake, run.source, silver.end, place)
