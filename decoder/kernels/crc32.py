"""CRC32 of events, as `binlog_checksum=CRC32` writes it (polynomial 0xEDB88320, as in zlib).

Implementations by processor, with equal results: carry-less multiplication on x86
(`crc32_folding`), CRC32 instructions on ARM (`crc32_aarch64`), tables on all others
(`crc32_tables`). With `NUMBA_DISABLE_JIT=1`, zlib's.
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
    """Return the CRC32 of `buffer[start:end]`; `tables` is `TABLES`.

    Compiled, this is the processor's fastest implementation.
    """
    return zlib.crc32(buffer[start:end].tobytes())


_Implementation = Callable[[Bytes, int, int, Array], int]
_IMPLEMENTATIONS: tuple[tuple[Callable[[], bool], _Implementation], ...] = (
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
    lambda buffer, start, end, tables: next(
        implementation for available, implementation in _IMPLEMENTATIONS if available()
    )
)
