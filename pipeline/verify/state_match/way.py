"""Choose how to match a server's snapshot with gold's cuts: by GTIDs, or by log position.

If every transaction has a GTID, the executed GTID set identifies the state of any server in a
topology. Otherwise a log position does, but only for the server that wrote the log. Cuts earlier
than gold's cut when verify began are never used: after RESET, positions and numbers repeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from pipeline.bronze import read_files
from pipeline.gold import Cut, GoldState
from pipeline.gold.plan.verification_points import AtPosition, Wanted, WithGtids
from pipeline.lake import Ledger
from pipeline.observe import Progress
from pipeline.settings import Settings
from pipeline.source import GtidSet
from pipeline.source.gtid_set import NO_GTIDS
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login
from pipeline.verify.state_match.executed_at import GoldGtids, executed_at, known_in

PAUSE = 1.0
"""Seconds between two queries of the server."""
_LONGEST = 200


class OtherLogError(ServerError):
    """The server's state cannot be matched with any of gold's cuts."""


class BehindGoldError(ServerError):
    """The server lacks transactions that gold has (`lacking`, a GTID set).

    `retryable`: a replica that may still receive them; not if the server lost its own ones.
    """

    def __init__(
        self, reason: str, *, lacking: str, retryable: bool, address: str, user: str, remedy: str
    ) -> None:
        super().__init__(reason, address=address, user=user, remedy=remedy)
        self.lacking = lacking
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class GoldPosition:
    """Gold's position when verify begins: the cut's LSN, and its GTIDs if the log has any.

    `server_id`: of the server that wrote the lake's last file; None if there is no file. `known`:
    the GTIDs of all the lake's files.
    """

    lsn: int
    gtids: GoldGtids
    server_id: int | None
    known: GtidSet = NO_GTIDS

    @classmethod
    def of(cls, spark: SparkSession, settings: Settings) -> GoldPosition:
        """Read the lake's current position."""
        lake, source = settings.layout, settings.source
        ledger = Ledger(spark, lake, source)
        lsn, recorded = GoldState.of(ledger).cut_lsn, Cut.of(ledger.record("gold")).gtid_set
        files = read_files(spark, lake, source)
        gtids = executed_at(spark, lake, source, lsn, recorded)
        return cls(lsn, gtids, files[-1].server_id if files else None, known_in(files))

    def wanted(self, place: Mapping[str, Any], who: Login) -> Wanted:
        """Return the cut to request from gold for a snapshot at a position (see `server_place`).

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
    gold: GoldPosition,
    asked: Callable[[], Mapping[str, Any]],
    who: Login,
    patience: float,
    progress: Progress,
) -> None:
    """Wait up to `patience` seconds until a lagging server has all transactions of gold.

    With `patience` 0, return at once. `asked` returns the server's position (see `server_place`).
    Raises BehindGoldError if the server still lags, or has lost transactions of its own.
    """
    ends = time.monotonic() + patience
    with progress.task("wait for the server", None, "queries") as task:
        while lacking := gold.lacked_by(place := asked()):
            if lacking.includes_server(place["server_uuid"], place["server_id"]):
                raise _reset(lacking, who)
            if not patience:
                return
            if time.monotonic() >= ends:
                raise _lags(lacking, who)
            time.sleep(min(PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


def _reset(lacking: GtidSet, who: Login) -> BehindGoldError:
    return BehindGoldError(
        f"the server has lost {_shortened(lacking)}, its own transactions that gold has: its log"
        " was reset (RESET), or it was restored from a backup.",
        lacking=str(lacking),
        retryable=False,
        address=who.address,
        user=who.user,
        remedy="Continue with its new log by binlake run (given_up accepts the gap at the end of"
        " the old one), then run verify again.",
    )


def _lags(lacking: GtidSet, who: Login) -> BehindGoldError:
    return BehindGoldError(
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
