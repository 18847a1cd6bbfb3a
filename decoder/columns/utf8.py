"""Kernels that validate UTF-8 and write code points.

One U+FFFD replaces each maximal invalid part that starts a character, as the Unicode standard
recommends and Python's `decode(…, "replace")` does.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.kernels.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_i64,
    load_u8,
    shift_left,
    store_8,
    store_32,
)

HIGH_BITS = -0x7F7F7F7F7F7F7F80
"""0x8080808080808080 as an int64: the bits that are not set in ASCII."""
REPLACEMENT = 0xFFFD
WIDEST = 4
"""Bytes that `write_character` may store, even for a shorter character."""

# States of the UTF-8 automaton, each a bit offset: the transitions of a byte are one int64 with the
# next state at each state's offset (Per Vognsen's shift-based DFA).
_STATE_BITS = 6
_BETWEEN, _INVALID, _ONE_MORE, _TWO_MORE, _THREE_MORE = 0, 6, 12, 18, 24
_AFTER_E0, _AFTER_ED, _AFTER_F0, _AFTER_F4 = 30, 36, 42, 48
_STATE_MASK = (1 << _STATE_BITS) - 1
_LEADS = (
    (0x00, 0x7F, _BETWEEN), (0xC2, 0xDF, _ONE_MORE), (0xE0, 0xEF, _TWO_MORE),
    (0xE0, 0xE0, _AFTER_E0), (0xED, 0xED, _AFTER_ED), (0xF0, 0xF4, _THREE_MORE),
    (0xF0, 0xF0, _AFTER_F0), (0xF4, 0xF4, _AFTER_F4),
)  # fmt: skip
"""First and last lead byte, next state; later entries override earlier ones."""
_CONTINUATIONS = (
    (_ONE_MORE, 0x80, 0xBF, _BETWEEN), (_TWO_MORE, 0x80, 0xBF, _ONE_MORE),
    (_THREE_MORE, 0x80, 0xBF, _TWO_MORE), (_AFTER_E0, 0xA0, 0xBF, _ONE_MORE),
    (_AFTER_ED, 0x80, 0x9F, _ONE_MORE), (_AFTER_F0, 0x90, 0xBF, _TWO_MORE),
    (_AFTER_F4, 0x80, 0x8F, _TWO_MORE),
)  # fmt: skip
"""State, first and last byte that continues it, next state."""


def _transitions() -> npt.NDArray[np.int64]:
    next_states = np.full((256, _AFTER_F4 // _STATE_BITS + 1), _INVALID, np.int64)
    for first, last, next_state in _LEADS:
        next_states[first : last + 1, _BETWEEN // _STATE_BITS] = next_state
    for state, first, last, next_state in _CONTINUATIONS:
        next_states[first : last + 1, state // _STATE_BITS] = next_state
    offsets = np.arange(next_states.shape[1]) * _STATE_BITS
    table: npt.NDArray[np.int64] = np.bitwise_or.reduce(next_states << offsets, axis=1)
    return table


_TRANSITIONS = _transitions()


@kernel
def is_ascii(text: Bytes, start: int, end: int) -> bool:
    """Return True if no byte has its high bit set; may load up to 8 bytes after the end."""
    high = 0
    at = start
    while at + 8 <= end:
        high |= load_i64(text, at)
        at += 8
    if at < end:
        high |= load_i64(text, at) & (shift_left(1, 8 * (end - at)) - 1)
    return high & HIGH_BITS == 0


@inline_kernel
def is_continuation(text: Bytes, at: int, end: int) -> bool:
    """Return True if the byte is 0b10xxxxxx and before the end."""
    return at < end and load_u8(text, at) >> 6 == 2


@inline_kernel
def second_byte_fits(lead: int, second: int) -> bool:
    """Return True unless the character is overlong, a surrogate or above U+10FFFF."""
    if lead == 0xE0:
        return second >= 0xA0
    if lead == 0xED:
        return second < 0xA0
    if lead == 0xF0:
        return second >= 0x90
    return lead != 0xF4 or second < 0x90


@kernel
def character_size(text: Bytes, at: int, end: int) -> int:
    """Return the bytes of the character, or −1 times the bytes of an invalid part."""
    lead = load_u8(text, at)
    if lead < 0x80:
        return 1
    if lead < 0xC2 or lead > 0xF4 or not is_continuation(text, at + 1, end):
        return -1
    if not second_byte_fits(lead, load_u8(text, at + 1)):
        return -1
    if lead < 0xE0:
        return 2
    if not is_continuation(text, at + 2, end):
        return -2
    if lead < 0xF0:
        return 3
    return 4 if is_continuation(text, at + 3, end) else -3


@kernel
def is_utf8(text: Bytes, start: int, end: int) -> bool:
    """Return True if the text is whole, valid characters; may load up to 8 bytes after the end."""
    state = _BETWEEN
    at = start
    while at < end:
        if state == _BETWEEN and at + 8 <= end and load_i64(text, at) & HIGH_BITS == 0:
            at += 8
            continue
        for byte in range(at, min(at + 8, end)):
            state = item(_TRANSITIONS, load_u8(text, byte)) >> state & _STATE_MASK
        at += 8
    return state == _BETWEEN


@inline_kernel
def write_character(text: Bytes, at: int, point: int) -> int:
    """Write a code point; stores up to WIDEST bytes, returns the position after the character."""
    if point < 0x80:
        store_8(text, at, point)
        return at + 1
    low = 0x80 | point & 63
    if point < 0x800:
        store_32(text, at, 0xC0 | point >> 6 | low << 8)
        return at + 2
    middle = 0x80 | point >> 6 & 63
    if point < 0x10000:
        store_32(text, at, 0xE0 | point >> 12 | middle << 8 | low << 16)
        return at + 3
    upper = 0x80 | point >> 12 & 63
    store_32(text, at, 0xF0 | point >> 18 | upper << 8 | middle << 16 | low << 24)
    return at + 4
