"""Doubles as JSON text: the shortest digits that parse to the same double.

Doubles with few digits (prices, counts) are found by multiplying with a power of ten, all others by
Raffaello Giulietti's Schubfach (https://github.com/c4f7fcce9cb06515/Schubfach), with its variable
names: v = c * 2**q, and `g` is 10**-k scaled to 126 bits, in two halves of 63.
"""

from __future__ import annotations

import struct

import numpy as np

from decoder.columns.arrays import Int64s, allocate
from decoder.columns.digits import digit_count, write_padded, write_signed, write_unsigned
from decoder.kernels.memory import (
    Bytes,
    add_wrapping,
    double_from_bits,
    inline_kernel,
    item,
    kernel,
    multiply_wrapping,
    shift_right_logical,
    store_8,
)

LONGEST_DOUBLE = 25
"""Length of -1.2345678901234567e-308, plus two bytes."""
_MASK_32 = 0xFFFFFFFF
_MASK_63 = (1 << 63) - 1
_FRACTION_BITS = 52
_SMALLEST_NORMAL = 1 << _FRACTION_BITS
_SMALLEST_EXPONENT = -1074
_INFINITE = 0x7FF
_K_MIN, _K_MAX = -324, 292
_EXACT_DECIMAL = 1e15
"""Below this, integers are exact, and distinct decimals of so many digits are distinct doubles."""
_FEW_DECIMALS = 6
_POWERS = 10.0 ** np.arange(_FEW_DECIMALS + 1)
_LARGEST_PLAIN = 16
_SMALLEST_PLAIN = -3


def _scaled_powers() -> Int64s:
    """Return g1, g0 for each k: `floor(10**-k * 2**-r) + 1` with 2**125 <= g < 2**126."""
    table = []
    for k in range(_K_MIN, _K_MAX + 1):
        if k <= 0:
            power = 10**-k
            r = power.bit_length() - 126
            g = power << -r if r <= 0 else power >> r
        else:
            g = (1 << (10**k).bit_length() + 125) // 10**k
            g >>= g.bit_length() - 126
        g += 1
        table += [g >> 63, g & _MASK_63]
    return np.array(table, np.int64)


_G = _scaled_powers()


@inline_kernel
def multiply_high(a: int, b: int) -> int:
    """Return the upper 64 bits of the product of two non-negative int64."""
    low_a, high_a = a & _MASK_32, a >> 32
    low_b, high_b = b & _MASK_32, b >> 32
    middle = high_a * low_b + shift_right_logical(multiply_wrapping(low_a, low_b), 32)
    other = low_a * high_b + (middle & _MASK_32)
    return high_a * high_b + (middle >> 32) + (other >> 32)


@inline_kernel
def round_to_odd(g1: int, g0: int, cp: int) -> int:
    """Return `g * cp >> 126`, with the lowest bit set if any shifted-out bit was set (rop)."""
    low = shift_right_logical(multiply_wrapping(g1, cp), 1)
    z = add_wrapping(low, multiply_high(g0, cp))
    w = multiply_high(g1, cp) + shift_right_logical(z, 63)
    return w | (1 if z & _MASK_63 else 0)


@kernel
def shortest_decimal(q: int, c: int) -> tuple[int, int]:
    """Return (d, k) of the shortest d * 10**k that rounds to c * 2**q, and of these the closest."""
    out = c & 1
    cb = c << 2
    regular = c != _SMALLEST_NORMAL or q == _SMALLEST_EXPONENT
    k = (q * 661971961083 - (0 if regular else 274743187321)) >> 41
    h = q + (-k * 913124641741 >> 38) + 2
    g1, g0 = item(_G, 2 * (k - _K_MIN)), item(_G, 2 * (k - _K_MIN) + 1)
    vb = round_to_odd(g1, g0, cb << h)
    vbl = round_to_odd(g1, g0, (cb - (2 if regular else 1)) << h)
    vbr = round_to_odd(g1, g0, (cb + 2) << h)
    s = vb >> 2
    if s >= 100:
        tens = s // 10 * 10
        below = vbl + out <= tens << 2
        above = ((tens + 10) << 2) + out <= vbr
        if below != above:
            return (tens if below else tens + 10), k
    below = vbl + out <= s << 2
    above = ((s + 1) << 2) + out <= vbr
    if below != above:
        return (s if below else s + 1), k
    middle = vb - (2 * s + 1 << 1)
    return (s if middle < 0 or (middle == 0 and s & 1 == 0) else s + 1), k


@kernel
def write_double(text: Bytes, at: int, bits: int) -> int:
    """Write the double with these bits, always with a point or an exponent.

    Writes at most LONGEST_DOUBLE bytes; returns the position after them, −1 if it is not finite.
    """
    if bits < 0:
        store_8(text, at, 45)
        at += 1
    exponent = shift_right_logical(bits, _FRACTION_BITS) & _INFINITE
    fraction = bits & (_SMALLEST_NORMAL - 1)
    if exponent == _INFINITE:
        return -1
    plain = write_few_decimals(text, at, abs(double_from_bits(bits)))
    if plain >= 0:
        return plain
    if exponent:
        d, k = shortest_decimal(exponent + _SMALLEST_EXPONENT - 1, fraction | _SMALLEST_NORMAL)
    else:
        d, k = shortest_decimal(_SMALLEST_EXPONENT, fraction)
    while d % 10 == 0:
        d = d // 10
        k += 1
    return write_scaled(text, at, d, k)


@inline_kernel
def write_few_decimals(text: Bytes, at: int, value: float) -> int:
    """Write a non-negative double with few digits after the point; return −1 for any other."""
    for decimals in range(_FEW_DECIMALS + 1):
        power = _POWERS[decimals]
        scaled = value * power
        if scaled >= _EXACT_DECIMAL:
            return -1
        nearest = int(scaled + 0.5)
        if nearest / power == value:
            whole = nearest // int(power)
            at = write_unsigned(text, at, whole)
            store_8(text, at, 46)
            if decimals == 0:
                store_8(text, at + 1, 48)
                return at + 2
            return write_padded(text, at + 1, nearest - whole * int(power), decimals)
    return -1


@kernel
def write_scaled(text: Bytes, at: int, d: int, k: int) -> int:
    """Write d * 10**k, with an exponent unless the point is near its digits."""
    digits = digit_count(d)
    point = digits + k
    if 0 < point <= _LARGEST_PLAIN and k < 0:
        power = 1
        for _ in range(-k):
            power *= 10
        at = write_unsigned(text, at, d // power)
        store_8(text, at, 46)
        return write_padded(text, at + 1, d % power, -k)
    if 0 < point <= _LARGEST_PLAIN:
        at = write_padded(text, at, d, digits)
        at = write_padded(text, at, 0, k)
        store_8(text, at, 46)
        store_8(text, at + 1, 48)
        return at + 2
    if _SMALLEST_PLAIN <= point <= 0:
        store_8(text, at, 48)
        store_8(text, at + 1, 46)
        at = write_padded(text, at + 2, 0, -point)
        return write_padded(text, at, d, digits)
    return write_exponential(text, at, d, digits, point - 1)


@kernel
def write_exponential(text: Bytes, at: int, d: int, digits: int, exponent: int) -> int:
    """Write d.dde-N, or deN without a fraction."""
    write_padded(text, at + 1, d, digits)
    power = 1
    for _ in range(digits - 1):
        power *= 10
    store_8(text, at, 48 + d // power)
    at += 1
    if digits > 1:
        store_8(text, at, 46)
        at = write_padded(text, at + 1, d % power, digits - 1)
    store_8(text, at, 101)
    return write_signed(text, at + 1, exponent)


def double_text(value: float) -> bytes:
    """Return a finite double as the text that `write_double` writes."""
    _, text = allocate(LONGEST_DOUBLE)
    (bits,) = struct.unpack("<q", struct.pack("<d", value))
    return text[: write_double(text, 0, bits)].tobytes()
