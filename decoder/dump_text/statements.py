"""Ends of statements in the text of a dump, as the mysql client finds them.

Source: MySQL `client/mysql.cc`, `add_line`: delimiters inside quotes and comments do not count.
"""

from __future__ import annotations

from decoder.columns.arrays import Int64s
from decoder.dump_text.rows import BACKSLASH, DOUBLE_QUOTE, QUOTE, is_space
from decoder.kernels.memory import Bytes, inline_kernel, item, kernel, load_u8, set_item

BACKTICK = 96
_SLASH, _STAR, _HASH, _DASH, _LINE = 47, 42, 35, 45, 10


@inline_kernel
def begins_comment(buffer: Bytes, at: int, end: int) -> int:
    """Return the last character of the comment that starts here (`*`, line feed); 0 if none."""
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
    """Return the position after the statement's delimiter; −1 if the input ends before it.

    `at` is inside the statement. `delimiter` is a character, doubled if `twice`. `state[0]` is the
    open quote, or the last character of the open comment, or 0; a later call continues from it. The
    last two bytes are not read, because their meaning may depend on the next ones: the later call
    starts at `state[1]`.
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
