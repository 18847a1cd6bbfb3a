"""PARTIAL_UPDATE_ROWS, images with absent columns, and rows events of early 5.1 versions."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from decoder.constants import EventType
from decoder.model.results import Changes
from tests.support.decoder.binary_json import encode
from tests.support.decoder.event_bytes import (
    POST_HEADER_LENGTHS,
    event_bytes,
    format_description,
    log_bytes,
)
from tests.support.decoder.logs import (
    CUP,
    INT,
    JSON,
    VARCHAR,
    Table,
    changed,
    decoded,
    faults,
    transaction,
)

DOCS = Table(5, "docs", (INT, JSON, VARCHAR, JSON))
DOCUMENT = encode({"a": 1})
TO_TWO = b"\x00\x03$.a" + bytes([len(encode(2))]) + encode(2)
REMOVED = b"\x02\x03$.a"


def head(table: Table, *bitmaps: bytes) -> bytes:
    """Return the bytes before the rows of a version 2 event."""
    start = struct.pack("<Q", table.table_id)[:6] + struct.pack("<HH", 1, 2)
    return start + bytes([len(table.columns)]) + b"".join(bitmaps)


def partial_update(*rows: bytes, table: Table = DOCS, after: bytes = b"\x0f") -> bytes:
    body = head(table, b"\x0f", after) + b"".join(rows)
    return event_bytes(EventType.PARTIAL_UPDATE_ROWS, body)


def row(before: tuple[Any, ...], shared: bytes, after: tuple[Any, ...]) -> bytes:
    return DOCS.image(before) + shared + DOCS.image(after)


def changes(log: bytes) -> list[dict[str, Any]]:
    results = decoded(log)
    assert not faults(results)
    return [r for c in results if isinstance(c, Changes) for r in c.batch.to_pylist()]


BEFORE = (1, DOCUMENT, "x", DOCUMENT)


def test_a_set_bit_marks_a_json_diff_in_its_row_only() -> None:
    log = log_bytes(
        transaction(
            1,
            DOCS.map(),
            partial_update(
                row(BEFORE, b"\0", (2, DOCUMENT, "y", None)),
                row(BEFORE, b"\1\1", (3, TO_TWO, "y", DOCUMENT)),
                row(BEFORE, b"\1\2", (4, DOCUMENT, "y", REMOVED)),
                row(BEFORE, b"\1\3", (5, TO_TWO, None, REMOVED + TO_TWO)),
                row(BEFORE, b"\1\0", (6, None, "y", DOCUMENT)),
            ),
        )
    )
    found = changes(log)
    replaced = '[{"op":"replace","path":"$.a","value":2}]'
    removed = '[{"op":"remove","path":"$.a"}]'
    both = '[{"op":"remove","path":"$.a"},{"op":"replace","path":"$.a","value":2}]'
    assert [change["__json_diff"] for change in found] == [
        None,
        [("c2", replaced)],
        [("c4", removed)],
        [("c2", replaced), ("c4", both)],
        None,
    ]
    whole = '{"a":1}'
    assert [tuple(change["after"].values()) for change in found] == [
        (2, whole, "y", None),
        (3, None, "y", whole),
        (4, whole, "y", None),
        (5, None, None, None),
        (6, None, "y", whole),
    ]
    assert {tuple(change["before"].values()) for change in found} == {(1, whole, "x", whole)}
    assert {change["__op"] for change in found} == {"update"}
    assert [change["__absent_after"] for change in found] == [None] * 5


def test_absent_json_columns_have_a_bit_too() -> None:
    image = Table(5, "docs", (INT, VARCHAR, JSON)).image((3, "y", REMOVED))
    update = partial_update(DOCS.image(BEFORE) + b"\1\2" + image, after=b"\x0d")
    (change,) = changes(log_bytes(transaction(1, DOCS.map(), update)))
    assert change["__json_diff"] == [("c4", '[{"op":"remove","path":"$.a"}]')]
    assert change["__absent_after"] == ["c2"]
    assert tuple(change["after"].values()) == (3, None, "y", None)


def test_partial_and_plain_updates_of_a_table_mix() -> None:
    plain = DOCS.rows(BEFORE, (9, None, None, None), kind=EventType.UPDATE_ROWS, end=False)
    update = partial_update(row(BEFORE, b"\1\1", (3, TO_TWO, "y", DOCUMENT)))
    found = changes(log_bytes(transaction(1, DOCS.map(), plain, update, plain, update)))
    found.sort(key=lambda change: change["__pos"])
    assert [change["after"]["c1"] for change in found] == [9, 3, 9, 3]
    assert [bool(change["__json_diff"]) for change in found] == [False, True, False, True]


def test_more_partial_updates_than_a_block_holds() -> None:
    rows = [row((n, *BEFORE[1:]), b"\1\1", (n, TO_TWO, "y", DOCUMENT)) for n in range(9000)]
    events = [partial_update(*rows[k : k + 1000]) for k in range(0, 9000, 1000)]
    found = changes(log_bytes(transaction(1, DOCS.map(), *events)))
    assert sorted(change["after"]["c1"] for change in found) == list(range(9000))
    assert all(len(change["__json_diff"]) == 1 for change in found)


@pytest.mark.parametrize(
    ("shared", "json"),
    [
        (b"\x02\x01", DOCUMENT),  # an unknown option
        (b"\xfc\x01\x00\x01", DOCUMENT),  # more options than one byte
        (b"\1\1", b"\x09\x01$"),  # an invalid operation
        (b"\1\1", DOCUMENT),  # a document instead of a diff
        (b"\0", TO_TWO),  # a diff instead of a document
    ],
)
def test_contradictions_are_a_fault(shared: bytes, json: bytes) -> None:
    update = partial_update(row(BEFORE, shared, (3, json, "y", DOCUMENT)))
    sound = transaction(2, DOCS.map(), DOCS.rows(BEFORE))
    results = decoded(log_bytes(transaction(1, DOCS.map(), update), sound))
    (fault,) = faults(results)
    assert (fault["kind"], fault["tables"]) == ("undecodable", ["shop.docs"])
    assert len(changed(results)) == 1


WHOLE = partial_update(row(BEFORE, b"\1\1", (3, TO_TWO, "y", DOCUMENT)))


@pytest.mark.parametrize("size", range(20, len(WHOLE)))
def test_a_truncated_partial_update_yields_no_row(size: int) -> None:
    update = WHOLE[:9] + struct.pack("<I", size) + WHOLE[13:size]
    results = decoded(log_bytes(transaction(1, DOCS.map(), update)))
    assert not changed(results)


def test_absent_columns_are_listed() -> None:
    update = event_bytes(
        EventType.UPDATE_ROWS,
        head(CUP, b"\x01", b"\x02")
        + Table(7, "cup", (INT,)).image((1,))
        + Table(7, "cup", (VARCHAR,)).image(("b",)),
    )
    insert = event_bytes(
        EventType.WRITE_ROWS, head(CUP, b"\x02") + Table(7, "cup", (VARCHAR,)).image((None,)) * 2
    )
    delete = event_bytes(
        EventType.DELETE_ROWS, head(CUP, b"\x01") + Table(7, "cup", (INT,)).image((1,))
    )
    found = changes(log_bytes(transaction(1, CUP.map(), insert, update, delete)))
    found.sort(key=lambda change: (change["__pos"], change["__row"]))
    assert [
        (change["__op"], change["__absent_before"], change["__absent_after"]) for change in found
    ] == [
        ("insert", None, ["c1"]),
        ("insert", None, ["c1"]),
        ("update", ["c2"], ["c1"]),
        ("delete", ["c2"], None),
    ]
    assert [change["after"] and tuple(change["after"].values()) for change in found] == [
        (None, None),
        (None, None),
        (None, "b"),
        None,
    ]


SHORT_IDS = bytes([*POST_HEADER_LENGTHS[:18], 6, *([6] * 6), *POST_HEADER_LENGTHS[25:]])
PRE_GA = (
    EventType.PRE_GA_WRITE_ROWS,
    EventType.PRE_GA_UPDATE_ROWS,
    EventType.PRE_GA_DELETE_ROWS,
)
VERSION_1 = (EventType.WRITE_ROWS_V1, EventType.UPDATE_ROWS_V1, EventType.DELETE_ROWS_V1)


@pytest.mark.parametrize("kinds", [PRE_GA, VERSION_1], ids=["pre-GA", "version 1"])
@pytest.mark.parametrize("id_size", [4, 6])
def test_rows_events_of_5_1(kinds: tuple[EventType, ...], id_size: int) -> None:
    """The post-header length determines that of table ids; pre-GA events have one bitmap."""
    number = struct.pack("<Q", CUP.table_id)[:id_size]
    first, second = CUP.image((1, "a")), CUP.image((2, None))
    bitmaps = b"\x03" * (1 if kinds is PRE_GA else 2)
    events = [
        event_bytes(EventType.TABLE_MAP, number + CUP.map()[19 + 6 :]),
        event_bytes(kinds[0], number + struct.pack("<H", 0) + b"\x02\x03" + first + second),
        event_bytes(kinds[1], number + struct.pack("<H", 0) + b"\x02" + bitmaps + first + second),
        event_bytes(kinds[2], number + struct.pack("<H", 1) + b"\x02\x03" + second),
    ]
    lengths = SHORT_IDS if id_size == 4 else POST_HEADER_LENGTHS
    description = format_description("5.1.5", None, lengths)
    results = decoded(log_bytes(transaction(1, *events), description=description))
    assert not faults(results)
    assert changed(results) == [
        ("cup", "insert", None, (1, "a")),
        ("cup", "insert", None, (2, None)),
        ("cup", "update", (1, "a"), (2, None)),
        ("cup", "delete", (2, None), None),
    ]
