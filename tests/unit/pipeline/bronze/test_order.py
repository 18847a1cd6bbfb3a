"""Places in the log: names that start anew, files from before, files of something else."""

from __future__ import annotations

import pytest

from pipeline.bronze.order import place
from pipeline.errors import SettingsError
from tests.unit.pipeline.bronze.conftest import MakeBinlog, MakeRow


def test_the_first_files_of_a_source_have_their_numbers(binlog: MakeBinlog) -> None:
    order = place([binlog("log.000007"), binlog("log.000008"), binlog("log.000010")], [])
    assert [file.ordinal for file in order.placed] == [7, 8, 10]
    assert (order.faults, order.notes) == ((), ())


def test_known_files_keep_their_place_and_new_ones_follow(binlog: MakeBinlog, row: MakeRow) -> None:
    known = [row("log.000007", 7), row("log.000008", 8)]
    order = place([binlog("log.000008"), binlog("log.000009")], known)
    assert [(file.ordinal, file.row) for file in order.placed] == [(8, known[1]), (9, None)]


def test_a_missing_number_can_come_later(binlog: MakeBinlog, row: MakeRow) -> None:
    order = place([binlog("log.000008")], [row("log.000007", 7), row("log.000009", 9)])
    assert [file.ordinal for file in order.placed] == [8]


def test_a_file_from_before_the_start_is_told_and_left_out(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    order = place([binlog("log.000006"), binlog("log.000007")], [row("log.000007", 7)])
    assert [file.ordinal for file in order.placed] == [7]
    assert "log.000006 is from before log.000007" in order.notes[0]


def test_after_a_reset_the_names_come_again_behind_all_that_was(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1), row("log.000002", 2)]
    anew = [binlog("log.000001", "b", begun=9), binlog("log.000002", "c", begun=10)]
    order = place([*anew, binlog("log.000003", "d", begun=11)], known)
    assert [file.ordinal for file in order.placed] == [3, 4, 5]
    assert [file.row for file in order.placed] == [None] * 3
    again = [*known, row("log.000001", 3, "b"), row("log.000002", 4, "c")]
    order = place([*anew, binlog("log.000003", "d", begun=11)], again)
    assert [file.ordinal for file in order.placed] == [3, 4, 5]


def test_a_reset_shows_by_time_where_the_lake_did_not_begin_at_number_1(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000005", 5, begun=4)]
    anew = [binlog("log.000001", "b", begun=9), binlog("log.000002", "c", begun=10)]
    order = place([*anew, binlog("log.000005", begun=4)], known)
    assert [(f.binlog.stored.name, f.ordinal) for f in order.placed] == [
        ("log.000005", 5),
        ("log.000001", 6),
        ("log.000002", 7),
    ]
    assert order.notes == ()


def test_after_a_reset_files_of_the_old_log_may_still_be_there(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1), row("log.000002", 2)]
    listed = [
        binlog("log.000001", "b", begun=9),
        binlog("log.000002", begun=5),
        binlog("log.000003", "z", begun=6),
    ]
    order = place(listed, known)
    assert [(f.binlog.stored.name, f.ordinal) for f in order.placed] == [
        ("log.000002", 2),
        ("log.000001", 3),
    ]
    assert "log.000003 is older than log.000001" in order.notes[0]


def test_another_file_of_a_known_name_behind_known_files_is_a_fault(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1), row("log.000002", 2)]
    order = place([binlog("log.000001"), binlog("log.000002", "other")], known)
    assert [file.ordinal for file in order.placed] == [1]
    assert order.faults[0].startswith("log.000002: another file of this name")


def test_a_log_of_another_name_needs_another_source(binlog: MakeBinlog, row: MakeRow) -> None:
    with pytest.raises(SettingsError, match="named log, and these files are of relay"):
        place([binlog("relay.000001")], [row("log.000001", 1)])
