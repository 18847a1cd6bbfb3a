"""By what a server's state is told, and which servers nothing tells of."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.gold.plan.verification_points import AtPosition, Wanted, WithGtids
from pipeline.observe.progress import QuietProgress
from pipeline.source import GtidSet
from pipeline.source.server.login import Login
from pipeline.verify.state_match import way
from pipeline.verify.state_match.executed_at import GoldGtids
from pipeline.verify.state_match.way import (
    BehindGoldError,
    GoldStanding,
    OtherLogError,
    wait_until_it_has,
)

WHO = Login("db", "verify")
ONE, TWO = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def gold(gtids: str, server_id: int | None = 1) -> GoldStanding:
    return GoldStanding(5, GoldGtids(GtidSet.of(gtids)), server_id)


def seeded(before: str) -> GoldStanding:
    """Of a server at rest: gold has no transaction of the log."""
    return GoldStanding(0, GoldGtids(before=GtidSet.of(before)), 1)


def place(**given: Any) -> dict[str, Any]:
    """Of a server that has GTIDs if it tells some, unless that is said."""
    told = {"server_id": 1, "server_uuid": ONE, "gtid_set": "", "file": "b.1", "position": 4}
    gtids = given.get("gtid_set", "")
    return {**told, "has_gtids": bool(gtids), "gtids_logged": gtids, **given}


@pytest.mark.parametrize(
    ("standing", "at", "wanted"),
    [
        # A server of any id and any log, if GTIDs tell.
        (gold(f"{ONE}:1-5"), place(gtid_set=f"{ONE}:1-9"), WithGtids(f"{ONE}:1-9")),
        (gold("0-1-5"), place(gtid_set="0-1-9", server_id=2, file=None), WithGtids("0-1-9")),
        # Just seeded, from a server that was at rest.
        (seeded(f"{ONE}:1-5"), place(gtid_set=f"{ONE}:1-5", server_id=2), WithGtids(f"{ONE}:1-5")),
        (seeded("0-1-5"), place(gtid_set="0-1-5", server_id=2), WithGtids("0-1-5")),
        # MariaDB's domains that it once replicated, and neither its log nor the lake has.
        (gold("0-1-5"), place(gtid_set="0-1-9,7-3-2", gtids_logged="0-1-9"), WithGtids("0-1-9")),
        (gold("0-1-5"), place(gtid_set="0-1-9,7-3-2"), WithGtids("0-1-9,7-3-2")),
        (
            GoldStanding(5, GoldGtids(GtidSet.of("0-1-5")), 1, GtidSet.of("0-1-5,7-3-1")),
            place(gtid_set="0-1-9,7-3-2", gtids_logged="0-1-9"),
            WithGtids("0-1-9,7-3-2"),
        ),
        # One that has executed nothing is told by that too.
        (gold(f"{ONE}:1-5"), place(has_gtids=True, server_id=2), WithGtids("")),
        # The server of the log, if they do not: on neither side, or on one alone.
        (gold(""), place(), AtPosition("b.1", 4)),
        (gold(""), place(gtid_set=f"{ONE}:1-9"), AtPosition("b.1", 4)),
        (gold(""), place(has_gtids=True), AtPosition("b.1", 4)),
        (gold(f"{ONE}:1-5"), place(), AtPosition("b.1", 4)),
    ],
)
def test_gtids_tell_where_there_are_some_and_else_the_place(
    standing: GoldStanding, at: dict[str, Any], wanted: Wanted
) -> None:
    assert standing.wanted(at, WHO) == wanted


@pytest.mark.parametrize(
    ("standing", "at", "told"),
    [
        (gold(""), place(server_id=2), "its server_id is 2"),
        (gold(f"{ONE}:1-5"), place(server_id=2), "its server_id is 2"),
        (gold("", None), place(), "its server_id is 1"),
        (gold(""), place(file=None, position=None), "neither GTIDs"),
    ],
)
def test_a_server_of_which_nothing_tells_is_refused(
    standing: GoldStanding, at: dict[str, Any], told: str
) -> None:
    with pytest.raises(OtherLogError, match=told) as raised:
        standing.wanted(at, WHO)
    assert raised.value.remedy


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way, "PAUSE", 0)


def waited(standing: GoldStanding, places: list[dict[str, Any]], patience: float) -> int:
    """How many of the places, one behind the other, were looked at."""
    left = list(places)

    def asked() -> dict[str, Any]:
        return left.pop(0) if len(left) > 1 else left[0]

    wait_until_it_has(standing, asked, WHO, patience, QuietProgress())
    return len(places) - len(left)


def test_a_replica_is_given_time_to_come_to_where_gold_is() -> None:
    sets = [f"{ONE}:1-3", f"{ONE}:1-4", f"{ONE}:1-5", f"{ONE}:1-9"]
    places = [place(gtid_set=gtids, server_uuid=TWO) for gtids in sets]
    assert waited(gold(f"{ONE}:1-5"), places, patience=60) == 3


def test_behind_a_seed_a_replica_is_given_time_too() -> None:
    sets = [f"{ONE}:1-3", f"{ONE}:1-5", f"{ONE}:1-9"]
    places = [place(gtid_set=gtids, server_uuid=TWO) for gtids in sets]
    assert waited(seeded(f"{ONE}:1-5"), places, patience=60) == 2


def test_without_gtids_or_patience_nothing_is_waited_for() -> None:
    assert waited(gold(f"{ONE}:1-5"), [place(), place()], patience=9) == 1
    behind = place(gtid_set=f"{ONE}:1-3", server_uuid=TWO)
    assert waited(gold(f"{ONE}:1-5"), [behind, behind], patience=0) == 1


@pytest.mark.parametrize(
    ("had", "at", "patience", "told"),
    [
        # Right behind RESET: gold has what was the server's own.
        (f"{ONE}:1-5", place(has_gtids=True), 1e9, "has lost"),
        (f"{ONE}:1-5", place(has_gtids=True), 0, "has lost"),
        ("0-1-5", place(has_gtids=True, server_uuid=""), 1e9, "has lost"),
        # An empty replica has not got it yet.
        (f"{ONE}:1-5", place(has_gtids=True, server_uuid=TWO, server_id=2), 0.01, "has not got"),
        ("0-1-5", place(has_gtids=True, server_uuid="", server_id=2), 0.01, "has not got"),
    ],
)
def test_a_server_that_has_executed_nothing_lacks_everything(
    had: str, at: dict[str, Any], patience: float, told: str
) -> None:
    with pytest.raises(BehindGoldError, match=told) as raised:
        waited(gold(had), [at], patience)
    assert raised.value.lacking == had


@pytest.mark.parametrize(
    ("had", "at", "patience", "told"),
    [
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3", server_uuid=TWO), 0.01, "has not got"),
        ("0-1-5", place(gtid_set="0-1-3", server_id=2, server_uuid=""), 0.01, "has not got"),
        # A server that lacks its own was begun anew: to wait is in vain.
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3"), 1e9, "has lost"),
        (f"{ONE}:1-5", place(gtid_set=f"{ONE}:1-3"), 0, "has lost"),
        ("0-1-5", place(gtid_set="0-1-3", server_uuid=""), 1e9, "has lost"),
    ],
)
def test_a_server_that_lacks_what_gold_has_is_told_apart(
    had: str, at: dict[str, Any], patience: float, told: str
) -> None:
    with pytest.raises(BehindGoldError, match=told) as raised:
        waited(gold(had), [at], patience)
    assert raised.value.lacking in (f"{ONE}:4-5", "0-1-5")
    assert raised.value.retryable == (told == "has not got")
