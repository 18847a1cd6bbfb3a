"""By what a server's snapshot and gold's cuts are told to be of one state: GTIDs, or a place.

Where every transaction has a GTID, what a server had executed tells its state, whichever server of
a topology it is. Where there are none, a place in a log tells it, and only of the server that wrote
the log. Nothing is compared with a cut of before the one that gold was at when verify began: after
RESET, places and numbers come again.
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
"""Seconds between two looks at a server."""
_LONGEST = 200


class OtherLogError(ServerError):
    """Nothing tells which of gold's cuts a server's state is to be compared with."""


class BehindGoldError(ServerError):
    """The server has not got all that gold has: `lacking`, as a set of GTIDs. It may get them yet,
    and then it is `retryable`; what was its own and is lost does not come again."""

    def __init__(
        self, reason: str, *, lacking: str, retryable: bool, address: str, user: str, remedy: str
    ) -> None:
        super().__init__(reason, address=address, user=user, remedy=remedy)
        self.lacking = lacking
        self.retryable = retryable


@dataclass(frozen=True, slots=True)
class GoldStanding:
    """Where gold is as verify begins: the cut's LSN, its GTIDs (none where the log has none), and
    the id of the server whose file the lake has last (None: it has no file). `known`: the GTIDs of
    all the lake's files."""

    lsn: int
    gtids: GoldGtids
    server_id: int | None
    known: GtidSet = NO_GTIDS

    @classmethod
    def of(cls, spark: SparkSession, settings: Settings) -> GoldStanding:
        """Of the lake as it is now."""
        lake, source = settings.layout, settings.source
        ledger = Ledger(spark, lake, source)
        lsn, recorded = GoldState.of(ledger).cut_lsn, Cut.of(ledger.record("gold")).gtid_set
        files = read_files(spark, lake, source)
        gtids = executed_at(spark, lake, source, lsn, recorded)
        return cls(lsn, gtids, files[-1].server_id if files else None, known_in(files))

    def wanted(self, place: Mapping[str, Any], who: Login) -> Wanted:
        """What gold is asked for, of a snapshot that is at a place (see `server_place`).

        Raises OtherLogError where it cannot be told.
        """
        if place["has_gtids"] and self.gtids.all:
            theirs = GtidSet.of(place["gtid_set"])
            logged = GtidSet.of(place["gtids_logged"])
            # MariaDB's domains that it has replicated once, and nobody else knows of.
            others = theirs.outside_domains_of(logged | self.known | self.gtids.all)
            return WithGtids(str(theirs - others))
        if place["file"] is None:
            raise OtherLogError(
                "the server tells neither GTIDs that the lake has too, nor a place in a log.",
                remedy="Compare with a server that writes a log, or has gtid_mode=ON as the lake's"
                " log has.",
                address=who.address,
                user=who.user,
            )
        if place["server_id"] != self.server_id:
            raise OtherLogError(
                f"its server_id is {place['server_id']}, and the lake's last log is of the server"
                f" with {self.server_id}: a place in the one is none in the other, and without"
                " GTIDs on both sides nothing tells what the server has.",
                remedy="Compare with the server whose log the lake takes, or turn GTIDs on.",
                address=who.address,
                user=who.user,
            )
        return AtPosition(place["file"], place["position"])

    def lacked_by(self, place: Mapping[str, Any]) -> GtidSet:
        """What gold has and the server has not, where GTIDs tell: all, where the server has none
        (RESET, or a replica that is empty)."""
        if not place["has_gtids"]:
            return GtidSet()
        return self.gtids.needed.not_reached_by(GtidSet.of(place["gtid_set"]))


def wait_until_it_has(
    gold: GoldStanding,
    asked: Callable[[], Mapping[str, Any]],
    who: Login,
    patience: float,
    progress: Progress,
) -> None:
    """Wait so many seconds until a server has all that gold has: a replica may lag behind.

    With no `patience` it is taken as it is, but where its log was begun anew. `asked` gives where
    the server is (see `server_place`). Raises BehindGoldError.
    """
    ends = time.monotonic() + patience
    with progress.task("wait for the server", None, "looks") as task:
        while lacking := gold.lacked_by(place := asked()):
            if lacking.has_any_of(place["server_uuid"], place["server_id"]):
                raise _begun_anew(lacking, who)
            if not patience:
                return
            if time.monotonic() >= ends:
                raise _lags(lacking, who)
            time.sleep(min(PAUSE, max(ends - time.monotonic(), 0)))
            task.advance()


def _begun_anew(lacking: GtidSet, who: Login) -> BehindGoldError:
    return BehindGoldError(
        f"the server has lost {_cut(lacking)}, which it had itself and gold has: its log was begun"
        " anew (RESET), or it was set up from a backup.",
        lacking=str(lacking),
        retryable=False,
        address=who.address,
        user=who.user,
        remedy="Bring gold to its new log with binlake run (given_up accepts what was lost with the"
        " old one), and run it again.",
    )


def _lags(lacking: GtidSet, who: Login) -> BehindGoldError:
    return BehindGoldError(
        f"the server has not got {_cut(lacking)}, which gold has.",
        lacking=str(lacking),
        retryable=True,
        address=who.address,
        user=who.user,
        remedy="Is it a replica that lags? Run it again when it has caught up, or with a longer"
        " --wait. With --wait 0 it is compared all the same. If it is of another topology, or was"
        " reset, its tables are others.",
    )


def _cut(gtids: GtidSet) -> str:
    text = str(gtids)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
