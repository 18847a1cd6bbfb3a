"""Binary JSON to text: equal values, and no harm from malformed bytes."""

from __future__ import annotations

import base64
import json
import math
import struct
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given, settings, strategies as st

from decoder.columns.cells import CellError
from decoder.columns.json_values import LONGEST_SCALAR, MAXIMUM_DEPTH, WORST_EXPANSION
from decoder.constants import ColumnType as T
from tests.support.decoder.binary_json import Opaque, container, encode, length
from tests.support.decoder.cells import column, read, values
from tests.support.decoder.kernels import examples
from tests.support.decoder.stored import packed_decimal, printed_decimal, printed_time

JSON = column(T.JSON, length_bytes=4)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=12), inner, max_size=6)
    ),
    max_leaves=25,
)


def texts(documents: list[bytes | None]) -> list[str | None]:
    return values(JSON, documents)


def one(document: bytes) -> str:
    (text,) = texts([document])
    assert text is not None
    return text


def same(found: Any, expected: Any) -> bool:
    """True if equal, with the same types and the same sign of zero."""
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(same, found, expected))
        )
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[k], expected[k]) for k in expected)
    return type(found) is type(expected) and repr(found) == repr(expected)


@examples(100)
@given(st.lists(st.none() | DOCUMENTS.map(lambda d: [d]), min_size=1, max_size=5))
def test_documents_keep_their_values(documents: list[list[Any] | None]) -> None:
    found = texts([None if d is None else encode(d) for d in documents])
    for text, expected in zip(found, documents, strict=True):
        assert (text is None) == (expected is None)
        if text is not None:
            assert same(json.loads(text), expected)


@examples(100)
@given(SCALARS)
def test_a_scalar_is_a_document(value: Any) -> None:
    assert same(json.loads(one(encode(value))), value)


def test_an_empty_document_is_null() -> None:
    assert texts([b"", None]) == ["null", None]


@pytest.mark.parametrize(
    "value",
    [
        list(range(30000)),
        {f"key {n}": [n, str(n) * 3, {"n": n / 7}] for n in range(5000)},
        "é" * 100000,
        ["x" * 70000, 70000, -70000, 1 << 40, None, True, {"a": []}],
        {"k" * 60000: 1},
    ],
    ids=["array", "objects", "string", "mixed", "key"],
)
def test_large_containers_keep_their_values(value: Any) -> None:
    assert same(json.loads(one(encode(value))), value)


def test_text_larger_than_the_first_buffer() -> None:
    """Control characters take six times their bytes."""
    documents = ["\x01" * n for n in range(0, 3000, 40)]
    assert [json.loads(t or "") for t in texts([encode(d) for d in documents])] == documents


@examples(500)
@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**18), 10**18).map(float))
@example(5e-324)
@example(1.7976931348623157e308)
@example(2.2250738585072014e-308)
@example(9007199254740993.0)
@example(1e23)
@example(-0.0)
@example(0.1 + 0.2)
def test_doubles_are_shortest_and_round_trip(value: float) -> None:
    text = one(encode(value))
    assert math.copysign(1, float(text)) == math.copysign(1, value)
    assert float(text) == value
    assert "." in text or "e" in text
    assert significant(text) == significant(repr(value))


def significant(text: str) -> str:
    return text.lower().partition("e")[0].replace(".", "").replace("-", "").strip("0")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1.0"), (-0.0, "-0.0"), (100.25, "100.25"), (1e15, "1000000000000000.0"),
        (1e16, "1e16"), (1e22, "1e22"), (1.5e300, "1.5e300"), (5e-324, "5e-324"), (1e-4, "0.0001"),
        (1.5e-7, "1.5e-7"), (123456789012345680.0, "1.2345678901234568e17"),
        (1 / 3, "0.3333333333333333"),
    ],
)  # fmt: skip
def test_spelling_of_doubles(value: float, text: str) -> None:
    assert one(encode(value)) == text


@examples(60)
@given(st.integers(-(10**30), 10**30), st.integers(0, 30))
def test_decimals_are_numbers_with_all_their_digits(number: int, scale: int) -> None:
    data = bytes([31, scale]) + packed_decimal(number, 31, scale)
    text = one(encode(Opaque(T.NEWDECIMAL, data)))
    assert text == printed_decimal(number, scale)
    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == Decimal(
        printed_decimal(number, scale)
    )


DATETIME = ((2015 * 13 + 1) << 5 | 15) << 17 | 23 << 12 | 24 << 6 | 25


@pytest.mark.parametrize(
    ("kind", "packed", "text"),
    [
        (T.DATE, DATETIME >> 17 << 41, "2015-01-15"),
        (T.DATETIME, DATETIME << 24 | 120000, "2015-01-15 23:24:25.120000"),
        (T.TIMESTAMP, DATETIME << 24, "2015-01-15 23:24:25.000000"),
        (T.TIME, (23 << 12 | 24 << 6 | 25) << 24, "23:24:25.000000"),
        (T.TIME, -((838 << 12 | 59 << 6 | 59) << 24), printed_time(-3020399000000, 6)),
    ],
)
def test_dates_and_times_are_strings_with_microseconds(kind: T, packed: int, text: str) -> None:
    assert one(encode(Opaque(kind, struct.pack("<q", packed)))) == f'"{text}"'


@pytest.mark.parametrize("size", [0, 1, 2, 3, 56, 57, 58, 114, 300])
def test_other_types_are_base64_in_lines(size: int) -> None:
    data = bytes(n * 7 & 255 for n in range(size))
    lines = [data[at : at + 57] for at in range(0, size, 57)]
    encoded = "\\n".join(base64.b64encode(line).decode() for line in lines)
    assert one(encode(Opaque(T.VARCHAR, data))) == f'"base64:type15:{encoded}"'


def nested(depth: int) -> Any:
    document: Any = 1
    for _ in range(depth):
        document = [document]
    return document


def test_documents_nested_too_deep_are_malformed() -> None:
    assert one(encode(nested(MAXIMUM_DEPTH))) == "[" * MAXIMUM_DEPTH + "1" + "]" * MAXIMUM_DEPTH
    with pytest.raises(CellError, match="deeper"):
        texts([encode(nested(MAXIMUM_DEPTH + 1))])


def bomb(depth: int) -> bytes:
    """Return nested arrays of two values that share their bytes: 2**depth values of text."""
    data = b"\x01x"
    kind = 12
    for _ in range(depth):
        size = 10 + len(data)
        entry = bytes([kind]) + struct.pack("<H", 10)
        data = struct.pack("<HH", 2, size) + entry * 2 + data
        kind = 2
    return bytes([kind]) + data


def test_values_that_share_bytes_cannot_expand_without_bound() -> None:
    with pytest.raises(CellError, match="longer than its bytes"):
        texts([encode(1), bomb(90)])


MALFORMED = [
    (b"\x0c", "outside"),
    (b"\x0c\x05abc", "outside"),
    (b"\x0c\xff\xff\xff\xff\xff\x01", "outside"),
    (b"\x05\x01", "outside"),
    (b"\x0b" + bytes(7), "outside"),
    (b"\x0d\x01", "type"),
    (b"\x42", "type"),
    (b"\x04\x03", "literal"),
    (b"\x0b" + struct.pack("<d", math.inf), "finite"),
    (b"\x0b" + struct.pack("<d", math.nan), "finite"),
    (b"\x0c\x02\xc3\x28", "UTF-8"),
    (b"\x0c\x01\xc3", "UTF-8"),
    (b"\x02\x01\x00\xff\x00\x05\x01\x00", "outside"),
    (b"\x02\xff\xff\x07\x00\x05\x01\x00", "outside"),
    (b"\x02\x01\x00\x07\x00\x0c\x00\x00", "outside"),
    (b"\x02\x01\x00\x07\x00\x02\x00\x00", "outside"),
    (b"\x00\x01\x00\x0b\x00\xff\x00\x01\x00\x05\x01\x00", "outside"),
    (b"\x0f\xf6", "outside"),
    (b"\x0f\xf6\x02\x0a\x0b", "not a decimal"),
    (b"\x0f\xf6\x03\x04\x02\xff", "outside"),
    (b"\x0f\xf6\x04\x04\x02\xff\xff", "not a decimal"),
    (b"\x0f\x0a\x04\x00\x00\x00\x00", "outside"),
    (b"\x0f\x0a\x08" + b"\xff" * 8, "date"),
]


@pytest.mark.parametrize(("document", "reason"), MALFORMED)
def test_malformed_documents_raise_for_their_row(document: bytes, reason: str) -> None:
    with pytest.raises(CellError, match=reason) as caught:
        texts([b"\x04\x01", None, document, b"\x04\x01"])
    assert caught.value.row == 2


@settings(max_examples=600)
@given(st.data())
def test_damaged_documents_decode_or_raise(data: st.DataObject) -> None:
    document = bytearray(encode(data.draw(DOCUMENTS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(document) - 1))
        document[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del document[data.draw(st.integers(0, len(document))) :]
    text = text_or_none(bytes(document))
    if text is not None:
        assert len(text.encode()) <= WORST_EXPANSION * len(document) + LONGEST_SCALAR


def text_or_none(document: bytes) -> str | None:
    """Return the text, checked to be JSON; None if the document is malformed."""
    try:
        text = one(document)
    except CellError:
        return None
    json.loads(text)
    return text


@settings(max_examples=300)
@given(st.binary(max_size=60))
def test_random_bytes_decode_or_raise(document: bytes) -> None:
    text_or_none(document)


def test_a_document_is_never_lossy() -> None:
    assert len(read(JSON, [encode({"a": "é"})]).lossy) == 0


def test_reads_lengths_of_several_bytes() -> None:
    assert length(300) == b"\xac\x02"
    assert json.loads(one(b"\x03" + container(["a" * 300], large=True))) == ["a" * 300]
