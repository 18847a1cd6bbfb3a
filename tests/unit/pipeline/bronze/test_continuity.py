"""Detection of gaps between files by numbers, states and GTIDs."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.bronze.continuity import gaps
from pipeline.bronze.tables import FileRow
from tests.support.bronze.bronze_rows import file_row

GTIDS: dict[str, Any] = {"previous_gtids": "u:1-3", "gtids": "u:4-9"}


def test_gaps_are_missing_numbers_and_files_that_end_too_early() -> None:
    rows = [
        file_row("log.000001", 1),
        file_row("log.000003", 3, state="open", complete=False),
        file_row("log.000004", 4, state="faulty", complete=False, fault="bad"),
        file_row("log.000007", 7, state="open", complete=False),
    ]
    missing, early = gaps(rows)
    assert missing.startswith("1 file is missing between log.000001 and log.000003")
    assert early.startswith(
        "log.000003 (number 3) is ingested up to position 1000 and not complete"
    )
    # a file with a fault of its own is reported by the fault
    sound = [*rows[:2], file_row("log.000004", 4), rows[3]]
    assert list(gaps(sound))[2].startswith("2 files are missing between log.000004 and")
    assert list(gaps(rows, given_up={1, 3})) == []
    assert list(gaps(rows, since=3)) == [early]


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (GTIDS, {"previous_gtids": "u:1-9"}, None),
        (GTIDS, {"previous_gtids": "u:1-8"}, None),
        (GTIDS, {"previous_gtids": "u:1-10"}, "log.000002 lists u:10 as already executed"),
        (
            GTIDS,
            {"previous_gtids": "u:1-9,v:1"},
            "lists v:1 as already executed, but no earlier file",
        ),
        (GTIDS, {"previous_gtids": "v:1-9"}, "has not executed u:1-3, which log.000001 contains"),
        (GTIDS, {"previous_gtids": ""}, "has not executed u:1-3"),
        # switched on between the two
        ({"previous_gtids": "", "gtids": ""}, {"previous_gtids": ""}, None),
        ({"previous_gtids": "", "gtids": "u:1"}, {"previous_gtids": "u:1"}, None),
        # nothing in common, which PREVIOUS_GTIDS does not show
        (
            {"previous_gtids": "", "gtids": "u:1-9"},
            {"previous_gtids": "", "gtids": "v:1-2"},
            "shares no transaction with the files before it",
        ),
        # a relay log's GTIDs are not counted
        ({"previous_gtids": "u:1", "gtids": None}, {"previous_gtids": "u:1-5"}, None),
        # another server, or another server id, without GTIDs
        ({}, {"server_id": 2}, "is from server 1, log.000002 from server 2"),
        (GTIDS, {"previous_gtids": "u:1-9", "server_id": 2}, None),
    ],
)
def test_gtids_show_whether_the_second_file_continues_the_first(
    first: dict[str, Any], second: dict[str, Any], message: str | None
) -> None:
    rows = [file_row("log.000001", 1, **first), file_row("log.000002", 2, **second)]
    found = list(gaps(rows))
    assert len(found) == (message is not None)
    for gap in found:
        assert message in gap
        assert "add file number 1 to given_up" in gap


AFTER_RESET = {"previous_gtids": "", "gtids": "u:1-2"}
OTHER = {"server_id": 2, "complete": False, "state": "open"}


@pytest.mark.parametrize(
    ("following", "message"),
    [
        # RESET: the server's GTIDs were cleared, or set again
        (file_row("log.000001", 8, **AFTER_RESET), None),
        (file_row("log.000001", 8, previous_gtids="u:1-9"), None),
        (file_row("log.000001", 8, previous_gtids="u:1-9,v:1-4"), "(server 1) lists v:1-4 as"),
        (file_row("log.000001", 8, previous_gtids="", gtids="v:1-2"), "log.000001 has v:1-2, and"),
        (file_row("log.000001", 8, previous_gtids="", gtids="u:tag:1"), None),
        (file_row("log.000002", 9, **AFTER_RESET), "1 file is missing"),
        # another server's, or under other names: numbers are irrelevant, and transactions seen
        # before may be repeated
        (file_row("log.000004", 75, previous_gtids="u:1-5", **OTHER), None),
        (file_row("old.000004", 75, previous_gtids=""), None),
        (
            file_row("log.000004", 75, previous_gtids="u:1-12,v:3", **OTHER),
            "lists u:10-12,v:3 as already executed",
        ),
        (file_row("log.000004", 75, **OTHER), "without GTIDs it cannot be determined"),
    ],
)
def test_a_log_may_continue_after_reset_or_in_another_servers_log(
    following: FileRow, message: str | None
) -> None:
    row = file_row("log.000007", 7, **GTIDS, complete=following.server_id == 1)
    found = list(gaps([row, following]))
    assert len(found) == (message is not None)
    assert (message or "") in "".join(found)


def test_missing_files_of_an_overlapping_log_do_not_matter_if_all_in_them_was_seen() -> None:
    rows = [file_row("log.000007", 7, **GTIDS)]
    rows += [file_row("b.000001", 9, previous_gtids="", gtids="u:1-2")]
    assert list(gaps([*rows, file_row("b.000003", 11, previous_gtids="u:1-6")])) == []
    (gap,) = gaps([*rows, file_row("b.000003", 11, previous_gtids="u:1-10")])
    assert "1 file is missing" in gap


def test_mariadb_gaps_are_detected_by_domain() -> None:
    first = file_row("log.000001", 1, previous_gtids="0-1-4,1-1-2", gtids="0-1-7")
    assert list(gaps([first, file_row("log.000002", 2, previous_gtids="0-1-7,1-1-2")])) == []
    # another server may have a domain's sequence number from a server that this one does not know
    assert list(gaps([first, file_row("b.000009", 74, previous_gtids="0-2-3,0-1-7")])) == []
    (gap,) = gaps([first, file_row("log.000002", 2, previous_gtids="0-1-9,1-1-2")])
    assert "0-1-9 and earlier in domain 0 (after number 7)" in gap
    (gap,) = gaps([first, file_row("b.000009", 74, previous_gtids="0-1-7,2-5-1")])
    assert "2-5-1 and earlier in domain 2 (from the start)" in gap


def test_the_lake_must_have_each_known_mariadb_servers_transactions_before_a_log() -> None:
    first = file_row("log.000001", 1, previous_gtids="", gtids="0-11-200,0-12-180")
    b = {"server_id": 12}
    assert not list(
        gaps([first, file_row("b.000002", 74, previous_gtids="0-11-200,0-12-180", **b)])
    )
    # the domain is past that number, by the other server's transactions
    (gap,) = gaps([first, file_row("b.000002", 74, previous_gtids="0-11-200,0-12-190", **b)])
    assert "(server 12) lists 0-12-190 as already executed, but no earlier file" in gap
