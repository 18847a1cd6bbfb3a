"""Rows with more text than one array can hold come in several batches; one such row is a fault."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from decoder.columns import arrays, compressed_columns
from decoder.constants import ColumnType as T, EventType
from decoder.model.results import Changes, Result
from tests.support.decoder.binary_json import encode
from tests.support.decoder.event_bytes import event_bytes, log_bytes, table_map
from tests.support.decoder.logs import (
    INT,
    JSON,
    LONGTEXT,
    Table,
    changed,
    decoded,
    faults,
    transaction,
    transactions,
)

LIMIT = 4000
NOTES = Table(4, "notes", (INT, LONGTEXT, LONGTEXT))
DOCS = Table(5, "docs", (INT, JSON))
ROWS = 37
TO_TWO = b"\x00\x03$.a" + bytes([len(encode(2))]) + encode(2)
DOCUMENT = encode({"a": "x" * 300})


def note(number: int) -> tuple[Any, ...]:
    """Return a row with some hundred bytes of text, or NULL."""
    return (number, None if number % 5 == 0 else f"{number} " * 150, f"<{number}>")


def diffs(number: int) -> bytes:
    """Return an update; every second one logs its document as a diff."""
    shared, after = (b"\1\1", TO_TWO) if number % 2 else (b"\0", DOCUMENT)
    return DOCS.image((number, DOCUMENT)) + shared + DOCS.image((number, after))


def partial(*rows: bytes) -> bytes:
    head = struct.pack("<Q", DOCS.table_id)[:6] + struct.pack("<HH", 1, 2) + b"\x02\x03\x03"
    return event_bytes(EventType.PARTIAL_UPDATE_ROWS, head + b"".join(rows))


NOTED = [note(number) for number in range(ROWS)]
PAIRS = [image for one, other in pairwise(NOTED) for image in (one, other)]
EVENTS = {
    "insert": [NOTES.map(), NOTES.rows(*NOTED)],
    "update": [NOTES.map(), NOTES.rows(*PAIRS, kind=EventType.UPDATE_ROWS)],
    "delete": [NOTES.map(), NOTES.rows(*NOTED, kind=EventType.DELETE_ROWS)],
    "partial update": [DOCS.map(), partial(*(diffs(number) for number in range(ROWS)))],
}


def rows_of(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return all rows, in order."""
    return [row for r in results if isinstance(r, Changes) for row in r.batch.to_pylist()]


def batches(results: Sequence[Result]) -> int:
    return sum(isinstance(result, Changes) for result in results)


@pytest.mark.parametrize("name", EVENTS)
def test_rows_come_in_several_batches_in_order(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    log = log_bytes(transaction(1, *EVENTS[name]))
    whole = decoded(log)
    monkeypatch.setattr(arrays, "LARGEST", LIMIT)
    halved = decoded(log)
    assert not faults(halved)
    assert rows_of(halved) == rows_of(whole)
    assert (batches(whole), batches(halved) >= 4) == (1, True)


def test_a_single_row_that_is_too_large_is_a_fault_of_its_transaction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrays, "LARGEST", LIMIT)
    large = (100, "x" * (LIMIT + 1), None)
    log = log_bytes(
        transaction(1, NOTES.map(), NOTES.rows(*NOTED)),
        transaction(2, NOTES.map(), NOTES.rows(note(1), large, note(2))),
        *(transaction(number, NOTES.map(), NOTES.rows(note(number))) for number in (3, 4, 5)),
    )
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["kind"], fault["tables"]) == ("unsupported", ["shop.notes"])
    assert f"{LIMIT + 1} bytes of text" in str(fault["reason"])
    assert fault["__lsn"] == transactions(results)[1]["__lsn"]
    assert [after for *_, after in changed(results)] == [*NOTED, note(3), note(4), note(5)]
    assert batches(results) < ROWS, "a row that is too large must not isolate all other rows"


def stored(text: str) -> bytes:
    value = b"\x82" + struct.pack(">H", len(text)) + zlib.compress(text.encode())
    return struct.pack("<H", len(value)) + value


def compressed_rows(*rows: tuple[int, bytes]) -> bytes:
    """Return a TABLE_MAP with a COMPRESSED column, and rows of it."""
    described = table_map([T.LONG, T.VARCHAR_COMPRESSED], struct.pack("<H", 60_001))
    images = b"".join(b"\xfc" + struct.pack("<i", number) + value for number, value in rows)
    body = struct.pack("<IHHH", 7, 0, 1, 2) + b"\x02\xff" + images
    return event_bytes(EventType.TABLE_MAP, described) + event_bytes(EventType.WRITE_ROWS, body)


def test_compressed_values_that_are_too_large_together_are_not_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(compressed_columns, "LARGEST", LIMIT)
    texts = [(number, f"{number} " * 200) for number in range(ROWS)]
    log = log_bytes(
        transaction(1, compressed_rows(*((n, stored(text)) for n, text in texts))),
        transaction(2, compressed_rows((100, stored("y")), (101, stored("y" * LIMIT)))),
        transaction(3, compressed_rows((102, stored("z")))),
    )
    results = decoded(log)
    (fault,) = faults(results)
    assert (fault["kind"], fault["tables"]) == ("unsupported", ["s.t"])
    assert fault["reason"] == "s.t: COMPRESSED values expand to more bytes than one array can hold"
    assert fault["__lsn"] == transactions(results)[1]["__lsn"]
    assert [after for *_, after in changed(results)] == [*texts, (102, "z")]


@pytest.mark.parametrize("at", [0, 9, 18, 19, ROWS - 1])
def test_a_malformed_value_among_them_is_a_fault_of_its_transaction(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(compressed_columns, "LARGEST", LIMIT)
    values = [stored(f"{number} " * 200) for number in range(ROWS)]
    values[at] = values[at][:-4] + b"????"
    results = decoded(
        log_bytes(*(transaction(n, compressed_rows((n, v))) for n, v in enumerate(values)))
    )
    (fault,) = faults(results)
    assert (fault["kind"], fault["__lsn"]) == ("undecodable", transactions(results)[at]["__lsn"])
    assert "cannot be decompressed" in str(fault["reason"])
    found = [after for *_, after in changed(results)]
    assert found == [(n, f"{n} " * 200) for n in range(ROWS) if n != at]
