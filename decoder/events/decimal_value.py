"""A DECIMAL outside of a row: precision, scale and digits.

Format: MySQL `strings/decimal.cc`, `bin2decimal`: groups of nine digits in four bytes; the first
group of the integral part and the last of the fractional part take only the bytes that their digits
need. Big-endian, with the highest bit flipped, and all bits inverted for a negative number.
"""

from __future__ import annotations

from decoder.events.cursor import Cursor

_DIGITS_OF_GROUP = 9
_BYTES_OF_DIGITS = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_MAX_PRECISION, _MAX_SCALE = 65, 30


def read_decimal(cursor: Cursor) -> str:
    """Read a u8 precision, a u8 scale and the number; return its text as MySQL prints it."""
    precision, scale = cursor.u8(), cursor.u8()
    if not (0 < precision <= _MAX_PRECISION and scale <= min(precision, _MAX_SCALE)):
        raise cursor.malformed(f"DECIMAL({precision},{scale}) is not a valid type")
    groups = _groups(precision - scale, scale)
    content = bytearray(cursor.take(sum(_BYTES_OF_DIGITS[digits] for digits in groups)))
    negative = not content[0] & 0x80
    content[0] ^= 0x80
    if negative:
        content = bytearray(byte ^ 0xFF for byte in content)
    text, position = "", 0
    for digits in groups:
        end = position + _BYTES_OF_DIGITS[digits]
        group = str(int.from_bytes(content[position:end], "big")).zfill(digits)
        if len(group) > digits:
            raise cursor.malformed(f"a group of {digits} decimal digits has the value {group}")
        text, position = text + group, end
    integral = text[: precision - scale].lstrip("0") or "0"
    fraction = f".{text[precision - scale :]}" if scale else ""
    return "-" * negative + integral + fraction


def _groups(integral: int, fractional: int) -> list[int]:
    """Return the number of digits in each group, in order."""
    first, last = integral % _DIGITS_OF_GROUP, fractional % _DIGITS_OF_GROUP
    whole = integral // _DIGITS_OF_GROUP + fractional // _DIGITS_OF_GROUP
    return [
        *([first] if first else []),
        *[_DIGITS_OF_GROUP] * whole,
        *([last] if last else []),
    ]
