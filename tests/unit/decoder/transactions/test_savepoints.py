"""Rows that ROLLBACK TO rolls back, including inside payloads and with earlier segments."""

from __future__ import annotations

from typing import Any

import pytest

from decoder import Segment, SegmentDecoder, Segmenter, TypeOptions
from decoder.constants import EventType
from decoder.model.results import Changes
from tests.support.decoder.event_bytes import format_description, log_bytes
from tests.support.decoder.logs import (
    CUP,
    POT,
    decoded,
    faults,
    gtid,
    insert,
    payload,
    query,
    transaction,
    transactions,
    xid,
)

LAYERS = [
    insert(POT, (1,), (2,)),
    query("SAVEPOINT `a`"),
    insert(POT, (3,)) + insert(CUP, (4, "x"), (5, "y")),
    query("SAVEPOINT b"),
    insert(POT, (6,)),
    query("ROLLBACK TO A"),
    insert(POT, (7,)),
]
KEPT = [1, 2, 7]


def left(results: list[Any]) -> list[int]:
    """Return the first values of the rows that are not rolled back."""
    rows = [
        r for result in results if isinstance(result, Changes) for r in result.batch.to_pylist()
    ]
    found = []
    for row in rows:
        (one,) = [t for t in transactions(results) if t["__lsn"] == row["__lsn"]] or [{}]
        spans = [("__pos", span) for span in one.get("rolled_back") or ()]
        spans += [("__row", span) for span in one.get("rolled_back_rows") or ()]
        if not any(span["start"] <= row[name] < span["end"] for name, span in spans):
            found.append(next(iter(row["after"].values())))
    return sorted(found)


@pytest.mark.parametrize("packed", [False, True])
def test_rows_after_the_savepoint_are_rolled_back(packed: bool) -> None:
    events = b"".join([query("BEGIN"), *LAYERS, xid()])
    other = b"".join([query("BEGIN"), insert(POT, (8,)), xid()])
    pack = payload if packed else bytes
    results = decoded(log_bytes(gtid(1), pack(events), gtid(2), pack(other)))
    assert not faults(results)
    assert left(results) == [*KEPT, 8]


def test_each_payload_numbers_its_own_rows() -> None:
    events = b"".join([query("BEGIN"), *LAYERS, xid()])
    results = decoded(log_bytes(*(gtid(n) + payload(events) for n in (1, 2, 3))))
    assert left(results) == sorted(3 * KEPT)
    spans = [row["rolled_back_rows"] for row in transactions(results)]
    assert spans == 3 * [[{"start": 2, "end": 6}]]


@pytest.mark.parametrize("target", [1, 60, 200, 400])
def test_a_savepoint_of_an_earlier_segment_is_in_the_preamble(target: int) -> None:
    log = log_bytes(transaction(1, *LAYERS), transaction(2, insert(POT, (8,))))
    segmenter = Segmenter(target=target, limit=target)
    segmenter.feed(log)
    segmenter.finish()
    assert len(segmenter.segments) > 2
    results: list[Any] = []
    for bounds in segmenter.segments:
        segment = Segment(
            "binlog.000001", 1, bounds.start.position, bounds.transaction_pos, bounds.preamble
        )
        unit = SegmentDecoder(segment, TypeOptions())
        results += unit.decode([log[bounds.start.position : bounds.end.position]])
    assert not faults(results)
    assert _left_of_parts(results) == [*KEPT, 8]


def _left_of_parts(results: list[Any]) -> list[int]:
    """Like `left`, with the spans of all parts of a transaction combined."""
    spans = [
        (part["__lsn"], span["start"], span["end"])
        for part in transactions(results)
        for span in part["rolled_back"] or ()
    ]
    rows = [
        r for result in results if isinstance(result, Changes) for r in result.batch.to_pylist()
    ]
    return sorted(
        next(iter(row["after"].values()))
        for row in rows
        if not any(lsn == row["__lsn"] and start <= row["__pos"] < end for lsn, start, end in spans)
    )


def test_an_unknown_savepoint_is_a_fault_of_its_tables() -> None:
    results = decoded(
        log_bytes(transaction(1, insert(POT, (1,)), query("ROLLBACK TO a")), transaction(2))
    )
    (fault,) = faults(results)
    assert fault["tables"] == ["shop.pot"]


def test_savepoints_end_with_their_transaction() -> None:
    results = decoded(
        log_bytes(
            transaction(1, query("SAVEPOINT a"), insert(POT, (1,))),
            transaction(2, insert(POT, (2,)), query("ROLLBACK TO a")),
        )
    )
    assert len(faults(results)) == 1


@pytest.mark.parametrize(
    ("version", "rows", "count"),
    [("5.1.73-log", True, 1), ("5.1.73-log", False, 0), ("5.5.62", True, 0)],
)
def test_a_rollback_from_before_5_5_with_rows_is_a_fault(
    version: str, rows: bool, count: int
) -> None:
    """Without a statement cache, which 5.5 added, a group also contained rows of MyISAM."""
    changed = POT.map() + POT.rows((1,), kind=EventType.WRITE_ROWS_V1)
    events = [query("BEGIN"), changed if rows else b"", query("ROLLBACK")]
    described = format_description(version, None)
    log = log_bytes(*events, query("BEGIN"), xid(), description=described)
    assert [fault["tables"] for fault in faults(decoded(log))] == count * [["shop.pot"]]
