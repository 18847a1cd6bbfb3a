"""CRC32 by tables, for any processor: 16 bytes a step ("slicing by 16").

Source: Kounavis and Berry, "A Systematic Approach to Building High Performance, Software-based, CRC
Generators", 2005, with twice as many tables.
"""

from __future__ import annotations

import numpy as np

from decoder.kernels.memory import (
    Array,
    Bytes,
    item,
    kernel,
    load_i64,
    load_u8,
    shift_right_logical as shift_right,
)

POLYNOMIAL = 0xEDB88320
"""The polynomial of zlib and Ethernet, lowest bit first."""
ALL_ONES = 0xFFFFFFFF
"""The initial CRC, which is also XORed into the final one."""


def _tables() -> Array:
    """Return 16 × 256 values, flat: table k has each byte's effect on the CRC k bytes later."""
    tables: Array = np.zeros((16, 256), np.uint32)
    remainder: Array = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        remainder = (remainder >> 1) ^ ((remainder & 1) * np.uint32(POLYNOMIAL))
    tables[0] = remainder
    for k in range(1, 16):
        tables[k] = tables[0][tables[k - 1] & 255] ^ (tables[k - 1] >> 8)
    return tables.reshape(-1)


TABLES = _tables()
"""The `tables` argument of the CRC kernels."""


@kernel
def step_16(low: int, high: int, tables: Array) -> int:
    """Return the CRC after 16 bytes, whose first four are already XORed with the previous CRC."""
    crc = 0
    for k in range(8):
        crc ^= item(tables, (15 - k) * 256 + (shift_right(low, 8 * k) & 255))
        crc ^= item(tables, (7 - k) * 256 + (shift_right(high, 8 * k) & 255))
    return crc


@kernel
def crc32_by_tables(buffer: Bytes, start: int, end: int, tables: Array) -> int:
    """Return the CRC32 of `buffer[start:end]`."""
    crc = ALL_ONES
    position = start
    while position + 16 <= end:
        low = load_i64(buffer, position) ^ crc
        crc = step_16(low, load_i64(buffer, position + 8), tables)
        position += 16
    while position < end:
        crc = item(tables, (crc ^ load_u8(buffer, position)) & 255) ^ (crc >> 8)
        position += 1
    return crc ^ ALL_ONES
