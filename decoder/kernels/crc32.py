"""CRC32 of events, as `binlog_checksum=CRC32` writes it (polynomial 0xEDB88320, that of zlib).

Each kind of processor has its way, all with the same result: x86 folds by carry-less multiplication
(`crc32_folding`), ARM has an instruction for it (`crc32_aarch64`), and tables serve any other
(`crc32_tables`). Under `NUMBA_DISABLE_JIT=1` zlib does it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

from numba.extending import overload

from decoder.kernels.crc32_aarch64 import crc32_by_instructions, instructions_available
from decoder.kernels.crc32_folding import HEAD, crc32_by_folding, folding_available
from decoder.kernels.crc32_tables import TABLES, crc32_by_tables
from decoder.kernels.memory import Array, Bytes

__all__ = ["HEAD", "TABLES", "crc32"]


def crc32(buffer: Bytes, start: int, end: int, tables: Array) -> int:
    """CRC32 of `buffer[start:end]` (`tables`: `TABLES`), the fastest way that the processor has."""
    return zlib.crc32(buffer[start:end].tobytes())


_Way = Callable[[Bytes, int, int, Array], int]
_WAYS: tuple[tuple[Callable[[], bool], _Way], ...] = (
    (
        folding_available,
        lambda buffer, start, end, tables: crc32_by_folding(buffer, start, end, tables),
    ),
    (
        instructions_available,
        lambda buffer, start, end, tables: crc32_by_instructions(buffer, start, end),
    ),
    (
        lambda: True,
        lambda buffer, start, end, tables: crc32_by_tables(buffer, start, end, tables),
    ),
)

overload(crc32)(
    lambda buffer, start, end, tables: next(way for available, way in _WAYS if available())
)
