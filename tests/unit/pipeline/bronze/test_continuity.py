"""What is missing between two files, told by numbers, states and GTIDs."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.bronze.continuity import gap_between, gaps
from tests.support.bronze_rows import file_row

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
    assert early.startswith("log.000003 (number 3) is ingested up to 1000 and not complete")
    behind_a_fault = gap_between(rows[2], rows[3])
    assert (behind_a_fault or "").startswith("2 files are missing between log.000004 and")
    assert list(gaps(rows, given_up={1, 3})) == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (GTIDS, {"previous_gtids": "u:1-9"}, None),
        (GTIDS, {"previous_gtids": "u:1-8"}, None),
        (GTIDS, {"previous_gtids": "u:1-10"}, "comes after u:10, which neither log.000001 nor"),
        (GTIDS, {"previous_gtids": "u:1-9,v:1"}, "comes after v:1, which"),
        (GTIDS, {"previous_gtids": "v:1-9"}, "has not seen u:1-3, which log.000001 has"),
        (GTIDS, {"previous_gtids": ""}, "has not seen u:1-3"),
        # switched on between the two
        ({"previous_gtids": "", "gtids": ""}, {"previous_gtids": ""}, None),
        ({"previous_gtids": "", "gtids": "u:1"}, {"previous_gtids": "u:1"}, None),
        # a relay log's GTIDs are not counted
        ({"previous_gtids": "u:1", "gtids": None}, {"previous_gtids": "u:1-5"}, None),
        # another server, or another server id, without GTIDs
        ({}, {"server_id": 2}, "is of server 1 and log.000002 of server 2"),
        (GTIDS, {"previous_gtids": "u:1-9", "server_id": 2}, None),
    ],
)
def test_gtids_tell_whether_the_second_goes_on_where_the_first_ends(
    first: dict[str, Any], second: dict[str, Any], said: str | None
) -> None:
    rows = [file_row("log.000001", 1, **first), file_row("log.000002", 2, **second)]
    found = list(gaps(rows))
    assert len(found) == (said is not None)
    for gap in found:
        assert said in gap
        assert "name file number 1 under given_up" in gap


def test_a_log_that_was_begun_anew_has_seen_nothing() -> None:
    before = file_row("log.000007", 7, **GTIDS)
    assert gap_between(before, file_row("log.000001", 8, previous_gtids="")) is None
