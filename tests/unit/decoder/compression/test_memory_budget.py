"""Compressed events of a window are decompressed and released in parts."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pyarrow as pa
import pytest
import zstandard

from decoder import SegmentDecoder, TypeOptions
from decoder.compression import memory_budget as expansion
from decoder.constants import EventType
from decoder.model.results import Changes, Statements
from decoder.model.segment import Segment
from tests.support.decoder.event_bytes import (
    event_bytes,
    format_description,
    log_bytes,
    mariadb_compressed,
)
from tests.support.decoder.logs import (
    LONGTEXT,
    POT,
    Table,
    changed,
    decoded,
    faults,
    gtid,
    insert,
    payload,
    query,
    transaction,
    xid,
)

WIDE = Table(9, "wide", (LONGTEXT,))
TEXT = "a" * 1_000_000
COUNT = 24


def of_payloads(number: int) -> bytes:
    inner = query("BEGIN") + WIDE.map() + WIDE.rows((TEXT,)) + xid()
    return gtid(number) + payload(inner, compressed=zstandard.compress(inner))


def of_compressed_rows(number: int) -> bytes:
    kinds = EventType.WRITE_ROWS_V1, EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1
    return of_rows(*kinds, before_rows=19 + 8 + 1 + 1)


def of_compressed_rows_with_extra_data(number: int) -> bytes:
    kinds = EventType.WRITE_ROWS, EventType.MARIADB_WRITE_ROWS_COMPRESSED
    return of_rows(*kinds, before_rows=19 + 10 + 1 + 1)


def of_rows(plain: EventType, code: EventType, before_rows: int) -> bytes:
    rows = WIDE.rows((TEXT,), kind=plain)
    body = rows[19:before_rows] + mariadb_compressed(rows[before_rows:])
    return query("BEGIN") + WIDE.map() + event_bytes(code, body) + xid()


def of_compressed_statements(number: int) -> bytes:
    head = struct.pack("<IIBHH", 9, 0, 4, 0, 0) + b"shop\0"
    text = b"create table t (a int) /*" + TEXT.encode() + b"*/"
    return event_bytes(EventType.MARIADB_QUERY_COMPRESSED, head + mariadb_compressed(text))


def log_of(made: Callable[[int], bytes]) -> bytes:
    description = None if made is of_payloads else format_description("10.11.6-MariaDB-log", 0)
    events = (made(number) for number in range(1, COUNT + 1))
    return log_bytes(*events, **({"description": description} if description else {}))


MAKERS = [
    of_payloads,
    of_compressed_rows,
    of_compressed_rows_with_extra_data,
    of_compressed_statements,
]


@pytest.mark.parametrize("made", MAKERS, ids=lambda made: made.__name__)
def test_no_more_is_held_than_the_limit_and_one_event(
    made: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = log_of(made)
    monkeypatch.setattr(expansion, "LIMIT", 4 * len(TEXT))
    decoder = SegmentDecoder(Segment("binlog.000001", 1), TypeOptions())
    before, most, found = pa.total_allocated_bytes(), 0, 0
    for result in decoder.decode([log]):
        most = max(most, pa.total_allocated_bytes() - before)
        if isinstance(result, (Changes, Statements)):
            found += sum(len(TEXT) // 2 < len(str(row)) for row in result.batch.to_pylist())
        del result
    assert decoder.first_fault is None
    assert found == COUNT
    assert most < 16 * len(TEXT)


def test_no_event_is_lost_when_a_window_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "LIMIT", 0)
    inner = query("BEGIN") + insert(POT, (1,)) + xid()
    one = payload(inner, compressed=zstandard.compress(inner))
    log = log_bytes(*(gtid(n) + one + transaction(50 + n, insert(POT, (n,))) for n in range(9)))
    expected = [(after,) for n in range(9) for after in ((1,), (n,))]
    assert [(after,) for *_, after in changed(decoded(log))] == expected


@pytest.mark.parametrize("count", [1, 1000])
def test_gtids_inside_a_payload_are_a_fault(count: int) -> None:
    inner = query("BEGIN") + gtid(2) * count + insert(POT, (1,)) + xid()
    log = log_bytes(
        gtid(1),
        payload(inner, compressed=zstandard.compress(inner)),
        transaction(3, insert(POT, (7,))),
    )
    results = decoded(log)
    assert [after for *_, after in changed(results)] == [(7,)]
    (fault,) = faults(results)
    assert "not a sequence of events" in fault["reason"]
