"""CRC32 by ARM's CRC32 instructions (in ARMv8.1 and most of ARMv8.0): 8 bytes a step.

A single stream without interleaving or PMULL folding is fast enough: Neoverse completes one such
instruction of a dependent chain every cycle, and Apple's processors, which take three cycles, are
still several times as fast as the rest of the decoder.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoder.kernels.crc32_tables import ALL_ONES
from decoder.kernels.memory import Bytes, kernel, load_i64, load_u8, load_u16, load_u32
from decoder.kernels.processor import processor

_INT_32, _INT_64 = ir.IntType(32), ir.IntType(64)


def instructions_available() -> bool:
    """Return True if the processor has CRC32 instructions.

    For Apple's processors, LLVM reports the name but not the features.
    """
    if processor().architecture != "aarch64":
        return False
    return processor().has("crc") or processor().name.startswith("apple-m")


def _step(suffix: str) -> Any:
    """Return an intrinsic (crc, value) -> crc after the lowest bytes of `value`.

    The suffix is the number of bytes: b 1, h 2, w 4, x 8.
    """
    operand = _INT_64 if suffix == "x" else _INT_32

    def step(typing_context: Any, crc: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            function = cgutils.get_or_insert_function(
                builder.module,
                ir.FunctionType(_INT_32, [_INT_32, operand]),
                f"llvm.aarch64.crc32{suffix}",
            )
            before = builder.trunc(args[0], _INT_32)
            data = args[1] if operand is _INT_64 else builder.trunc(args[1], operand)
            return builder.zext(builder.call(function, [before, data]), _INT_64)

        return types.int64(types.int64, types.int64), generate

    return intrinsic(step)


_step_1, _step_2, _step_4, _step_8 = map(_step, "bhwx")


@kernel
def crc32_by_instructions(buffer: Bytes, start: int, end: int) -> int:
    """Return the CRC32 of `buffer[start:end]`."""
    crc = ALL_ONES
    position = start
    while position + 8 <= end:
        crc = _step_8(crc, load_i64(buffer, position))
        position += 8
    if (end - position) & 4:
        crc = _step_4(crc, load_u32(buffer, position))
        position += 4
    if (end - position) & 2:
        crc = _step_2(crc, load_u16(buffer, position))
        position += 2
    if (end - position) & 1:
        crc = _step_1(crc, load_u8(buffer, position))
    return crc ^ ALL_ONES
