"""Rows in the text of a dump: the tuples of an INSERT, or lines as LOAD DATA reads them.

Formats: MySQL manual, string and hexadecimal literals (9.1.1, 9.1.4), LOAD DATA's fields and lines
(15.2.9). `insert_rows` and `line_rows` read whole rows and append their values, unquoted and
unescaped, to `out`, which is at least as long as the input; they keep nothing of an incomplete last
row. `positions` and `lengths` have room for `max_rows` values of each column, column by column; a
position of −1 is NULL.

`state` is (rows read, end of the data in `out`); a later call continues from it. Each call returns
the position after the last whole row and one of the constants MORE, FULL, ENDED and WRONG.
"""

from __future__ import annotations

import numpy as np

from decoder.columns.arrays import Int32s, Int64s
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, load_u8, set_item, store_8

MORE = 0
"""The input ends, inside a row or after one."""
FULL = 1
"""`max_rows` rows are read."""
ENDED = 2
"""The statement ends; the position is after its semicolon."""
WRONG = -1
"""The input at the position is not a row, or a row with another number of values."""

_NULL = -1
_INCOMPLETE = -2
"""The input ends inside a value."""
_MALFORMED = -3

QUOTE, DOUBLE_QUOTE, BACKSLASH = 39, 34, 92
_OPEN, _CLOSE, _COMMA, _SEMICOLON, _UNDERSCORE = 40, 41, 44, 59, 95
_CAPITAL_N = 78
_DASH = 45


def _escapes(letters: dict[str, int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return, for each byte, the byte that it means after a backslash."""
    table = np.arange(256, dtype=np.int64)
    for letter, byte in letters.items():
        table[ord(letter)] = byte
    return table


_ESCAPED = _escapes({"0": 0, "b": 8, "n": 10, "r": 13, "t": 9, "Z": 26})


def _hex_digits() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return, for each byte, its value as a hexadecimal digit; −1 for other bytes."""
    table = np.full(256, -1, np.int64)
    for value, digit in enumerate("0123456789abcdef"):
        table[ord(digit)] = table[ord(digit.upper())] = value
    return table


_HEX = _hex_digits()


@inline_kernel
def is_space(byte: int) -> bool:
    """Return True for a space, a tab or a line break."""
    return byte == 32 or 9 <= byte <= 13


@kernel
def skip_space(buffer: Bytes, at: int, end: int) -> int:
    """Return the position of the next byte that is not whitespace."""
    while at < end and is_space(load_u8(buffer, at)):
        at += 1
    return at


@kernel
def is_word(byte: int) -> bool:
    """Return True for a letter, a digit or an underscore."""
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122 or byte == _UNDERSCORE


@kernel
def read_quoted(
    buffer: Bytes, at: int, end: int, escapes: bool, out: Bytes, to: int
) -> tuple[int, int]:
    """Read a quoted string whose opening quote is at `at`.

    Returns (position after it or _INCOMPLETE, end in `out`). As in the server, `\\%` and `\\_` keep
    their backslash.
    """
    quote = load_u8(buffer, at)
    at += 1
    while at < end:
        byte = load_u8(buffer, at)
        if byte == quote:
            if at + 1 >= end:
                return _INCOMPLETE, to
            if load_u8(buffer, at + 1) != quote:
                return at + 1, to
            at += 1
        elif byte == BACKSLASH and escapes:
            if at + 1 >= end:
                return _INCOMPLETE, to
            at += 1
            byte = load_u8(buffer, at)
            if byte == 37 or byte == _UNDERSCORE:
                store_8(out, to, BACKSLASH)
                to += 1
            byte = item(_ESCAPED, byte)
        store_8(out, to, byte)
        to += 1
        at += 1
    return _INCOMPLETE, to


@kernel
def read_hex(buffer: Bytes, at: int, end: int, out: Bytes, to: int) -> tuple[int, int]:
    """Read hexadecimal digits; an odd number of them is padded with a leading zero."""
    start = at
    while at < end and item(_HEX, load_u8(buffer, at)) >= 0:
        at += 1
    if at >= end:
        return _INCOMPLETE, to
    if (at - start) & 1:
        store_8(out, to, item(_HEX, load_u8(buffer, start)))
        start += 1
        to += 1
    while start < at:
        high = item(_HEX, load_u8(buffer, start))
        store_8(out, to, high << 4 | item(_HEX, load_u8(buffer, start + 1)))
        start += 2
        to += 1
    return at, to


@kernel
def read_word(buffer: Bytes, at: int, end: int, out: Bytes, to: int) -> tuple[int, int]:
    """Copy a number unchanged; for NULL, the returned end in `out` is _NULL."""
    start = at
    while at < end:
        byte = load_u8(buffer, at)
        if not (is_word(byte) or byte == 46 or byte == 43 or byte == _DASH):
            break
        store_8(out, to + at - start, byte)
        at += 1
    if at >= end:
        return _INCOMPLETE, to
    first = load_u8(buffer, start) | 32
    if at == start or (97 <= first <= 122 and not is_null(buffer, start, at)):
        return _MALFORMED, to
    return at, _NULL if first == 110 else to + at - start


@kernel
def is_null(buffer: Bytes, start: int, end: int) -> bool:
    """Return True for the word NULL, in any case."""
    return (
        end - start == 4
        and load_u8(buffer, start) | 32 == 110
        and load_u8(buffer, start + 1) | 32 == 117
        and load_u8(buffer, start + 2) | 32 == 108
        and load_u8(buffer, start + 3) | 32 == 108
    )


@kernel
def skip_introducer(buffer: Bytes, at: int, end: int) -> int:
    """Skip `_binary ` or another charset introducer of a literal, or `CONVERT(`."""
    while at < end:
        byte = load_u8(buffer, at)
        if byte == _OPEN:
            return at + 1
        if not is_word(byte):
            return skip_space(buffer, at, end)
        at += 1
    return at


@inline_kernel
def is_introduced(buffer: Bytes, at: int) -> bool:
    """Return True at `_charset`, or at `CONVERT(`, which mydumper writes for JSON."""
    return load_u8(buffer, at) == _UNDERSCORE or (
        load_u8(buffer, at) | 32 == 99 and load_u8(buffer, at + 7) == _OPEN
    )


@inline_kernel
def is_hex(buffer: Bytes, at: int) -> bool:
    """Return True at `0x` or `x'`."""
    first, second = load_u8(buffer, at), load_u8(buffer, at + 1)
    return (first == 48 and second | 32 == 120) or (first | 32 == 120 and second == QUOTE)


@kernel
def read_literal(
    buffer: Bytes, at: int, end: int, escapes: bool, out: Bytes, to: int
) -> tuple[int, int]:
    """Read a value: (position after it, _INCOMPLETE or _MALFORMED; end in `out` or _NULL)."""
    if at + 8 >= end and (at >= end or is_introduced(buffer, at)):
        return _INCOMPLETE, to
    introduced = is_introduced(buffer, at)
    function = introduced and load_u8(buffer, at) != _UNDERSCORE
    if introduced:
        at = skip_introducer(buffer, at, end)
    if at + 2 >= end:
        return _INCOMPLETE, to
    first = load_u8(buffer, at)
    if first in (QUOTE, DOUBLE_QUOTE):
        at, to = read_quoted(buffer, at, end, escapes, out, to)
    elif is_hex(buffer, at):
        at, to = read_hex(buffer, at + 2, end, out, to)
        if at >= 0 and load_u8(buffer, at) == QUOTE:
            at += 1
    else:
        at, to = read_word(buffer, at, end, out, to)
    if function and at >= 0:
        while at < end and load_u8(buffer, at) != _CLOSE:
            at += 1
        at = at + 1 if at < end else _INCOMPLETE
    return at, to


@kernel
def read_tuple(
    buffer: Bytes,
    at: int,
    end: int,
    escapes: bool,
    columns: int,
    max_rows: int,
    row: int,
    out: Bytes,
    to: int,
    positions: Int32s,
    lengths: Int32s,
) -> tuple[int, int]:
    """Read a tuple whose opening parenthesis is at `at`; returns like `read_literal`."""
    at += 1
    for column in range(columns):
        at, stop = read_literal(buffer, skip_space(buffer, at, end), end, escapes, out, to)
        if at < 0:
            return at, to
        cell = column * max_rows + row
        set_item(positions, cell, to if stop != _NULL else -1)
        set_item(lengths, cell, stop - to if stop != _NULL else 0)
        to = stop if stop != _NULL else to
        at = skip_space(buffer, at, end)
        if at >= end:
            return _INCOMPLETE, to
        if load_u8(buffer, at) != (_COMMA if column + 1 < columns else _CLOSE):
            return _MALFORMED, to
        at += 1
    return at, to


@kernel
def insert_rows(
    buffer: Bytes,
    at: int,
    end: int,
    escapes: bool,
    columns: int,
    max_rows: int,
    out: Bytes,
    positions: Int32s,
    lengths: Int32s,
    state: Int64s,
) -> tuple[int, int]:
    """Read the tuples of an INSERT, from after VALUES or between two of them.

    `escapes`: a backslash escapes the next character (no NO_BACKSLASH_ESCAPES).
    """
    while True:
        at = skip_space(buffer, at, end)
        if at >= end:
            return at, MORE
        byte = load_u8(buffer, at)
        if byte == _SEMICOLON:
            return at + 1, ENDED
        if byte == _COMMA:
            at += 1
            continue
        if byte != _OPEN:
            return at, WRONG
        row = item(state, 0)
        if row == max_rows:
            return at, FULL
        to = item(state, 1)
        next_at, to = read_tuple(
            buffer, at, end, escapes, columns, max_rows, row, out, to, positions, lengths
        )
        if next_at < 0:
            return at, MORE if next_at == _INCOMPLETE else WRONG
        set_item(state, 0, row + 1)
        set_item(state, 1, to)
        at = next_at


@kernel
def read_enclosed(
    buffer: Bytes, at: int, end: int, escape: int, out: Bytes, to: int
) -> tuple[int, int]:
    """Read a field whose opening quote is at `at`; returns like `read_literal`."""
    quote = load_u8(buffer, at)
    at += 1
    while at + 1 < end:
        byte = load_u8(buffer, at)
        if byte == escape:
            at += 1
            byte = item(_ESCAPED, load_u8(buffer, at))
        elif byte == quote:
            at += 1
            if load_u8(buffer, at) != quote:
                return at, to
        store_8(out, to, byte)
        to += 1
        at += 1
    return _INCOMPLETE, to


@kernel
def read_field(
    buffer: Bytes,
    at: int,
    end: int,
    separator: int,
    line: int,
    quote: int,
    escape: int,
    out: Bytes,
    to: int,
) -> tuple[int, int]:
    """Read a field of a line; returns like `read_literal`, with the position of its terminator.

    NULL is `\\N` alone, and where fields are quoted also the unquoted word NULL.
    """
    if at < end and load_u8(buffer, at) == quote:
        return read_enclosed(buffer, at, end, escape, out, to)
    start, last = at, -1
    while at < end:
        byte = load_u8(buffer, at)
        if byte in (separator, line):
            null = at - start == 2 and last == _CAPITAL_N
            null = null or (quote >= 0 and is_null(buffer, start, at))
            return at, _NULL if null else to
        if byte == escape:
            at += 1
            if at >= end:
                return _INCOMPLETE, to
            last = load_u8(buffer, at)
            byte = item(_ESCAPED, last)
        store_8(out, to, byte)
        to += 1
        at += 1
    return _INCOMPLETE, to


@kernel
def line_rows(
    buffer: Bytes,
    at: int,
    end: int,
    separator: int,
    line: int,
    quote: int,
    escape: int,
    columns: int,
    max_rows: int,
    out: Bytes,
    positions: Int32s,
    lengths: Int32s,
    state: Int64s,
) -> tuple[int, int]:
    """Read lines of fields as LOAD DATA does; `quote` and `escape` are −1 if unused."""
    while at < end:
        row = item(state, 0)
        if row == max_rows:
            return at, FULL
        to = item(state, 1)
        next_at = at
        for column in range(columns):
            next_at, stop = read_field(
                buffer, next_at, end, separator, line, quote, escape, out, to
            )
            if next_at < 0 or next_at >= end:
                return at, MORE
            cell = column * max_rows + row
            set_item(positions, cell, to if stop != _NULL else -1)
            set_item(lengths, cell, stop - to if stop != _NULL else 0)
            to = stop if stop != _NULL else to
            if load_u8(buffer, next_at) != (separator if column + 1 < columns else line):
                return at, WRONG
            next_at += 1
        set_item(state, 0, row + 1)
        set_item(state, 1, to)
        at = next_at
    return at, MORE
