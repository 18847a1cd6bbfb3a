"""What of another server's log was in the lake before, and when what is new in it may go in."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pipeline.bronze.executed_gtids import Executed
from pipeline.bronze.files import FileRow
from pipeline.silver.decode.segments import Mark, SegmentRef, contiguous
from pipeline.silver.plan.seen_before import Recognised, left_behind, recognise
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row


def ref(ordinal: int, gtids: str, start: int = 0, **fields: Any) -> SegmentRef:
    name = f"log.{ordinal:06}"
    return SegmentRef(name, ordinal, start, start + 100, 1, GtidSet.of(gtids), **fields)


def rows(*files: FileRow) -> dict[int, FileRow]:
    return {row.ordinal: row for row in files}


FIRST = file_row("log.000001", 1, previous_gtids="", gtids="u:1-9", complete=False, state="open")
"""The lake's first log: one file, which is open for ever."""


def recognised(
    files: dict[int, FileRow],
    *refs: SegmentRef,
    mark: Mark | None = None,
    executed: Executed | None = None,
    given_up: tuple[int, ...] = (),
) -> Recognised:
    state = executed or Executed()
    return recognise(contiguous(refs, files, mark, given_up, state), files, given_up)


def test_in_the_servers_own_log_nothing_was_there_before() -> None:
    files = rows(
        file_row("log.000005", 5, previous_gtids="u:1-4,0-1-3"),
        file_row("log.000006", 6, previous_gtids="u:1-9,0-1-3"),
    )
    found = recognised(files, ref(5, "u:5-9"), ref(6, "u:10:3,0-1-2"))
    assert (found.seen, found.gaps, len(found.segments)) == ({}, (), 2)
    assert str(found.executed.gtids) == "u:1-10,0-1-3"
    assert Executed.from_dict(json.loads(json.dumps(found.executed.to_dict()))) == found.executed


FAILOVER = rows(
    FIRST,
    file_row("log.000003", 6, server_id=2, previous_gtids="u:1-4"),
    file_row("log.000004", 7, server_id=2, previous_gtids="u:1-8"),
)
"""v has u's transactions, and goes on with its own and with u's."""
REFS = [
    ref(1, "u:1-9"),
    *(ref(6, "u:5-8"), ref(7, "u:9,v:1"), ref(7, "", 100, continues=True)),
    ref(7, "u:10-11,v:2", 200),
]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_another_servers_log_goes_in_but_for_what_was_there(runs: int) -> None:
    seen: dict[Mark, str] = {}
    mark, executed = None, Executed()
    for stop in {1: (5,), 2: (1, 5), 3: (1, 2, 5)}[runs]:
        part = [r for r in REFS[:stop] if mark is None or r.place >= mark]
        found = recognised(FAILOVER, *part, mark=mark, executed=executed)
        assert found.gaps == ()
        seen |= found.seen
        mark, executed = found.end, found.executed
    # a segment that begins inside of a transaction does not name it
    assert seen == {(6, 0): "u:5-8", (7, 0): "u:9", (7, 100): "u:9"}
    assert str(executed.gtids) == "u:1-11,v:1-2"
    assert str(executed.seen) == "u:1-9"


@pytest.mark.parametrize(
    ("size", "ends"),
    # segments are of 100 bytes; the third of the second log begins inside of a transaction, and
    # behind its first it has not shown u:9 yet
    [(1, [1, 4, 5]), (150, [4, 5]), (450, [5]), (1000, [5])],
)
def test_a_portion_ends_with_a_transaction_and_the_next_goes_on(size: int, ends: list[int]) -> None:
    whole = recognised(FAILOVER, *REFS)
    taken: list[SegmentRef] = []
    found: list[int] = []
    seen: dict[Mark, str] = {}
    mark, executed, more = None, Executed(), True
    while more:
        part = recognised(FAILOVER, *REFS[len(taken) :], mark=mark, executed=executed).portion(size)
        mark, executed, more = part.end, part.executed, part.more
        taken += part.segments
        seen |= part.seen
        found.append(len(taken))
    assert found == ends
    assert (tuple(taken), seen, executed) == (whole.segments, whole.seen, whole.executed)


def test_a_portion_tells_no_gap_before_it_is_reached() -> None:
    files = rows(FIRST, file_row("log.000003", 3, previous_gtids="u:1-9"))
    found = recognised(files, ref(1, "u:1-4"), ref(1, "u:5-9", 100), ref(3, "u:10"))
    assert len(found.segments) == 2
    assert len(found.gaps) == 1
    assert found.portion(1).gaps == ()
    assert found.portion(200).gaps == found.gaps


B = file_row("b.000001", 3, server_id=2, previous_gtids="")


@pytest.mark.parametrize(
    ("files", "refs", "taken", "gap"),
    [
        # a replica that lags behind brings nothing, and lacks nothing
        ([B], [ref(3, "u:1-4")], 2, None),
        # one that was set up from a copy, of which its log says nothing
        ([B], [ref(3, "u:7-12")], 2, None),
        # one with changes of its own that has not seen all
        ([B], [ref(3, "u:1-4"), ref(3, "v:1", 100)], 2, "v:1, of a server that has not seen u:5-9"),
        ([B], [ref(3, "v:1"), ref(3, "u:1-9", 100)], 3, None),
        ([B], [ref(3, "v:1")], 1, "has not seen u:1-9"),
        # transactions without GTIDs, before and after the log has all
        ([B], [ref(3, "u:1-4", unnamed=True)], 1, "transactions without GTIDs"),
        ([B], [ref(3, "u:1-9"), ref(3, "", 100, unnamed=True)], 3, None),
        # GTIDs that are missing
        ([replace(B, previous_gtids="u:1-12,w:t:4")], [ref(3, "u:13")], 1, "u:10-12,w:t:4"),
        ([replace(B, previous_gtids=None)], [ref(3, "u:13")], 1, "without GTIDs nothing tells"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_waits_and_is_named(
    files: list[FileRow], refs: list[SegmentRef], taken: int, gap: str | None
) -> None:
    known = rows(FIRST, *files)
    found = recognised(known, ref(1, "u:1-9"), *refs)
    assert len(found.segments) == taken
    assert len(found.gaps) == (gap is not None)
    assert (gap or "") in "".join(found.gaps)
    assert "name file number 1 under given_up" in "".join(found.gaps) or gap is None
    given_up = recognised(known, ref(1, "u:1-9"), *refs, given_up=(1,))
    assert len(given_up.segments) == 1 + len(refs)
    assert len(given_up.given_up) == (gap is not None)


def test_after_a_reset_gtids_begin_anew() -> None:
    files = rows(replace(FIRST, complete=True))
    files |= rows(file_row("log.000001", 2, "b", previous_gtids="", gtids="u:1-3"))
    found = recognised(files, ref(1, "u:1-9"), ref(2, "u:1-3"))
    assert (found.seen, found.gaps) == ({}, ())
    assert str(found.executed.gtids) == "u:1-3"


def test_mariadbs_transactions_are_known_by_domain_and_server() -> None:
    files = rows(
        file_row("m.000001", 1, previous_gtids="", gtids="0-1-9,1-1-4"),
        file_row("m.000001", 3, "b", server_id=2, previous_gtids=""),
    )
    found = recognised(files, ref(1, "0-1-9,1-1-4"), ref(3, "0-1-12,1-1-4,0-2-5"))
    assert found.seen == {(3, 0): "0-1-9,1-1-4"}
    assert found.gaps == ()
    behind = recognised(files, ref(1, "0-1-9,1-1-4"), ref(3, "0-1-12"))
    assert "has not seen 1-1-4 and earlier in domain 1" in behind.gaps[0]


@pytest.mark.parametrize(
    ("segments", "taken", "gap"),
    [
        # promoted without 0-1-101 to 105: its numbers are below the lake's last, or above
        (["0-2-103", "0-2-140"], 1, "0-2-103, of a server that has not seen 0-1-105"),
        (["0-2-140"], 1, "0-2-140, of a server that has not seen 0-1-105"),
        (["0-1-104", "0-2-140"], 2, "0-2-140, of a server that has not seen 0-1-105"),
        # promoted with them
        (["0-1-105,0-2-106", "0-2-140"], 3, ""),
        # it lags behind, and has nothing of its own
        (["0-1-103"], 2, ""),
    ],
)
def test_what_mariadb_lost_in_a_failover_is_named(
    segments: list[str], taken: int, gap: str
) -> None:
    files = rows(
        file_row("m.000001", 1, previous_gtids="", gtids="0-1-105"),
        file_row("n.000001", 3, "b", server_id=2, previous_gtids="0-1-100"),
    )
    refs = [ref(3, gtids, 100 * n) for n, gtids in enumerate(segments)]
    found = recognised(files, ref(1, "0-1-105"), *refs)
    assert len(found.segments) == taken
    assert gap in "".join(found.gaps)
    assert bool(found.gaps) is bool(gap)


def test_what_a_file_gets_after_another_log_went_on_behind_it_is_told_until_that_has_it() -> None:
    grown = replace(FIRST, gtids="u:1-11")
    files = rows(grown, B)
    found = recognised(files, ref(1, "u:1-9"), ref(3, "u:1-9"))
    (told,) = left_behind(files, found.end, found.executed)
    assert "log.000001 has grown by u:10-11 since b.000001" in told
    more = recognised(files, ref(3, "u:10-11", 100), mark=found.end, executed=found.executed)
    assert (more.seen, list(left_behind(files, more.end, more.executed))) == ({}, [])
    assert list(left_behind(files, None, Executed())) == []
