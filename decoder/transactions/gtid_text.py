"""GTIDs as text, as their server prints them; kernels, because every transaction has one."""

from __future__ import annotations

from decoder.kernels.memory import Bytes, kernel, load_i64, load_u8, load_u32, store_8

GTID_WIDTH = 64
"""The most bytes in the text of a GTID without a tag (MySQL: 36 + 1 + up to 19)."""


@kernel
def write_gtid(buffer: Bytes, uuid: int, number: int, text: Bytes, to: int) -> int:
    """Write `uuid:number` and return its length."""
    position = to
    for k in range(16):
        if k == 4 or k == 6 or k == 8 or k == 10:
            store_8(text, position, 45)
            position += 1
        byte = load_u8(buffer, uuid + k)
        store_8(text, position, _hexadecimal(byte >> 4))
        store_8(text, position + 1, _hexadecimal(byte & 15))
        position += 2
    store_8(text, position, 58)
    return _write_number(number, text, position + 1) - to


@kernel
def write_mariadb_gtid(buffer: Bytes, body: int, server_id: int, text: Bytes, to: int) -> int:
    """Write `domain-server-number` and return its length.

    Layout: number 8, domain 4, flags 1; the server id is in the event's header.
    """
    position = _write_number(load_u32(buffer, body + 8), text, to)
    store_8(text, position, 45)
    position = _write_number(server_id, text, position + 1)
    store_8(text, position, 45)
    return _write_number(load_i64(buffer, body), text, position + 1) - to


@kernel
def _write_number(number: int, text: Bytes, to: int) -> int:
    """Write the digits of a number (0 for a negative one) and return the offset of their end."""
    digits = 1
    rest = number // 10
    while rest > 0:
        rest //= 10
        digits += 1
    rest = max(number, 0)
    for k in range(digits):
        store_8(text, to + digits - 1 - k, 48 + rest % 10)
        rest //= 10
    return to + digits


@kernel
def _hexadecimal(digit: int) -> int:
    return digit + 48 if digit < 10 else digit + 87
