"""Whether a server's state is matched by GTIDs or position, which servers are refused, and the
snapshot that has the same state as a server."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import pytest
from pyspark.sql import SparkSession

from pipeline.gold.plan import verification_points
from pipeline.gold.plan.verification_points import AtPosition, VerificationPoint, WithGtids
from pipeline.lake import Ledger
from pipeline.layer import LayerRun
from pipeline.observe.progress import QuietProgress
from pipeline.settings import Settings
from pipeline.silver.decode.decode import OFFSET_BITS
from pipeline.source import GtidSet
from pipeline.source.server.login import Login
from pipeline.verify import matching
from pipeline.verify.matching import (
    GoldPosition,
    GoldReached,
    LaggingServerError,
    OtherLogError,
    wait_for_server,
)
from pipeline.verify.position import GoldGtids
from tests.support.bronze.bronze_rows import file_row

RUN = LayerRun(
    cast(SparkSession, None),
    Settings(source="shop", lake="lake"),
    cast(Ledger, None),
    QuietProgress(),
)
WHO = Login("db", "verify")
ONE, TWO = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def gold(gtids: str, server_id: int | None = 1) -> GoldPosition:
    return GoldPosition(5, GoldGtids(GtidSet.of(gtids)), server_id)


def seeded(before: str) -> GoldPosition:
    """Gold seeded from an idle server: it has no transaction of the log."""
    return GoldPosition(0, GoldGtids(before=GtidSet.of(before)), 1)


def place(**given: Any) -> dict[str, Any]:
    """A server's position; it has GTIDs if a set is given, unless `has_gtids` says otherwise."""
    default = {"server_id": 1, "server_uuid": ONE, "gtid_set": "", "file": "b.1", "position": 4}
    gtids = given.get("gtid_set", "")
    return {**default, "has_gtids": bool(gtids), "gtids_logged": gtids, **given}


@pytest.mark.parametrize(
    ("position", "at", "wanted"),
    [
        # With GTIDs, a server of any id and with any log.
        (gold(f"{ONE}:1-5"), place(gtid_set=f"{ONE}:1-9"), WithGtids(f"{ONE}:1-9")),
        (gold("0-1-5"), place(gtid_set="0-1-9", server_id=2, file=None), WithGtids("0-1-9")),
        # Just seeded, from an idle server.
        (seeded(f"{ONE}:1-5"), place(gtid_set=f"{ONE}:1-5", server_id=2), WithGtids(f"{ONE}:1-5")),
        (seeded("0-1-5"), place(gtid_set="0-1-5", server_id=2), WithGtids("0-1-5")),
        # Domains that MariaDB once replicated, and that neither its log nor the lake has.
        (gold("0-1-5"), place(gtid_set="0-1-9,7-3-2", gtids_logged="0-1-9"), WithGtids("0-1-9")),
        (gold("0-1-5"), place(gtid_set="0-1-9,7-3-2"), WithGtids("0-1-9,7-3-2")),
        (
            GoldPosition(5, GoldGtids(GtidSet.of("0-1-5")), 1, GtidSet.of("0-1-5,7-3-1")),
            place(gtid_set="0-1-9,7-3-2", gtids_logged="0-1-9"),
            WithGtids("0-1-9,7-3-2"),
        ),
        # An empty set identifies a server that has executed nothing.
        (gold(f"{ONE}:1-5"), place(has_gtids=True, server_id=2), WithGtids("")),
        # Without GTIDs on both sides, the server of the log.
        (gold(""), place(), AtPosition("b.1", 4)),
        (gold(""), place(gtid_set=f"{ONE}:1-9"), AtPosition("b.1", 4)),
        (gold(""), place(has_gtids=True), AtPosition("b.1", 4)),
        (gold(f"{ONE}:1-5"), place(), AtPosition("b.1", 4)),
    ],
)
def test_gtids_are_used_if_both_have_them_and_else_the_position(
    position: GoldPosition, at: dict[str, Any], wanted: VerificationPoint
) -> None:
    assert position.wanted(at, WHO) == wanted


@pytest.mark.parametrize(
    ("position", "at", "reason"),
    [
        (gold(""), place(server_id=2), "its server_id is 2"),
        (gold(f"{ONE}:1-5"), place(server_id=2), "its server_id is 2"),
        (gold("", None), place(), "its server_id is 1"),
        (gold(""), place(file=None, position=None), "neither GTIDs"),
    ],
)
def test_a_server_with_an_unknown_state_is_refused(
    position: GoldPosition, at: dict[str, Any], reason: str
) -> None:
    with pytest.raises(OtherLogError, match=reason) as raised:
        position.wanted(at, WHO)
    assert raised.value.remedy


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "SERVER_PAUSE", 0)


def waited(position: GoldPosition, places: list[dict[str, Any]], patience: float) -> int:
    """Wait for a server that has these positions in turn; return how many were consumed."""
    left = list(places)

    def asked() -> dict[str, Any]:
        return left.pop(0) if len(left) > 1 else left[0]

    wait_for_server(RUN, position, asked, WHO, patience)
    return len(places) - len(left)


def test_a_replica_is_waited_for_until_it_has_all_that_gold_has() -> None:
    sets = [f"{ONE}:1-3", f"{ONE}:1-4", f"{ONE}:1-5", f"{ONE}:1-9"]
    places = [place(gtid_set=gtids, server_uuid=TWO) for gtids in sets]
    assert waited(gold(f"{ONE}:1-5"), places, patience=60) == 3


def test_a_replica_is_waited_for_after_a_seed() -> None:
    sets = [f"{ONE}:1-3", f"{ONE}:1-5", f"{ONE}:1-9"]
    places = [place(gtid_set=gtids, server_uuid=TWO) for gtids in sets]
    assert waited(seeded(f"{ONE}:1-5"), places, patience=60) == 2


def test_without_gtids_or_patience_there_is_no_wait() -> None:
    assert waited(gold(f"{ONE}:1-5"), [place(), place()], patience=9) == 1
    lagging = place(gtid_set=f"{ONE}:1-3", server_uuid=TWO)
    assert waited(gold(f"{ONE}:1-5"), [lagging, lagging], patience=0) == 1


@pytest.mark.parametrize(
    ("had", "at", "patience", "reason"),
    [
        # Just after RESET: gold has the server's own transactions.
        (f"{ONE}:1-5", place(has_gtids=True), 1e9, "has lost"),
        (f"{ONE}:1-5", place(has_gtids=True), 0, "has lost"),
        ("0-1-5", place(has_gtids=True, server_uuid=""), 1e9, "has lost"),
        # An empty replica does not have them yet.
        (f"{ONE}:1-5", place(has_gtids=True, server_uuid=TWO, server_id=2), 0.01, "lacks"),
        ("0-1-5", place(has_gtids=True, server_uuid="", server_id=2), 0.01, "lacks"),
    ],
)
def test_a_server_that_has_executed_nothing_lacks_everything(
    had: str, at: dict[str, Any], patience: float, reason: str
) -> None:
    with pytest.raises(LaggingServerError, match=reason) as raised:
        waited(gold(had), [at], patience)
    assert raised.value.lacking == had


@pytest.mark.parametrize(
    ("had", "at", "patience", "reason"),
    [
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3", server_uuid=TWO), 0.01, "lacks"),
        ("0-1-5", place(gtid_set="0-1-3", server_id=2, server_uuid=""), 0.01, "lacks"),
        # A server that lacks its own transactions was reset: waiting is pointless.
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3"), 1e9, "has lost"),
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3"), 0, "has lost"),
        ("0-1-5", place(gtid_set="0-1-3", server_uuid=""), 1e9, "has lost"),
    ],
)
def test_a_lagging_replica_is_distinguished_from_a_reset_server(
    had: str, at: dict[str, Any], patience: float, reason: str
) -> None:
    with pytest.raises(LaggingServerError, match=reason) as raised:
        waited(gold(had), [at], patience)
    assert raised.value.lacking in (f"{ONE}:4-5", "0-1-5")
    assert raised.value.retryable == (reason == "lacks")


A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
BEFORE = GtidSet.of(f"{A}:1-10")
BEGAN = 2 << OFFSET_BITS | 100


@pytest.mark.parametrize(
    ("gtids", "batch"),
    [
        # The published snapshot of a lake that was just seeded has no transaction of its own.
        (f"{A}:1-10", GoldReached(1)),
        (f"{A}:1-12", GoldReached(2)),
        (f"{A}:1-15", None),
        (f"{A}:1-11", GoldReached(None)),
        (f"{A}:1-8", GoldReached(None)),
    ],
)
def test_a_cut_with_exactly_these_gtids_is_found(
    monkeypatch: pytest.MonkeyPatch, gtids: str, batch: GoldReached | None
) -> None:
    cuts = [(1, 0, None), (2, 77, f"{A}:11-12")]
    monkeypatch.setattr(matching, "cuts_since", lambda *_: cuts)

    def executed_at(run: object, lsn: int, own: str) -> GoldGtids:
        return GoldGtids(GtidSet.of(own), BEFORE)

    monkeypatch.setattr(matching, "executed_at", executed_at)
    assert matching._GtidMatcher(RUN, GtidSet.of(gtids), 0).look() == batch


class _Plan(NamedTuple):
    """The fields of silver's plan that are used."""

    last_lsn: int
    end: tuple[int, int] = (9, 9)


class _Standing(NamedTuple):
    plan: _Plan | None


@pytest.mark.parametrize(
    ("last", "silver", "found"),
    [
        (BEGAN + 9, _Plan(BEGAN + 50), BEGAN + 9),
        (BEGAN, _Plan(BEGAN + 50), BEGAN),
        # Silver is decoded from scratch, or an old log's position is taken for the new one's.
        (BEGAN - 9, _Plan(BEGAN - 9), BEGAN),
        (BEGAN - 9, _Plan(BEGAN + 50), BEGAN),
        (BEGAN + 9, None, None),
    ],
)
def test_cuts_earlier_than_golds_position_at_the_start_are_ignored(
    monkeypatch: pytest.MonkeyPatch, last: int, silver: _Plan | None, found: int | None
) -> None:
    asked: list[int] = []

    def last_wanted(run: object, until: str, low: int, high: int) -> int:
        assert until == "log.000002:500"
        asked.append(low)
        return last

    monkeypatch.setattr(verification_points, "last_wanted", last_wanted)
    monkeypatch.setattr(matching, "read_files", lambda *_: [file_row("log.000002", 2)])
    monkeypatch.setattr(matching, "is_in_silver", lambda *_: True)
    monkeypatch.setattr(matching, "silver_progress", lambda _: _Standing(silver))
    began = GoldPosition(BEGAN, GoldGtids(), 1)
    place = AtPosition("log.000002", 500)
    matcher = matching._PositionMatcher(RUN, place, began)
    assert matcher._last_before() == found
    assert asked == ([] if silver is None else [BEGAN])
