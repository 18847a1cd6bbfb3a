"""Where a statement in the text of a dump ends, as the client program finds it.

Source: MySQL's `client/mysql.cc`, `add_line`: a delimiter counts outside of quotes and comments.
"""

from __future__ import annotations

from decoder.columns.arrays import Int64s
from decoder.dump_text.rows import BACKSLASH, DOUBLE_QUOTE, QUOTE, is_space
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, load_u8, set_item

BACKTICK = 96
_SLASH, _STAR, _HASH, _DASH, _LINE = 47, 42, 35, 45, 10


@inline_kernel
def begins_comment(buffer: Bytes, at: int, end: int) -> int:
    """What begins a comment there, as `statement_end` keeps it; 0 for nothing."""
    byte = load_u8(buffer, at)
    if byte == _HASH:
        return _LINE
    if at + 1 >= end:
        return 0
    second = load_u8(buffer, at + 1)
    if byte == _SLASH and second == _STAR:
        return _STAR
    dashes = byte == _DASH and second == _DASH
    return _LINE if dashes and (at + 2 >= end or is_space(load_u8(buffer, at + 2))) else 0


@kernel
def statement_end(
    buffer: Bytes, at: int, end: int, escapes: bool, delimiter: int, twice: bool, state: Int64s
) -> int:
    """Behind the delimiter of the statement that goes on at `at`; −1 where it does not end here.

    `delimiter` is a character, or (`twice`) two of it. `state[0]` is what is open (a quote, a
    comment by its last character, 0: nothing), and is continued from; two bytes before the end,
    which what follows may change, are left, and `state[1]` is where to go on.
    """
    inside = item(state, 0)
    while at + 2 < end:
        byte = load_u8(buffer, at)
        if inside == 0:
            if byte == delimiter and (not twice or load_u8(buffer, at + 1) == delimiter):
                set_item(state, 0, 0)
                return at + (2 if twice else 1)
            inside = begins_comment(buffer, at, end)
            if byte in (QUOTE, DOUBLE_QUOTE, BACKTICK):
                inside = byte
            at += 2 if inside == _STAR else 1
        elif inside == _STAR:
            if byte == _STAR and load_u8(buffer, at + 1) == _SLASH:
                inside = 0
                at += 1
            at += 1
        else:
            at += 2 if byte == BACKSLASH and escapes and inside != BACKTICK else 1
            if byte == inside:
                inside = 0
    set_item(state, 0, inside)
    set_item(state, 1, at)
    return -1
