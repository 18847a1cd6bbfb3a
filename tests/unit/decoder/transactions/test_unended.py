"""Transactions without an end or without a beginning: what a lost connection leaves in a log."""

from __future__ import annotations

import struct

import pytest

import decoder
from decoder import BinlogError, Segment, Segmenter
from decoder.constants import EventType
from decoder.model.results import Changes, Result
from tests.support.decoder.event_bytes import event_bytes, format_description, log_bytes
from tests.support.decoder.logs import (
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

BEGIN = query("BEGIN")
ROTATE = event_bytes(EventType.ROTATE, struct.pack("<Q", 4) + b"binlog.000002")
STOP = event_bytes(EventType.STOP, b"")
RECONNECT = ROTATE + format_description()
ROWS_QUERY = event_bytes(EventType.ROWS_QUERY, b"\x06INSERT")
XA_PREPARE = event_bytes(EventType.XA_PREPARE, struct.pack("<BIII", 0, 1, 1, 0) + b"x")
ANONYMOUS = event_bytes(EventType.ANONYMOUS_GTID, b"\x01" + bytes(24) + b"\x02" + bytes(16))
UNNAMED = BEGIN + insert(POT, (1,))
TORN = gtid(1) + UNNAMED
AGAIN = transaction(1, insert(POT, (1,)), insert(POT, (2,)))
OTHER = transaction(2, insert(POT, (3,)))


def mariadb_gtid(number: int, flags: int = 0) -> bytes:
    body = struct.pack("<QIB", number, 0, flags)
    return event_bytes(EventType.MARIADB_GTID, body.ljust(19, b"\0"))


def committed(results: list[Result]) -> list[object]:
    """Return the committed values of `POT`, in the order of the log."""
    ended = {row["__lsn"]: row for row in transactions(results) if row["commit_lsn"] is not None}
    found = []
    for result in results:
        for row in result.batch.to_pylist() if isinstance(result, Changes) else ():
            spans = ended[row["__lsn"]]["rolled_back"] if row["__lsn"] in ended else [{"start": 0}]
            if not any(span["start"] <= row["__pos"] for span in spans or ()):
                found.append((row["__lsn"], row["__pos"], *row["after"].values()))
    return [value for *_, value in sorted(found)]


@pytest.mark.parametrize(
    ("log", "rows"),
    [
        (TORN + OTHER, [3]),
        (TORN + AGAIN, [1, 2]),
        (TORN + TORN + AGAIN, [1, 2]),
        (TORN + RECONNECT + AGAIN + OTHER, [1, 2, 3]),
        (TORN + RECONNECT + insert(POT, (2,)) + xid(), [1, 2]),
        (gtid(1) + BEGIN + POT.map() + RECONNECT + POT.rows((1,)) + xid(), [1]),
        (gtid(1) + BEGIN + POT.map() + POT.rows((1,), end=False) + RECONNECT + AGAIN, [1, 2]),
        (TORN, []),
        (TORN + STOP, []),
        (OTHER + TORN + ROTATE, [3]),
        (TORN + STOP + format_description() + OTHER, [3]),
        (gtid(1) + gtid(1) + payload(BEGIN + insert(POT, (1,)) + xid()), [1]),
        (
            ANONYMOUS + BEGIN + insert(POT, (1,)) + ANONYMOUS + BEGIN + insert(POT, (2,)) + xid(),
            [2],
        ),
        (UNNAMED + BEGIN + insert(POT, (2,)) + xid(), [2]),
        (gtid(1) + query("XA START X'01',X'',1") + insert(POT, (1,)) + OTHER, [3]),
        (mariadb_gtid(1) + insert(POT, (1,)) + mariadb_gtid(1) + insert(POT, (2,)) + xid(), [2]),
        (
            mariadb_gtid(1)
            + insert(POT, (1,))
            + mariadb_gtid(2, 1)
            + query("CREATE TABLE t (a INT)"),
            [],
        ),
    ],
)
def test_rows_of_a_transaction_that_never_ended_are_rolled_back(
    log: bytes, rows: list[int]
) -> None:
    """As a replica applies them: the next transaction, often the same again, rolls it back."""
    results = decoded(log_bytes(log))
    assert not faults(results)
    assert committed(results) == rows


def in_segments(log: bytes, target: int, limit: int) -> list[Result]:
    """Return the results of all segments of a log."""
    segmenter = Segmenter(target=target, limit=limit)
    segmenter.feed(log)
    segmenter.finish()
    results = []
    for one in segmenter.segments:
        place = Segment("", 0, one.start.position, one.transaction_pos, one.preamble)
        results += decoded(log[one.start.position : one.end.position], place)
    return results


@pytest.mark.parametrize("limit", [1, 1 << 30])
@pytest.mark.parametrize("target", [1, 100, 200, 300])
@pytest.mark.parametrize("log", [TORN + AGAIN + OTHER, OTHER + TORN + TORN + RECONNECT + AGAIN])
def test_segments_agree_on_a_transaction_that_never_ended(
    log: bytes, target: int, limit: int
) -> None:
    """Wherever they are divided, some segment knows how it ended."""
    whole = decoded(log_bytes(log), Segment("", 0))
    results = in_segments(log_bytes(log), target, limit)
    assert committed(results) == committed(whole)
    ends = [(row["__lsn"], row["end_pos"], row["rolled_back"]) for row in transactions(whole)]
    found = [row for row in transactions(results) if row["commit_lsn"] is not None]
    assert [(row["__lsn"], row["end_pos"], row["rolled_back"]) for row in found] == ends


def test_no_segment_ends_before_the_next_transaction_shows_that_one_never_ended() -> None:
    start = len(log_bytes(OTHER))
    growing = log_bytes(OTHER, TORN, gtid(1), BEGIN)
    segmenter = Segmenter(target=1, limit=1)
    segmenter.feed(growing)
    segmenter.finish()
    assert segmenter.boundary.position == start
    rest = Segmenter(target=1, limit=1 << 30, stored=segmenter.boundary)
    rest.feed(log_bytes(OTHER, TORN, AGAIN))
    rest.finish()
    (segment,) = rest.segments
    assert (segment.start.position, segment.transaction_pos) == (start, None)


@pytest.mark.parametrize(
    "rest",
    [
        insert(POT, (1,)) + insert(POT, (2,)) + xid(),
        POT.rows((1,)) + xid(),
        ROWS_QUERY + insert(POT, (1,)) + xid(),
        insert(POT, (1,)) + query("COMMIT"),
        XA_PREPARE,
        query("COMMIT"),
        xid(),
    ],
)
def test_a_transaction_whose_beginning_is_in_an_earlier_file_is_a_fault(rest: bytes) -> None:
    """A relay log continues it after a reconnect: what came before may concern any table."""
    data = log_bytes(OTHER, RECONNECT, rest, transaction(3, insert(POT, (4,))))
    results = decoded(data)
    (fault,) = faults(results)
    assert fault["__pos"] == len(log_bytes(OTHER, RECONNECT))
    assert "the transaction began before this file" in str(fault["reason"])
    assert fault["tables"] is None
    assert committed(results) == [3, 4]
    with pytest.raises(BinlogError, match="the transaction began before this file"):
        list(decoder.read(data))


@pytest.mark.parametrize(
    "log",
    [
        ANONYMOUS + query("XA COMMIT X'01',X'',1"),
        query("CREATE TABLE t (a INT)"),
        query("ROLLBACK"),
        payload(BEGIN + insert(POT, (1,)) + xid()),
    ],
)
def test_what_needs_no_beginning_is_no_fault(log: bytes) -> None:
    assert not faults(decoded(log_bytes(log)))


@pytest.mark.parametrize("limit", [1, 1 << 30])
def test_rows_without_a_begin_are_committed_before_mysql_5_5(limit: int) -> None:
    old = format_description("5.1.73-log", None)
    log = log_bytes(insert(POT, (1,)), insert(POT, (2,)), description=old)
    results = in_segments(log, 1, limit)
    assert not faults(results)
    assert committed(results) == [1, 2]
