"""Values as MySQL stores them in rows, encoded independently of the decoder, by MySQL's own
description.
"""

from __future__ import annotations


def packed_decimal(number: int, precision: int, scale: int) -> bytes:
    """Encode as `decimal2bin` does, by way of strings."""
    digits = f"{abs(number):0{precision}}"
    whole, fraction = digits[: precision - scale], digits[precision - scale :]
    first = len(whole) % 9
    groups = [whole[:first], *(whole[i : i + 9] for i in range(first, len(whole), 9))]
    groups += [fraction[i : i + 9] for i in range(0, scale, 9)]
    sizes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
    data = b"".join(int(g).to_bytes(sizes[len(g)], "big") for g in groups if g)
    data = bytes([data[0] ^ 0x80]) + data[1:]
    return bytes(byte ^ 0xFF for byte in data) if number < 0 else data


def printed_decimal(number: int, scale: int) -> str:
    """number / 10**scale as MySQL prints it."""
    digits = f"{abs(number):0{scale + 1}}"
    point = len(digits) - scale
    return "-" * (number < 0) + digits[:point] + "." * (scale > 0) + digits[point:]


def stored_date(year: int, month: int, day: int) -> bytes:
    """DATE."""
    return (year << 9 | month << 5 | day).to_bytes(3, "little")


def stored_fraction(microsecond: int, digits: int) -> int:
    """Encode a fraction, stored in an even number of digits."""
    whole: int = microsecond // 10 ** (6 - digits)
    return whole * 10 if digits % 2 else whole


def stored_datetime(fields: tuple[int, ...], microsecond: int = 0, digits: int = 0) -> bytes:
    """DATETIME(digits)."""
    year, month, day, hour, minute, second = fields
    whole = ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second
    size = (digits + 1) // 2
    number = (whole + (1 << 39)) << 8 * size | stored_fraction(microsecond, digits)
    return number.to_bytes(5 + size, "big")


def stored_time(microseconds: int, digits: int) -> bytes:
    """Encode TIME(digits) of this many microseconds."""
    seconds, fraction = divmod(abs(microseconds), 1000000)
    whole = seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60
    size = (digits + 1) // 2
    number = whole << 8 * size | stored_fraction(fraction, digits)
    number = -number if microseconds < 0 else number
    return (number + (1 << 8 * (3 + size) - 1)).to_bytes(3 + size, "big")


def printed_time(microseconds: int, digits: int) -> str:
    """TIME(digits) as MySQL prints it."""
    seconds, fraction = divmod(abs(microseconds), 1000000)
    sign = "-" * (microseconds < 0)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{fraction:06}"[: len(text) + 1 + digits] if digits else text
