"""Ordinals: names that start over after RESET, older files, and other servers' files."""

from __future__ import annotations

import pytest

from pipeline.bronze.order import ROOM, place
from pipeline.errors import SettingsError
from pipeline.source.logs.listing import Binlog
from pipeline.source.logs.server_folders import turn_folder
from tests.unit.pipeline.bronze.conftest import MakeBinlog, MakeRow


def test_the_first_files_of_a_source_get_their_numbers_as_ordinals(binlog: MakeBinlog) -> None:
    order = place([binlog("log.000007"), binlog("log.000008"), binlog("log.000010")], [])
    assert [file.ordinal for file in order.placed] == [7, 8, 10]
    assert (order.faults, order.notes) == ((), ())


def test_known_files_keep_their_ordinals_and_new_ones_follow(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000007", 7), row("log.000008", 8)]
    order = place([binlog("log.000008"), binlog("log.000009")], known)
    assert [(file.ordinal, file.row) for file in order.placed] == [(8, known[1]), (9, None)]


def test_a_missing_number_can_come_later(binlog: MakeBinlog, row: MakeRow) -> None:
    order = place([binlog("log.000008")], [row("log.000007", 7), row("log.000009", 9)])
    assert [file.ordinal for file in order.placed] == [8]


def test_a_file_older_than_the_first_is_skipped_with_a_note(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    order = place([binlog("log.000006"), binlog("log.000007")], [row("log.000007", 7)])
    assert [file.ordinal for file in order.placed] == [7]
    assert "log.000006 is older than log.000007" in order.notes[0]


def test_after_a_reset_the_same_names_get_ordinals_after_all_others(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1), row("log.000002", 2)]
    reset = [binlog("log.000001", "b", begun=9), binlog("log.000002", "c", begun=10)]
    order = place([*reset, binlog("log.000003", "d", begun=11)], known)
    assert [file.ordinal for file in order.placed] == [3, 4, 5]
    assert [file.row for file in order.placed] == [None] * 3
    again = [*known, row("log.000001", 3, "b"), row("log.000002", 4, "c")]
    order = place([*reset, binlog("log.000003", "d", begun=11)], again)
    assert [file.ordinal for file in order.placed] == [3, 4, 5]


def test_a_reset_is_detected_by_time_if_the_lake_did_not_begin_at_number_1(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000005", 5, begun=4)]
    reset = [binlog("log.000001", "b", begun=9), binlog("log.000002", "c", begun=10)]
    order = place([*reset, binlog("log.000005", begun=4)], known)
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


def test_another_file_of_a_known_name_after_known_files_is_a_fault(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1), row("log.000002", 2)]
    order = place([binlog("log.000001"), binlog("log.000002", "other")], known)
    assert [file.ordinal for file in order.placed] == [1]
    assert order.faults[0].startswith("log.000002 is skipped: bronze has another file")


def test_a_log_of_another_name_needs_another_source(binlog: MakeBinlog, row: MakeRow) -> None:
    with pytest.raises(SettingsError, match="named log, but these files belong to relay"):
        place([binlog("relay.000001")], [row("log.000001", 1)])


def test_files_of_two_logs_have_no_order_without_gtids(binlog: MakeBinlog) -> None:
    with pytest.raises(SettingsError, match="several logs: log, relay"):
        place([binlog("log.000001"), binlog("relay.000001")], [])
    anonymous = [binlog(name, previous="", gtid=None) for name in ("log.000001", "b.000001")]
    with pytest.raises(SettingsError, match="several logs: b, log"):
        place(anonymous, [])


def test_with_gtids_the_log_that_has_seen_less_comes_first(binlog: MakeBinlog) -> None:
    order = place(
        [
            binlog("log.000004", "x", previous="u:1-9", server=2),
            binlog("log.000005", "y", previous="u:1-12", server=2),
            binlog("log.000001", previous="", begun=3),
            binlog("log.000002", "b", previous="u:1-8"),
            binlog("old.000001", "c", previous="", begun=1),
        ],
        [],
    )
    found = [
        (f.binlog.stored.name, f.binlog.head.description.server_id, f.ordinal) for f in order.placed
    ]
    assert found == [
        ("old.000001", 1, 1),
        *(("log.000001", 1, ROOM + 2), ("log.000002", 1, ROOM + 3)),
        *(("log.000004", 2, 2 * ROOM + 7), ("log.000005", 2, 2 * ROOM + 8)),
    ]


def test_a_copy_of_a_file_in_another_folder_is_one_with_it(binlog: MakeBinlog) -> None:
    copies = [binlog("log.000001"), binlog("log.000001", size=2000, folder="/archive")]
    order = place(copies, [])
    assert [f.binlog.stored.path for f in order.placed] == ["/archive/log.000001"]
    assert order.notes == ("/logs/log.000001 is skipped: it is a copy of /archive/log.000001.",)
    with pytest.raises(SettingsError, match="have the same number"):
        place([*copies, binlog("log.000001", "other", folder="/third")], [])


def test_another_servers_files_come_after_all_others_and_so_do_later_ones_of_the_first(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row(f"log.{n:06}", n, f"a{n}", previous_gtids=f"u:1-{n}") for n in (1, 2, 4)]
    theirs = [
        binlog(f"log.{n:06}", f"b{n}", server=2, previous=f"u:1-{n}", gtid=f"u:{n + 1}")
        for n in (1, 2)
    ]
    theirs_at = 4 + ROOM + 1
    assert [f.ordinal for f in place(theirs, known).placed] == [theirs_at, theirs_at + 1]
    both = [*known, row("log.000001", theirs_at, "b1", server_id=2, previous_gtids="u:1")]
    # a continued log; a missing number; new files of the previous log; one older than that
    mine = [binlog(f"log.{n:06}", f"a{n}", previous=f"u:1-{n}") for n in (1, 3, 5)]
    order = place([*mine, *theirs], both, reached=theirs_at)
    assert [(f.binlog.head.incarnation, f.ordinal) for f in order.placed] == [
        *(("a1", 1), ("a3", 3), ("b1", theirs_at), ("b2", theirs_at + 1), ("a5", 2 * ROOM + 11)),
    ]  # fmt: skip
    # as long as silver has not reached the other log, files it may wait for go before it
    for reached, ordinal in ((0, 5), (4, 5), (theirs_at, 2 * ROOM + 10)):
        placed = place(mine, both, reached).placed
        assert [f.ordinal for f in placed if f.row is None] == [3, ordinal]
    late = place(
        [binlog("log.000002", "z", previous="u:1")], [row("log.000004", 4, begun=9), *both[3:]]
    )
    assert (late.placed, len(late.notes)) == ((), 1)


def test_a_copied_log_of_a_server_with_the_same_id_is_not_taken_for_a_reset(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    known = [row("log.000001", 1, previous_gtids="", gtids="u:1-9")]
    reset = binlog("log.000001", "b", begun=90, previous="")
    committed = {"u:1": 70}.get
    assert [f.ordinal for f in place([reset], known, 0, committed).placed] == [2]
    copied = binlog("log.000001", "b", begun=90, previous="", copied=True, committed=70)
    base = 1 + ROOM
    assert [f.ordinal for f in place([copied], known, 0, committed).placed] == [base + 1]
    # silver decides which of its transactions are new
    rest = binlog("log.000001", "b", begun=90, previous="", gtid="u:10", copied=True)
    assert [f.ordinal for f in place([rest], known).placed] == [base + 1]
    # with other numbers: decided by what it has seen, or by a file that is known under another
    known = [row("log.000001", 1, previous_gtids="u:1-4", gtids="u:5-9")]
    for later in (
        binlog("log.000002", "b", previous="u:1-2", copied=True, committed=70),
        binlog("log.000002", "a", previous="u:1-4"),
    ):
        assert [f.ordinal for f in place([later], known, 0, committed).placed] == [base + 2]
    goes_on = binlog("log.000002", "b", previous="u:1-9", copied=True)
    assert [f.ordinal for f in place([goes_on], known).placed] == [2]


@pytest.mark.parametrize(
    ("begun", "lake", "ordinals"),
    [
        (90, 70, [3, 4]),  # another transaction of the same number: both servers were reset
        (90, 80, [2 + ROOM + 1, 2 + ROOM + 2]),  # the same one: a copy
        (90, None, []),  # not decoded yet, or from before the lake's first file
        (5, 70, []),  # another one, older than the lake's
    ],
)
def test_a_reset_replica_is_distinguished_from_a_copy_by_its_first_transaction(
    binlog: MakeBinlog, row: MakeRow, begun: int, lake: int | None, ordinals: list[int]
) -> None:
    known = [
        row("r.000001", 1, "a1", previous_gtids="", gtids="p:1-10", begun=9),
        row("r.000002", 2, "a2", previous_gtids="p:1-10", gtids="p:11-20", begun=10),
    ]
    log = [
        binlog("r.000001", "b", begun, previous="", gtid="p:1", copied=True, committed=80),
        binlog("r.000002", "c", begun + 1, previous="p:1-4", gtid="p:5", copied=True, committed=81),
    ]
    order = place(log, known, 2, {"p:1": lake}.get)
    assert [f.ordinal for f in order.placed] == ordinals
    assert len(order.faults) == (not ordinals)
    assert "r.000001 begins with p:1, which is in the lake" in "".join(order.faults) or ordinals


@pytest.mark.parametrize(("removed_until", "ordinals"), [(79, []), (80, [1 + ROOM + 1]), (99, [])])
def test_a_copy_is_detected_by_its_commit_time_if_maintenance_has_removed_its_first_transaction(
    binlog: MakeBinlog, row: MakeRow, removed_until: int, ordinals: list[int]
) -> None:
    known = [row("r.000001", 1, "a1", previous_gtids="", gtids="p:1-10", begun=9)]
    at = 80 if removed_until < 99 else 100
    log = [binlog("r.000001", "b", 90, previous="", gtid="p:1", copied=True, committed=at)]
    order = place(log, known, 1, removed_until=removed_until)
    assert [f.ordinal for f in order.placed] == ordinals
    assert len(order.faults) == (not ordinals)


def test_a_gap_before_a_waiting_log_can_be_closed_and_one_that_is_too_large_is_reported(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    waiting = f"u:1-{2 * ROOM}"
    known = [
        row("log.000001", 1, "a1", previous_gtids="", gtids="u:1"),
        row("log.000009", 1 + ROOM + 9, "b1", server_id=2, previous_gtids=waiting),
    ]

    def missing(number: int) -> Binlog:
        return binlog(f"log.{number:06}", f"a{number}", previous="u:1", gtid=f"u:{number}")

    late = [missing(number) for number in (2, 100, ROOM)]
    order = place(late, known, reached=1)
    assert ([f.ordinal for f in order.placed], order.faults) == ([2, 100, ROOM], ())
    order = place([missing(ROOM + 1)], known, reached=1)
    assert order.placed == ()
    assert "is skipped: log.000009 waits for it, but its number is too far" in order.faults[0]
    # files that no file waits for get ordinals after all others
    for beyond, reached in ((2 * ROOM + 1, 1), (ROOM + 1, 1 + ROOM + 9)):
        (file,) = place([missing(beyond)], known, reached=reached).placed
        assert file.ordinal > known[-1].ordinal


@pytest.mark.parametrize("gtids", [{}, {"previous_gtids": "u:1"}])
def test_another_log_needs_gtids_on_both_sides(
    binlog: MakeBinlog, row: MakeRow, gtids: dict[str, str]
) -> None:
    known = [row("log.000001", 1, **gtids)]
    other = binlog("b.000001", previous=None if gtids else "u:1")
    with pytest.raises(SettingsError, match="these files belong to b"):
        place([other], known)


def turn(number: int) -> str:
    return "/logs" if number == 1 else f"/logs/{turn_folder(number)}"


def test_logs_after_failovers_are_in_the_order_of_their_turns(
    binlog: MakeBinlog, row: MakeRow
) -> None:
    """Whatever they have seen before, and even if the first server returns in its last file."""
    listed = [
        binlog("log.000003", "c", previous="u:1-5", folder=turn(1)),
        binlog("log.000004", "d", previous="u:1-7", folder=turn(1)),
        binlog("log.000001", "e", previous="", server=2, folder=turn(2)),
        binlog("log.000004", "d, turn 3", previous="u:1-7", folder=turn(3)),
        binlog("log.000005", "f, turn 3", previous="u:1-9,v:1-4", folder=turn(3)),
    ]
    order = place(listed, [])
    paths = [file.binlog.stored.path for file in order.placed]
    assert paths == [b.stored.path for b in listed]
    ordinals = [file.ordinal for file in order.placed]
    assert ordinals[:2] == [3, 4]
    assert ordinals[2] == 4 + ROOM + 1
    assert ordinals[3:] == [ordinals[2] + ROOM + 4, ordinals[2] + ROOM + 5]
    assert (order.faults, order.notes) == ((), ())


@pytest.mark.parametrize("reached", [0, 10_000])
def test_a_turn_continues_at_its_own_ordinals_and_a_new_one_after_all_others(
    reached: int, binlog: MakeBinlog, row: MakeRow
) -> None:
    second = 4 + ROOM + 1
    known = [
        row("log.000004", 4, "d", path="/logs/log.000004", previous_gtids="u:1-7"),
        row("log.000001", second, "e", path=f"{turn(2)}/log.000001", server_id=2),
    ]
    old = [
        binlog("log.000004", "d", previous="u:1-7", folder=turn(1)),
        binlog("log.000001", "e", previous="", server=2, folder=turn(2)),
    ]
    grown = binlog("log.000002", "g", previous="u:1-8", server=2, folder=turn(2))
    third = binlog("log.000005", "f", previous="u:1-9", folder=turn(3))
    order = place([*old, grown, third], known, reached)
    assert [file.ordinal for file in order.placed] == [4, second, second + 1, second + 6 + ROOM]
    assert [file.row for file in order.placed] == [*known, None, None]
    # The server of the last turn again, in the next one.
    again = binlog("log.000001", "e, turn 3", previous="", server=2, folder=turn(3))
    placed = place([*old, again], known, reached).placed
    assert [file.ordinal for file in placed] == [4, second, second + ROOM + 1]


@pytest.mark.parametrize("second", ["log.000002", "log.000003", "other.000003"])
def test_a_turn_may_follow_files_from_before_gtids_were_enabled(
    second: str, binlog: MakeBinlog, row: MakeRow
) -> None:
    """Whatever the number and the name of the next server's first file."""
    first = [
        binlog("log.000001", "a", previous="", gtid=None, folder=turn(1)),
        binlog("log.000002", "b", previous="", folder=turn(1)),
    ]
    later = binlog(second, "c", previous="u:1-5", server=2, folder=turn(2))
    own = first[0].number, first[1].number
    begun = 2 + ROOM + later.number
    assert [file.ordinal for file in place([*first, later], []).placed] == [*own, begun]
    known = [
        row("log.000001", 1, "a", path="/logs/log.000001", gtids=""),
        row("log.000002", 2, "b", path="/logs/log.000002", previous_gtids="", gtids="u:1-5"),
    ]
    assert [file.ordinal for file in place([*first, later], known).placed] == [*own, begun]
    path = f"{turn(2)}/{second}"
    known.append(row(second, begun, "c", path=path, previous_gtids="u:1-5", server_id=2))
    order = place([*first, later], known)
    assert ([file.row for file in order.placed], order.faults) == (known, ())
    # An older file that the lake lacks would be placed after all others, and be applied again.
    old = binlog("log.000000", "z", previous="", gtid=None, folder=turn(1))
    with pytest.raises(SettingsError, match="Without GTIDs, another server's log"):
        place([old, *first, later], known)


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        # (turn, number, whether it has GTIDs)
        ([(1, 1, True), (1, 2, False), (2, 1, True)], "/logs/log.000002 has no GTIDs"),
        ([(1, 1, True), (2, 1, False), (2, 2, True)], "turn-0002/log.000001 has no GTIDs"),
        ([(2, 1, True), (2, 2, False), (3, 1, True)], "turn-0002/log.000002 has no GTIDs"),
    ],
)
def test_a_failover_needs_gtids(
    turns: list[tuple[int, int, bool]], message: str, binlog: MakeBinlog
) -> None:
    listed = [
        binlog(
            f"log.{number:06}",
            f"{at} {number}",
            previous="u:1-5",
            gtid="u:6" if gtids else None,
            folder=turn(at),
        )
        for at, number, gtids in turns
    ]
    with pytest.raises(SettingsError, match=message):
        place(listed, [])
