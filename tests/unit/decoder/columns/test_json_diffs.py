"""JSON diffs to text: operations, paths and values as logged, and malformed bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from decoder.columns.cells import CellError
from decoder.columns.json_diffs import read_json_diffs
from tests.support.decoder.binary_json import encode
from tests.support.decoder.cells import cells
from tests.support.decoder.event_bytes import length_encoded

NAMES = ("replace", "insert", "remove")


def diff(operation: int, path: str, value: Any = None) -> bytes:
    name = path.encode()
    stored = bytes([operation]) + length_encoded(len(name)) + name
    if operation == 2:
        return stored
    document = encode(value)
    return stored + length_encoded(len(document)) + document


def texts(stored: list[bytes]) -> list[str]:
    array = read_json_diffs(cells(stored))
    array.validate(full=True)
    found: list[str] = array.to_pylist()
    return found


DIFFS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.text(min_size=1, max_size=300),
        st.none() | st.integers(-9, 1 << 40) | st.text(max_size=300) | st.lists(st.booleans()),
    ),
    max_size=5,
)


@given(st.lists(DIFFS, min_size=1, max_size=5))
def test_every_diff_is_an_object_in_order(rows: list[list[tuple[int, str, Any]]]) -> None:
    expected = [
        [
            {"op": NAMES[operation], "path": path} | ({"value": value} if operation != 2 else {})
            for operation, path, value in row
        ]
        for row in rows
    ]
    found = texts([b"".join(diff(*item) for item in row) for row in rows])
    assert [json.loads(text) for text in found] == expected


@pytest.mark.parametrize("size", [250, 251, 65_535, 65_536, 70_000])
def test_reads_lengths_of_every_width(size: int) -> None:
    (text,) = texts([diff(0, "$." + "p" * size, "v" * size)])
    assert json.loads(text) == [{"op": "replace", "path": "$." + "p" * size, "value": "v" * size}]


FIRST = diff(1, "$.a[0]", [1, "two"])
GOOD = FIRST + diff(2, "$.b")


@pytest.mark.parametrize(
    "stored",
    [
        *(GOOD[:size] for size in range(1, len(GOOD)) if size != len(FIRST)),
        b"\x03" + GOOD[1:],
        b"\x02\x00",
        b"\x02\xfb",
        b"\x02\xff" + bytes(20),
        b"\x02\xfe" + b"\xff" * 8 + bytes(20),
        b"\x02\xfe\xff\xff\xff\xff\0\0\0\0" + bytes(20),
        b"\x02\x02\xff\xfe",
        diff(0, "$", 1)[:-3] + b"\x03\x63\0\0",
    ],
)  # fmt: skip
def test_a_malformed_diff_raises_for_its_row(stored: bytes) -> None:
    with pytest.raises(CellError) as caught:
        texts([GOOD, stored, GOOD])
    assert caught.value.row == 1


@settings(max_examples=100)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=4))
def test_any_bytes_decode_or_raise(stored: list[bytes]) -> None:
    try:
        found = texts(stored)
    except CellError as error:
        stored = stored[error.row : error.row + 1]
        with pytest.raises(CellError):
            texts(stored)
    else:
        assert [type(json.loads(text)) for text in found] == [list] * len(stored)
