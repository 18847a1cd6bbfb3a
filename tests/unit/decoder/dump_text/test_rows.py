"""Rows of INSERTs and of LOAD DATA lines: split at any byte, and malformed."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.dump_text.rows import ENDED, FULL, MORE, WRONG, insert_rows, line_rows

COLUMNS = 3
MAX_ROWS = 8
Values = list[list[bytes | None]]


class Output:
    """The output arrays of a kernel."""

    def __init__(self, size: int, max_rows: int = MAX_ROWS) -> None:
        self.max_rows = max_rows
        self.out = np.zeros(HEAD_SLACK + size + SLACK, np.uint8)
        self.positions = np.zeros(COLUMNS * max_rows, np.int32)
        self.lengths = np.zeros(COLUMNS * max_rows, np.int32)
        self.state = np.array([0, HEAD_SLACK], np.int64)

    @property
    def rows(self) -> Values:
        return [[self._value(column * self.max_rows + row) for column in range(COLUMNS)]
                for row in range(int(self.state[0]))]  # fmt: skip

    def _value(self, cell: int) -> bytes | None:
        at, length = int(self.positions[cell]), int(self.lengths[cell])
        return None if at < 0 else self.out[at : at + length].tobytes()


def read_insert(
    text: bytes, output: Output, end: int | None = None, at: int = 0
) -> tuple[int, int]:
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (output.out, output.positions, output.lengths, output.state)
    stop = len(text) if end is None else end
    return insert_rows(buffer, at, stop, True, COLUMNS, output.max_rows, *arrays)


def read_lines(text: bytes, output: Output, end: int | None = None, at: int = 0) -> tuple[int, int]:
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (output.out, output.positions, output.lengths, output.state)
    stop = len(text) if end is None else end
    return line_rows(buffer, at, stop, 9, 10, -1, 92, COLUMNS, output.max_rows, *arrays)


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
def test_reads_literals(literal: bytes, value: bytes | None) -> None:
    output = Output(1000)
    text = b" (1, " + literal + b" ,2),\n(" + literal + b",3,4);"
    assert read_insert(text, output) == (len(text), ENDED)
    assert output.rows == [[b"1", value, b"2"], [value, b"3", b"4"]]


@pytest.mark.parametrize(
    "text",
    [b"(1,2);", b"(1,2,3,4);", b"(1,2,);", b"(1,TRUE,3);", b"(1,2 3);", b"(1,-- 2\n,3);", b"1,2,3;",
     b"(1,(2),3);", b"((1,2,3));"],
)  # fmt: skip
def test_malformed_rows_are_wrong(text: bytes) -> None:
    assert read_insert(text + b"\n\n\n", Output(100)) == (0, WRONG)


def test_reading_continues_after_the_output_is_full() -> None:
    text = b",".join(b"(%d,NULL,'x')" % number for number in range(10)) + b";"
    output = Output(1000)
    at, how = read_insert(text, output)
    assert (how, len(output.rows)) == (FULL, MAX_ROWS)
    output.state[:] = (0, HEAD_SLACK)
    assert read_insert(text, output, at=at) == (len(text), ENDED)
    assert output.rows == [[b"8", None, b"x"], [b"9", None, b"x"]]


VALUES = st.one_of(st.none(), st.binary(max_size=12))
ROWS = st.lists(st.lists(VALUES, min_size=COLUMNS, max_size=COLUMNS), max_size=MAX_ROWS)


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


@pytest.mark.parametrize(("write", "read"), [(as_insert, read_insert), (as_lines, read_lines)])
@given(rows=ROWS, data=st.data())
def test_rows_round_trip_wherever_the_input_is_split(
    write: Callable[[Values], bytes],
    read: Callable[..., tuple[int, int]],
    rows: Values,
    data: st.DataObject,
) -> None:
    text = write(rows)
    output = Output(len(text))
    split = data.draw(st.integers(0, len(text)))
    at, how = read(text, output, end=split)
    assert how in (MORE, ENDED)
    assert output.rows == rows[: len(output.rows)]
    if how == MORE:
        at, how = read(text, output, at=at)
    assert at == len(text)
    assert output.rows == rows


@pytest.mark.parametrize("read", [read_insert, read_lines])
def test_damaged_rows_write_inside_the_output(read: Callable[..., tuple[int, int]]) -> None:
    rng = random.Random(5)
    alphabet = b"()',\"\\;\t\nN0x_ 1aNULLCONVERT(\xff"
    for _ in range(3000):
        text = bytes(rng.choices(alphabet, k=rng.randint(0, 60)))
        output = Output(len(text))
        at, how = read(text, output)
        assert 0 <= at <= len(text)
        assert how in (MORE, FULL, ENDED, WRONG)
        assert not output.out[HEAD_SLACK + len(text) + 8 :].any()


def test_unquoted_null_words_are_null_where_fields_have_quotes() -> None:
    text = b'NULL,"NULL",\\N\n"a""b","c\\"d",e\n'
    output = Output(len(text))
    buffer = np.frombuffer(bytearray(text + bytes(SLACK)), np.uint8)
    arrays = (output.out, output.positions, output.lengths, output.state)
    at, how = line_rows(buffer, 0, len(text), 44, 10, 34, 92, COLUMNS, MAX_ROWS, *arrays)
    assert (at, how) == (len(text), MORE)
    assert output.rows == [[None, b"NULL", None], [b'a"b', b'c"d', b"e"]]
