"""Transactions of another server's log: which the lake already has, and when new ones apply."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pipeline.bronze.executed_gtids import ExecutedGtids
from pipeline.bronze.tables import FileRow
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef
from pipeline.silver.plan.new_segments import (
    AvailableSegments,
    available_segments,
    contiguous,
    late_transactions,
)
from pipeline.source import GtidSet
from tests.support.bronze.bronze_rows import file_row


def ref(ordinal: int, gtids: str, start: int = 0, **fields: Any) -> SegmentRef:
    name = f"log.{ordinal:06}"
    return SegmentRef(name, ordinal, start, start + 100, 1, GtidSet.of(gtids), **fields)


def rows(*files: FileRow) -> dict[int, FileRow]:
    return {row.ordinal: row for row in files}


FIRST = file_row("log.000001", 1, previous_gtids="", gtids="u:1-9", complete=False, state="open")
"""The lake's first log: one file, which is never closed."""


def available(
    files: dict[int, FileRow],
    *refs: SegmentRef,
    mark: FilePosition | None = None,
    executed: ExecutedGtids | None = None,
    given_up: tuple[int, ...] = (),
) -> AvailableSegments:
    state = executed or ExecutedGtids()
    return available_segments(contiguous(refs, files, mark, given_up, state), files, given_up)


def test_a_server_s_own_log_has_no_seen_transactions() -> None:
    files = rows(
        file_row("log.000005", 5, previous_gtids="u:1-4,0-1-3"),
        file_row("log.000006", 6, previous_gtids="u:1-9,0-1-3"),
    )
    found = available(files, ref(5, "u:5-9"), ref(6, "u:10:3,0-1-2"))
    assert (found.seen, found.gaps, len(found.segments)) == ({}, (), 2)
    assert str(found.executed.gtids) == "u:1-10,0-1-3"


FAILOVER = rows(
    FIRST,
    file_row("log.000003", 6, server_id=2, previous_gtids="u:1-4"),
    file_row("log.000004", 7, server_id=2, previous_gtids="u:1-8"),
)
"""v has u's transactions, and continues with its own and u's."""
REFS = [
    ref(1, "u:1-9"),
    *(ref(6, "u:5-8"), ref(7, "u:9,v:1"), ref(7, "", 100, continues=True)),
    ref(7, "u:10-11,v:2", 200),
]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_only_new_transactions_of_another_server_s_log_are_applied(runs: int) -> None:
    seen: dict[FilePosition, str] = {}
    mark, executed = None, ExecutedGtids()
    for stop in {1: (5,), 2: (1, 5), 3: (1, 2, 5)}[runs]:
        part = [r for r in REFS[:stop] if mark is None or r.place >= mark]
        found = available(FAILOVER, *part, mark=mark, executed=executed)
        assert found.gaps == ()
        seen |= found.seen
        mark, executed = found.end, found.executed
    # a segment that begins within a transaction does not list its GTID
    assert seen == {(6, 0): "u:5-8", (7, 0): "u:9", (7, 100): "u:9"}
    assert str(executed.gtids) == "u:1-11,v:1-2"
    assert str(executed.seen) == "u:1-9"


@pytest.mark.parametrize(
    ("size", "ends"),
    # segments have 100 bytes; the third of the second log begins within a transaction, and after
    # its first that log has not contained u:9 yet
    [(1, [1, 4, 5]), (150, [4, 5]), (450, [5]), (1000, [5])],
)
def test_portions_end_with_a_transaction_and_continue(size: int, ends: list[int]) -> None:
    whole = available(FAILOVER, *REFS)
    taken: list[SegmentRef] = []
    found: list[int] = []
    seen: dict[FilePosition, str] = {}
    mark, executed, more = None, ExecutedGtids(), True
    while more:
        part = available(FAILOVER, *REFS[len(taken) :], mark=mark, executed=executed).portion(size)
        mark, executed, more = part.end, part.executed, part.more
        taken += part.segments
        seen |= part.seen
        found.append(len(taken))
    assert found == ends
    assert (tuple(taken), seen, executed) == (whole.segments, whole.seen, whole.executed)


def test_a_portion_does_not_report_later_gaps() -> None:
    files = rows(FIRST, file_row("log.000003", 3, previous_gtids="u:1-9"))
    found = available(files, ref(1, "u:1-4"), ref(1, "u:5-9", 100), ref(3, "u:10"))
    assert len(found.segments) == 2
    assert len(found.gaps) == 1
    assert found.portion(1).gaps == ()
    assert found.portion(200).gaps == found.gaps


B = file_row("b.000001", 3, server_id=2, previous_gtids="")


@pytest.mark.parametrize(
    ("files", "refs", "taken", "gap"),
    [
        # a replica that lags behind adds nothing, and lacks nothing
        ([B], [ref(3, "u:1-4")], 2, None),
        # one set up from a copy, which its log does not record
        ([B], [ref(3, "u:7-12")], 2, None),
        # one with changes of its own whose log lacks some
        ([B], [ref(3, "u:1-4"), ref(3, "v:1", 100)], 2, "v:1, but its server's log lacks u:5-9"),
        ([B], [ref(3, "v:1"), ref(3, "u:1-9", 100)], 3, None),
        ([B], [ref(3, "v:1")], 1, "server's log lacks u:1-9"),
        # transactions without GTIDs, before and after the log has all
        ([B], [ref(3, "u:1-4", unnamed=True)], 1, "transactions without GTIDs"),
        ([B], [ref(3, "u:1-9"), ref(3, "", 100, unnamed=True)], 3, None),
        # GTIDs that are missing
        ([replace(B, previous_gtids="u:1-12,w:t:4")], [ref(3, "u:13")], 1, "u:10-12,w:t:4"),
        ([replace(B, previous_gtids=None)], [ref(3, "u:13")], 1, "it cannot be determined"),
    ],
)  # fmt: skip
def test_undeterminable_transactions_wait_and_are_reported(
    files: list[FileRow], refs: list[SegmentRef], taken: int, gap: str | None
) -> None:
    known = rows(FIRST, *files)
    found = available(known, ref(1, "u:1-9"), *refs)
    assert len(found.segments) == taken
    assert len(found.gaps) == (gap is not None)
    assert (gap or "") in "".join(found.gaps)
    assert "add file number 1 to given_up" in "".join(found.gaps) or gap is None
    given_up = available(known, ref(1, "u:1-9"), *refs, given_up=(1,))
    assert len(given_up.segments) == 1 + len(refs)
    assert len(given_up.given_up) == (gap is not None)


def test_gtids_start_again_after_a_reset() -> None:
    files = rows(replace(FIRST, complete=True))
    files |= rows(file_row("log.000001", 2, "b", previous_gtids="", gtids="u:1-3"))
    found = available(files, ref(1, "u:1-9"), ref(2, "u:1-3"))
    assert (found.seen, found.gaps) == ({}, ())
    assert str(found.executed.gtids) == "u:1-3"


def test_mariadb_s_transactions_are_identified_by_domain_and_server() -> None:
    files = rows(
        file_row("m.000001", 1, previous_gtids="", gtids="0-1-9,1-1-4"),
        file_row("m.000001", 3, "b", server_id=2, previous_gtids=""),
    )
    found = available(files, ref(1, "0-1-9,1-1-4"), ref(3, "0-1-12,1-1-4,0-2-5"))
    assert found.seen == {(3, 0): "0-1-9,1-1-4"}
    assert found.gaps == ()
    lagging = available(files, ref(1, "0-1-9,1-1-4"), ref(3, "0-1-12"))
    assert "lacks 1-1-4 and earlier in domain 1" in lagging.gaps[0]


@pytest.mark.parametrize(
    ("segments", "taken", "gap"),
    [
        # promoted without 0-1-101 to 105: its numbers are below the lake's last, or above
        (["0-2-103", "0-2-140"], 1, "0-2-103, but its server's log lacks 0-1-105"),
        (["0-2-140"], 1, "0-2-140, but its server's log lacks 0-1-105"),
        (["0-1-104", "0-2-140"], 2, "0-2-140, but its server's log lacks 0-1-105"),
        # promoted with all of them
        (["0-1-105,0-2-106", "0-2-140"], 3, ""),
        # it lags behind, and has nothing of its own
        (["0-1-103"], 2, ""),
    ],
)
def test_transactions_that_mariadb_lost_in_a_failover_are_reported(
    segments: list[str], taken: int, gap: str
) -> None:
    files = rows(
        file_row("m.000001", 1, previous_gtids="", gtids="0-1-105"),
        file_row("n.000001", 3, "b", server_id=2, previous_gtids="0-1-100"),
    )
    refs = [ref(3, gtids, 100 * n) for n, gtids in enumerate(segments)]
    found = available(files, ref(1, "0-1-105"), *refs)
    assert len(found.segments) == taken
    assert gap in "".join(found.gaps)
    assert bool(found.gaps) is bool(gap)


def test_late_transactions_of_a_file_are_reported_until_the_next_log_has_them() -> None:
    grown = replace(FIRST, gtids="u:1-11")
    files = rows(grown, B)
    found = available(files, ref(1, "u:1-9"), ref(3, "u:1-9"))
    (message,) = late_transactions(files, found.end, found.executed)
    late = "log.000001 now also contains u:10-11, but the lake already continues with b.000001"
    assert late in message
    more = available(files, ref(3, "u:10-11", 100), mark=found.end, executed=found.executed)
    assert (more.seen, list(late_transactions(files, more.end, more.executed))) == ({}, [])
    assert list(late_transactions(files, None, ExecutedGtids())) == []
