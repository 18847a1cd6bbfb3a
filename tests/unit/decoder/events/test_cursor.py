from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from decoder.errors import MalformedError
from decoder.events.cursor import Cursor
from decoder.events.header import EventHeader
from tests.support.decoder.event_bytes import event_bytes, length_encoded, signed_varint, varint

U64 = st.integers(0, 2**64 - 1)


def cursor(data: bytes) -> Cursor:
    return Cursor(memoryview(data), EventHeader.parse(memoryview(event_bytes(2, b"")), 0, 77))


@pytest.mark.parametrize(
    ("read", "size"),
    [
        (Cursor.u8, 1),
        (Cursor.u16, 2),
        (Cursor.u32, 4),
        (Cursor.u48, 6),
        (Cursor.u64, 8),
    ],
)
def test_integers_are_little_endian_and_stop_at_the_end(
    read: Callable[[Cursor], int], size: int
) -> None:
    data = bytes(range(1, size + 1))
    reader = cursor(data + data[:-1])
    assert read(reader) == int.from_bytes(data, "little")
    with pytest.raises(MalformedError):
        read(reader)


def test_an_error_names_the_position_and_the_event() -> None:
    reader = cursor(b"abc")
    reader.skip(1)
    with pytest.raises(MalformedError, match="8 bytes are expected at byte 1") as caught:
        reader.take(8)
    assert (caught.value.position, caught.value.event_type) == (77, "QUERY")


@given(U64)
def test_length_encoded_integers(value: int) -> None:
    reader = cursor(length_encoded(value) + b"!")
    assert reader.length_encoded() == value
    assert reader.rest() == b"!"


@pytest.mark.parametrize("first", [251, 255])
def test_an_invalid_first_byte_of_a_length_encoded_integer_is_refused(first: int) -> None:
    with pytest.raises(MalformedError, match="length-encoded"):
        cursor(bytes([first]) + bytes(8)).length_encoded()


@given(U64)
def test_varints(value: int) -> None:
    reader = cursor(varint(value) + b"!")
    assert reader.varint() == value
    assert reader.rest() == b"!"


@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_varints(value: int) -> None:
    assert cursor(signed_varint(value)).signed_varint() == value


@pytest.mark.parametrize(
    ("data", "value"),
    [  # examples of MySQL's libs/mysql/serialization/readme.md, low byte first
        ("fbff07", 65535),
        ("f3ff0f", 65535),
        ("ebff0f", -65535),
        ("fbff0f", -65536),
    ],
)
def test_varints_as_mysql_documents_them(data: str, value: int) -> None:
    reader = cursor(bytes.fromhex(data))
    assert (reader.varint() if data == "fbff07" else reader.signed_varint()) == value


def test_a_part_ends_after_its_length() -> None:
    reader = cursor(b"abcdef")
    part = reader.part(2)
    assert (part.rest(), reader.rest()) == (b"ab", b"cdef")
    with pytest.raises(MalformedError):
        part.u8()


def test_names_end_in_a_zero_byte() -> None:
    reader = cursor("ä\0b".encode())
    assert reader.null_terminated() == "ä"
    with pytest.raises(MalformedError, match="zero byte"):
        reader.null_terminated()
