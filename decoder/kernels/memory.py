"""Compilation of kernels, and their primitives for memory access and bit operations.

A kernel is a plain Python function decorated with `kernel` or `inline_kernel`. Compiled, the
primitives below are single machine instructions (an unaligned load is one LLVM load of alignment
1). With `NUMBA_DISABLE_JIT=1` their Python bodies run instead, with the same results; with
`NUMBA_BOUNDSCHECK=1` each access is checked against its array's bounds.

Rules for kernels:

- All integers are int64: numba turns int64 with uint64 into float64.
- Values that may be negative are shifted with `shift_right_logical` and `shift_left`.
- Arithmetic that may overflow int64 uses `add_wrapping`, `subtract_wrapping` and
  `multiply_wrapping`: numba lets LLVM assume that `+` never overflows.
- Nothing is allocated.
- Arrays are writable and C-contiguous: a read-only array is another type, and another compilation.

Byte buffers are uint8 arrays; `position` counts bytes from the array's start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt
from numba.extending import overload

from decoder.kernels.cache import Locator, serialize_saves
from decoder.kernels.instructions import (
    copy_32_instruction,
    copy_text_32_instruction,
    double_instruction,
    item_instruction,
    leading_zeros_instruction,
    load_instruction,
    set_item_instruction,
    store_instruction,
    trailing_zeros_instruction,
)

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

INTERPRETED = bool(numba.config.DISABLE_JIT)
"""True if kernels run as Python (`NUMBA_DISABLE_JIT=1`)."""
CHECKED = bool(numba.config.BOUNDSCHECK)
"""True if compiled kernels check every access (`NUMBA_BOUNDSCHECK=1`)."""

_CHECKING = INTERPRETED or CHECKED
_MASK_64 = 0xFFFFFFFFFFFFFFFF


# --- compilation ---------------------------------------------------------------------------------


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """Apply `numba.njit` with the cache of `decoder.kernels.cache`.

    The process's setting of cache locators is restored. `_nrt=False`: kernels allocate nothing, so
    they need no reference counts of their arrays. Otherwise numba counts (atomically) around most
    calls between kernels, and the JSON kernels take ten times as long.
    """
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, **options}
    before = numba.config.CACHE_LOCATOR_CLASSES
    numba.config.CACHE_LOCATOR_CLASSES = f"{Locator.__module__}.{Locator.__name__}"
    try:
        compiled = numba.njit(cache=True, **options)(function)
        if not INTERPRETED:
            serialize_saves(compiled._cache._cache_file)
        return compiled
    except OSError:  # no writable cache folder
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_LOCATOR_CLASSES = before


def kernel(function: Function) -> Function:
    """Compile a function of arrays and integers on its first call; it runs without the GIL."""
    compiled: Function = _compile(function)
    return compiled


def inline_kernel(function: Function) -> Function:
    """Compile a kernel whose body is inlined into its callers: for small, hot steps."""
    compiled: Function = _compile(function, forceinline=True)
    return compiled


# --- loads and stores ----------------------------------------------------------------------------


@inline_kernel
def _inside(array: Array, position: int, size: int) -> int:
    """Return `position`; if checks are on, raise IndexError unless `size` elements are inside."""
    if _CHECKING and (position < 0 or position + size > len(array)):
        raise IndexError("access outside the array")
    return position


def _loader(size: int, *, signed: bool = False, big: bool = False) -> Callable[[Bytes, int], int]:
    order: Any = "big" if big else "little"
    instruction = load_instruction(8 * size, signed=signed, swapped=big and size > 1)

    def load(buffer: Bytes, position: int) -> int:
        start = _inside(buffer, position, size)
        return int.from_bytes(buffer[start : start + size].tobytes(), order, signed=signed)

    overload(load)(
        lambda buffer, position: (
            lambda buffer, position: instruction(buffer, _inside(buffer, position, size))
        )
    )
    return load


def _storer(size: int) -> Callable[[Bytes, int, int], None]:
    instruction = store_instruction(8 * size)
    mask = (1 << 8 * size) - 1

    def store(buffer: Bytes, position: int, value: int) -> None:
        start = _inside(buffer, position, size)
        stored = (int(value) & mask).to_bytes(size, "little")
        buffer[start : start + size] = np.frombuffer(stored, np.uint8)

    overload(store)(
        lambda buffer, position, value: (
            lambda buffer, position, value: instruction(
                buffer, _inside(buffer, position, size), value
            )
        )
    )
    return store


# Little-endian loads, as MySQL writes almost everything: (buffer, position) -> int64.
load_u8 = _loader(1)
load_i8 = _loader(1, signed=True)
load_u16 = _loader(2)
load_i16 = _loader(2, signed=True)
load_u32 = _loader(4)
load_i32 = _loader(4, signed=True)
load_i64 = _loader(8, signed=True)
# Big-endian, for decimals and temporal types. `load_be64` is signed, as all integers are int64.
load_be16 = _loader(2, big=True)
load_be32 = _loader(4, big=True)
load_be64 = _loader(8, signed=True, big=True)

# Little-endian stores of the lowest bits: (buffer, position, value).
store_8 = _storer(1)
store_16 = _storer(2)
store_32 = _storer(4)
store_64 = _storer(8)


@inline_kernel
def load_u24(buffer: Bytes, position: int) -> int:
    """Load three bytes, unsigned."""
    return load_u16(buffer, position) | load_u8(buffer, position + 2) << 16


@inline_kernel
def load_i24(buffer: Bytes, position: int) -> int:
    """Load three bytes, sign-extended: MEDIUMINT."""
    return load_u16(buffer, position) | load_i8(buffer, position + 2) << 16


@inline_kernel
def load_u48(buffer: Bytes, position: int) -> int:
    """Load six bytes, unsigned: table ids."""
    return load_u32(buffer, position) | load_u16(buffer, position + 4) << 32


@inline_kernel
def load_be24(buffer: Bytes, position: int) -> int:
    """Load three bytes, big-endian, unsigned."""
    return load_be16(buffer, position) << 8 | load_u8(buffer, position + 2)


# --- copies and array elements -------------------------------------------------------------------


def copy_32(target: Bytes, to: int, source: Bytes, position: int) -> None:
    """Copy 32 bytes. A loop of this is the fastest copy of short strings; it needs slack bytes."""
    _inside(target, to, 32)
    _inside(source, position, 32)
    target[to : to + 32] = source[position : position + 32]


def copy_text_32(target: Bytes, to: int, source: Bytes, position: int) -> int:
    """Copy 32 bytes and classify them.

    Bit n of the result is set if JSON escapes byte n, bit 32 + n if the byte is not ASCII.
    """
    copy_32(target, to, source, position)
    classes = 0
    for index, byte in enumerate(source[position : position + 32].tolist()):
        classes |= (byte < 0x20 or byte in b'"\\') << index | (byte >= 0x80) << 32 + index
    return wrap(classes)


def item(array: Array, index: int) -> int:
    """Return `array[index]` of an integer array as int64; negative indexes are not supported."""
    return int(array[_inside(array, index, 1)])


def set_item(array: Array, index: int, value: int) -> None:
    """Set `array[index]` of an integer array; negative indexes are not supported."""
    array[_inside(array, index, 1)] = value


overload(copy_32)(
    lambda target, to, source, position: (
        lambda target, to, source, position: copy_32_instruction(
            target, _inside(target, to, 32), source, _inside(source, position, 32)
        )
    )
)
overload(copy_text_32)(
    lambda target, to, source, position: (
        lambda target, to, source, position: copy_text_32_instruction(
            target, _inside(target, to, 32), source, _inside(source, position, 32)
        )
    )
)
overload(item)(
    lambda array, index: lambda array, index: item_instruction(array, _inside(array, index, 1))
)
overload(set_item)(
    lambda array, index, value: (
        lambda array, index, value: set_item_instruction(array, _inside(array, index, 1), value)
    )
)


# --- bits ----------------------------------------------------------------------------------------


def wrap(value: int) -> int:
    """Return the int64 with the low 64 bits of a Python integer, as machine arithmetic wraps."""
    value = int(value) & _MASK_64
    return value - (1 << 64) if value >> 63 else value


def shift_right_logical(value: int, bits: int) -> int:
    """Return `value >> bits`, filled with zeros from the top; `bits` is 0 to 63."""
    return wrap((int(value) & _MASK_64) >> int(bits))


def shift_left(value: int, bits: int) -> int:
    """Return `value << bits` modulo 2**64; `bits` is 0 to 63."""
    return wrap(int(value) << int(bits))


def add_wrapping(a: int, b: int) -> int:
    """Return `a + b` modulo 2**64. An overflow of a compiled plain `+` is undefined."""
    return wrap(int(a) + int(b))


def subtract_wrapping(a: int, b: int) -> int:
    """Return `a - b` modulo 2**64."""
    return wrap(int(a) - int(b))


def multiply_wrapping(a: int, b: int) -> int:
    """Return `a * b` modulo 2**64."""
    return wrap(int(a) * int(b))


def trailing_zeros(value: int) -> int:
    """Return the index of the lowest set bit; 64 for 0."""
    value = int(value) & _MASK_64
    return (value & -value).bit_length() - 1 if value else 64


def leading_zeros(value: int) -> int:
    """Return the number of bits above the highest set bit; 64 for 0."""
    return 64 - (int(value) & _MASK_64).bit_length()


def double_from_bits(bits: int) -> float:
    """Return the IEEE 754 double with these 64 bits."""
    return float(np.int64(wrap(bits)).view(np.float64))


overload(wrap)(lambda value: lambda value: np.int64(value))
overload(shift_left)(lambda value, bits: lambda value, bits: np.int64(value) << np.int64(bits))
overload(shift_right_logical)(
    lambda value, bits: lambda value, bits: np.int64(np.uint64(value) >> np.uint64(bits))
)
# Numba marks signed arithmetic as never overflowing in LLVM, but not unsigned arithmetic.
overload(add_wrapping)(lambda a, b: lambda a, b: np.int64(np.uint64(a) + np.uint64(b)))
overload(subtract_wrapping)(lambda a, b: lambda a, b: np.int64(np.uint64(a) - np.uint64(b)))
overload(multiply_wrapping)(lambda a, b: lambda a, b: np.int64(np.uint64(a) * np.uint64(b)))
overload(trailing_zeros)(lambda value: lambda value: trailing_zeros_instruction(value))
overload(leading_zeros)(lambda value: lambda value: leading_zeros_instruction(value))
overload(double_from_bits)(lambda bits: lambda bits: double_instruction(bits))
