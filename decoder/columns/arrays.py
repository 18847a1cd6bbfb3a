"""Memory of Arrow's pool that kernels write to, and arrays made of buffers.

Not by `pa.array`: its first call imports pandas, a second of each worker's start.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.cells import SLACK
from decoder.errors import UnsupportedError
from decoder.kernels.memory import Bytes

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]

LARGEST = 2**31 - 1 - 2 * SLACK
"""Bytes that one string array can hold: Arrow's offsets are int32."""


def allocate(size: int) -> tuple[Any, Bytes]:
    """A pa.Buffer of `size` bytes and slack for wide stores, not cleared, and a view to write."""
    buffer = pa.allocate_buffer(size + SLACK)
    return buffer, np.frombuffer(buffer, np.uint8)


def allocate_text(size: int) -> tuple[Any, Bytes]:
    """`allocate` for the bytes of a string array; UnsupportedError where no array can hold them."""
    if size > LARGEST:
        raise UnsupportedError(f"{size} bytes of text in one block of rows (at most {LARGEST})")
    return allocate(size)


def integers(values: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """An array of the same width and sign, without nulls: a copy of `values`."""
    data = pa.py_buffer(values.tobytes())
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def nullable_integers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """An array of integers, instants or booleans; None is NULL."""
    present = [value or 0 for value in values]
    if pa.types.is_boolean(kind):
        data = np.packbits(np.array(present, np.bool_), bitorder="little").tobytes()
    else:
        data = np.array(present, f"i{kind.bit_width // 8}").tobytes()
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(data)])


def strings(texts: Sequence[str | None]) -> pa.StringArray:
    """A string array; None is NULL."""
    present = [text or "" for text in texts]
    joined = "".join(present)
    encoded: Sequence[str | bytes] = present
    if not joined.isascii():
        encoded = [text.encode() for text in present]
    offsets = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(texts)), out=offsets[1:])
    buffers = [_validity(texts), pa.py_buffer(offsets), pa.py_buffer(joined.encode())]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def repeated(text: str, length: int) -> pa.StringArray:
    """A string array that has one text everywhere."""
    data = text.encode()
    offsets = np.arange(length + 1, dtype=np.int32) * np.int32(len(data))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data * length)]
    return pa.Array.from_buffers(pa.string(), length, buffers)


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    if None not in values:
        return None
    valid = [value is not None for value in values]
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
