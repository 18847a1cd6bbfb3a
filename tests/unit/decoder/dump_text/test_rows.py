"""Rows of INSERTs and of lines, however their bytes are cut, and whatever is wrong with them."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.dump_text.rows import ENDED, FULL, MORE, WRONG, insert_rows, line_rows

COLUMNS = 3
MOST = 8
Values = list[list[bytes | None]]


class Room:
    """Where a kernel puts what it reads."""

    def __init__(self, size: int, most: int = MOST) -> None:
        self.most = most
        self.out = np.zeros(HEAD_SLACK + size + SLACK, np.uint8)
        self.positions = np.zeros(COLUMNS * most, np.int32)
        self.lengths = np.zeros(COLUMNS * most, np.int32)
        self.state = np.array([0, HEAD_SLACK], np.int64)

    @property
    def rows(self) -> Values:
        return [[self._value(column * self.most + row) for column in range(COLUMNS)]
                for row in range(int(self.state[0]))]  # fmt: skip

    def _value(self, cell: int) -> bytes | None:
        at, length = int(self.positions[cell]), int(self.lengths[cell])
        return None if at < 0 else self.out[at : at + length].tobytes()


def inserted(text: bytes, room: Room, end: int | None = None, at: int = 0) -> tuple[int, int]:
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (room.out, room.positions, room.lengths, room.state)
    stop = len(text) if end is None else end
    return insert_rows(buffer, at, stop, True, COLUMNS, room.most, *arrays)


def lined(text: bytes, room: Room, end: int | None = None, at: int = 0) -> tuple[int, int]:
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (room.out, room.positions, room.lengths, room.state)
    stop = len(text) if end is None else end
    return line_rows(buffer, at, stop, 9, 10, -1, 92, COLUMNS, room.most, *arrays)


LITERALS = [
    (b"1", b"1"),
    (b"-1.5e+10", b"-1.5e+10"),
    (b"NULL", None),
    (b"null", None),
    (b"''", b""),
    (b"'it''s'", b"it's"),
    (rb"'it\'s \"\\ \n\t\0\Z\r\b'", b"it's \"\\ \n\t\0\x1a\r\b"),
    (rb"'\%\_\x'", rb"\%\_x"),
    (b'"double "" quotes"', b'double " quotes'),
    (b"_binary 'a\0b'", b"a\0b"),
    (b"_utf8mb4'x'", b"x"),
    (b"0x00fF", b"\0\xff"),
    (b"0xABC", b"\x0a\xbc"),
    (b"x'00ff'", b"\0\xff"),
    (b"_binary 0x41", b"A"),
    (b'CONVERT("{}" USING UTF8MB4)', b"{}"),
    (b"'),(;'", b"),(;"),
]


@pytest.mark.parametrize(("literal", "value"), LITERALS)
def test_a_literal(literal: bytes, value: bytes | None) -> None:
    room = Room(1000)
    text = b" (1, " + literal + b" ,2),\n(" + literal + b",3,4);"
    assert inserted(text, room) == (len(text), ENDED)
    assert room.rows == [[b"1", value, b"2"], [value, b"3", b"4"]]


@pytest.mark.parametrize(
    "text",
    [b"(1,2);", b"(1,2,3,4);", b"(1,2,);", b"(1,TRUE,3);", b"(1,2 3);", b"(1,-- 2\n,3);", b"1,2,3;",
     b"(1,(2),3);", b"((1,2,3));"],
)  # fmt: skip
def test_what_is_no_row(text: bytes) -> None:
    assert inserted(text + b"\n\n\n", Room(100)) == (0, WRONG)


def test_rows_that_fill_the_room_are_followed_by_the_others() -> None:
    text = b",".join(b"(%d,NULL,'x')" % number for number in range(10)) + b";"
    room = Room(1000)
    at, how = inserted(text, room)
    assert (how, len(room.rows)) == (FULL, MOST)
    room.state[:] = (0, HEAD_SLACK)
    assert inserted(text, room, at=at) == (len(text), ENDED)
    assert room.rows == [[b"8", None, b"x"], [b"9", None, b"x"]]


VALUES = st.one_of(st.none(), st.binary(max_size=12))
ROWS = st.lists(st.lists(VALUES, min_size=COLUMNS, max_size=COLUMNS), max_size=MOST)


def escaped(value: bytes, letters: dict[int, bytes]) -> bytes:
    return b"".join(letters.get(byte, bytes([byte])) for byte in value)


OF_STRINGS = {0: rb"\0", 10: rb"\n", 13: rb"\r", 26: rb"\Z", 34: rb"\"", 39: rb"\'", 92: rb"\\"}
OF_FIELDS = {0: rb"\0", 9: b"\\\t", 10: b"\\\n", 92: rb"\\"}


def as_insert(rows: Values) -> bytes:
    tuples = [
        b"(" + b",".join(
            b"NULL" if one is None else b"'" + escaped(one, OF_STRINGS) + b"'" for one in row
        ) + b")"
        for row in rows
    ]  # fmt: skip
    return b",".join(tuples) + b";"


def as_lines(rows: Values) -> bytes:
    return b"".join(
        b"\t".join(rb"\N" if one is None else escaped(one, OF_FIELDS) for one in row) + b"\n"
        for row in rows
    )


@pytest.mark.parametrize(("write", "read"), [(as_insert, inserted), (as_lines, lined)])
@given(rows=ROWS, data=st.data())
def test_rows_come_back_wherever_their_bytes_are_cut(
    write: Callable[[Values], bytes],
    read: Callable[..., tuple[int, int]],
    rows: Values,
    data: st.DataObject,
) -> None:
    text = write(rows)
    room = Room(len(text))
    cut = data.draw(st.integers(0, len(text)))
    at, how = read(text, room, end=cut)
    assert how in (MORE, ENDED)
    assert room.rows == rows[: len(room.rows)]
    if how == MORE:
        at, how = read(text, room, at=at)
    assert at == len(text)
    assert room.rows == rows


@pytest.mark.parametrize("read", [inserted, lined])
def test_damaged_rows_stay_inside_their_room(read: Callable[..., tuple[int, int]]) -> None:
    chance = random.Random(5)
    alphabet = b"()',\"\\;\t\nN0x_ 1aNULLCONVERT(\xff"
    for _ in range(3000):
        text = bytes(chance.choices(alphabet, k=chance.randint(0, 60)))
        room = Room(len(text))
        at, how = read(text, room)
        assert 0 <= at <= len(text)
        assert how in (MORE, FULL, ENDED, WRONG)
        assert not room.out[HEAD_SLACK + len(text) + 8 :].any()


def test_words_for_null_where_fields_have_quotes() -> None:
    text = b'NULL,"NULL",\\N\n"a""b","c\\"d",e\n'
    room = Room(len(text))
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (room.out, room.positions, room.lengths, room.state)
    at, how = line_rows(buffer, 0, len(text), 44, 10, 34, 92, COLUMNS, MOST, *arrays)
    assert (at, how) == (len(text), MORE)
    assert room.rows == [[None, b"NULL", None], [b'a"b', b'c"d', b"e"]]
