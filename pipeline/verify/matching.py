"""Match a server's snapshot with one of gold's published snapshots: by GTIDs, or by log position.

If every transaction has a GTID, the executed GTID set identifies the state of any server in a
topology. Otherwise a log position does, but only for the server that wrote the log. Snapshots
earlier than gold's position when verify began are never used: after RESET, positions and numbers
repeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline.bronze import read_files
from pipeline.bronze.tables import FileRow
from pipeline.gold import Cut, GoldState
from pipeline.gold.plan.verification_points import AtPosition, VerificationPoint, WithGtids
from pipeline.layer import LayerRun
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.silver.plan.progress import silver_progress
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login
from pipeline.verify.position import (
    GoldGtids,
    cuts_since,
    differing_gtids,
    executed_at,
    is_in_silver,
    known_in,
)

SERVER_PAUSE = 1.0
"""Seconds between two queries of the server."""
GOLD_PAUSE = 5.0
"""Seconds between two checks of gold's snapshots."""
_LONGEST = 200


class OtherLogError(ServerError):
    """The server's state cannot be matched with any of gold's published snapshots."""


class LaggingServerError(ServerError):
    """The server lacks transactions that gold has (`lacking`, a GTID set).

    `retryable`: a replica that may still receive them; not if the server lost transactions of its
    own.
    """

    def __init__(
        self, reason: str, *, lacking: str, retryable: bool, address: str, user: str, remedy: str
    ) -> None:
        super().__init__(reason, address=address, user=user, remedy=remedy)
        self.lacking = lacking
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class GoldPosition:
    """Gold's position when verify begins: its snapshot's LSN, and GTIDs if the log has any.

    `server_id`: of the server that wrote the lake's last file; None if there is no file. `known`:
    the GTIDs of all the lake's files.
    """

    lsn: int
    gtids: GoldGtids
    server_id: int | None
    known: GtidSet = NO_GTIDS

    @classmethod
    def of(cls, run: LayerRun) -> GoldPosition:
        """Read the lake's current position."""
        ledger = run.ledger
        lsn, recorded = GoldState.of(ledger).cut_lsn, Cut.of(ledger.record("gold")).gtid_set
        files = read_files(run.spark, run.lake, run.source)
        gtids = executed_at(run, lsn, recorded)
        return cls(lsn, gtids, files[-1].server_id if files else None, known_in(files))

    def wanted(self, place: Mapping[str, Any], who: Login) -> VerificationPoint:
        """Return the snapshot to request from gold for the server's position (see `server_place`).

        Raises OtherLogError if it cannot be determined.
        """
        if place["has_gtids"] and self.gtids.all:
            theirs = GtidSet.of(place["gtid_set"])
            logged = GtidSet.of(place["gtids_logged"])
            # Domains that MariaDB has once replicated from an unrelated primary.
            others = theirs.outside_domains_of(logged | self.known | self.gtids.all)
            return WithGtids(str(theirs - others))
        if place["file"] is None:
            raise OtherLogError(
                "the server has neither GTIDs in common with the lake, nor a binary log.",
                remedy="Compare with a server that has a binary log, or gtid_mode=ON like the"
                " lake's log.",
                address=who.address,
                user=who.user,
            )
        if place["server_id"] != self.server_id:
            raise OtherLogError(
                f"its server_id is {place['server_id']}, but the lake's last log is from the server"
                f" with {self.server_id}. Positions in different logs cannot be compared, and"
                " without GTIDs on both sides nothing else identifies the server's state.",
                remedy="Compare with the server whose log the lake ingests, or turn GTIDs on.",
                address=who.address,
                user=who.user,
            )
        return AtPosition(place["file"], place["position"])

    def lacked_by(self, place: Mapping[str, Any]) -> GtidSet:
        """Return the GTIDs that gold has and the server lacks; empty if the server has no GTIDs.

        These are all of gold's after RESET, or on an empty replica.
        """
        if not place["has_gtids"]:
            return GtidSet()
        return self.gtids.needed.not_reached_by(GtidSet.of(place["gtid_set"]))


def wait_for_server(
    run: LayerRun,
    gold: GoldPosition,
    asked: Callable[[], Mapping[str, Any]],
    who: Login,
    patience: float,
) -> None:
    """Wait up to `patience` seconds until a lagging server has all transactions of gold.

    With `patience` 0, return at once. `asked` returns the server's position (see `server_place`).
    Raises LaggingServerError if the server still lags, or has lost transactions of its own.
    """
    ends = time.monotonic() + patience
    with run.progress.task("waiting for the server", None, "queries") as task:
        while lacking := gold.lacked_by(place := asked()):
            if lacking.includes_server(place["server_uuid"], place["server_id"]):
                raise _reset(lacking, who)
            if not patience:
                return
            if time.monotonic() >= ends:
                raise _lags(lacking, who)
            time.sleep(min(SERVER_PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


def _reset(lacking: GtidSet, who: Login) -> LaggingServerError:
    return LaggingServerError(
        f"the server has lost {_shortened(lacking)}, its own transactions that gold has: its log"
        " was reset (RESET), or it was restored from a backup.",
        lacking=str(lacking),
        retryable=False,
        address=who.address,
        user=who.user,
        remedy="Continue with its new log by binlake run (given_up accepts the gap at the end of"
        " the old one), then run verify again.",
    )


def _lags(lacking: GtidSet, who: Login) -> LaggingServerError:
    return LaggingServerError(
        f"the server lacks {_shortened(lacking)}, which gold has.",
        lacking=str(lacking),
        retryable=True,
        address=who.address,
        user=who.user,
        remedy="If it is a lagging replica, run verify again when it has caught up, or with a"
        " longer --wait. With --wait 0 it is compared as it is. A server of another topology, or"
        " one that was reset, has different tables.",
    )


def _shortened(gtids: GtidSet) -> str:
    text = str(gtids)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@dataclass(frozen=True, slots=True)
class GoldReached:
    """Gold has reached or passed a position; `batch` published a snapshot there, or None."""

    batch: int | None


def batch_at(
    run: LayerRun, wanted: VerificationPoint, began: GoldPosition, patience: float
) -> int | None:
    """Return the batch that published the wanted snapshot, waiting up to `patience` seconds for it.

    Batches earlier than gold's position when verify `began` are ignored. None if there is no such
    snapshot by then, or gold has passed the position: then the last one is compared, and the
    difference in transactions reported.
    """
    ends = time.monotonic() + patience
    place: _PositionMatcher | _GtidMatcher = (
        _PositionMatcher(run, wanted, began)
        if isinstance(wanted, AtPosition)
        else _GtidMatcher(run, GtidSet.of(wanted.gtid_set), began.lsn)
    )
    with run.progress.task("waiting for gold to catch up", None, "checks") as task:
        while True:
            if found := place.look():
                return found.batch
            if time.monotonic() >= ends:
                return None
            time.sleep(min(GOLD_PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


@dataclass(slots=True)
class _GtidMatcher:
    """Finder of a snapshot with exactly these GTIDs; `known` caches snapshots' GTIDs by batch."""

    run: LayerRun
    gtids: GtidSet
    since: int
    known: dict[int, GoldGtids] = field(default_factory=dict)

    def look(self) -> GoldReached | None:
        """Return the last snapshot with these GTIDs; one that has more means that gold passed them.

        None until gold has reached them.
        """
        passed = False
        for batch, lsn, recorded in reversed(cuts_since(self.run, self.since)):
            if batch not in self.known:
                self.known[batch] = executed_at(self.run, lsn, recorded)
            later, earlier = differing_gtids(self.known[batch], self.gtids)
            if not later and not earlier:
                return GoldReached(batch)
            passed = passed or bool(earlier)
        return GoldReached(None) if passed else None


@dataclass(frozen=True, slots=True)
class _PositionMatcher:
    """Finder of the snapshot at a position in the log that the lake ingests."""

    run: LayerRun
    wanted: AtPosition
    began: GoldPosition

    def look(self) -> GoldReached | None:
        """Return the snapshot there.

        None until silver has everything before the position, and gold has reached it.
        """
        ledger = self.run.ledger
        ledger.refresh()
        last = self._last_before()
        if last is None or GoldState.of(ledger).cut_lsn < last:
            return None
        return GoldReached(ledger.batch_with("gold", "cut_lsn", last))

    def _last_before(self) -> int | None:
        """Return the LSN of the last transaction before the position, at least that of gold's
        snapshot when verify began; None until silver has everything before it."""
        silver, position = silver_progress(self.run.ledger).plan, self.wanted.position
        row = self._file()
        if silver is None or row is None or row.ingested_upto < position:
            return None
        if not is_in_silver(self.run, (row.ordinal, position)):
            return None
        low = self.began.lsn
        return max(self.wanted.last(self.run, low, silver.last_lsn), low)

    def _file(self) -> FileRow | None:
        """Return the last file of that name, unless gold was after the position in it when verify
        began: then the log was reset, and the lake does not have the new file yet."""
        rows = read_files(self.run.spark, self.run.lake, self.run.source)
        named = [row for row in rows if row.file == self.wanted.file]
        if not named or named[-1].server_id != self.began.server_id:
            return None
        at = named[-1].ordinal << OFFSET_BITS | self.wanted.position
        return named[-1] if at > self.began.lsn else None
