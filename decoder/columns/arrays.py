"""Arrow buffers that kernels write to, and Arrow arrays made from buffers.

`pa.array` is avoided: its first call imports pandas, which takes a second in each worker.
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
"""Bytes of text that one string array can hold: Arrow's offsets are int32."""


def allocate(size: int) -> tuple[Any, Bytes]:
    """Return an uninitialized pa.Buffer of `size` bytes plus slack, and a writable view of it."""
    buffer = pa.allocate_buffer(size + SLACK)
    return buffer, np.frombuffer(buffer, np.uint8)


def allocate_text(size: int) -> tuple[Any, Bytes]:
    """Allocate the data of a string array; UnsupportedError if one array cannot hold `size`."""
    if size > LARGEST:
        raise UnsupportedError(f"{size} bytes of text in one block of rows (at most {LARGEST})")
    return allocate(size)


def integers(values: npt.NDArray[np.integer[Any]]) -> pa.Array:
    """Return a copy of `values` as an array of the same integer type, without nulls."""
    data = pa.py_buffer(values.tobytes())
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, data])


def nullable_integers(values: Sequence[int | None], kind: pa.DataType) -> pa.Array:
    """Return an array of integers, timestamps or booleans; None is null."""
    present = [value or 0 for value in values]
    if pa.types.is_boolean(kind):
        data = np.packbits(np.array(present, np.bool_), bitorder="little").tobytes()
    else:
        data = np.array(present, f"i{kind.bit_width // 8}").tobytes()
    return pa.Array.from_buffers(kind, len(values), [_validity(values), pa.py_buffer(data)])


def strings(texts: Sequence[str | None]) -> pa.StringArray:
    """Return a string array; None is null."""
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
    """Return a string array with the same text in every row."""
    data = text.encode()
    offsets = np.arange(length + 1, dtype=np.int32) * np.int32(len(data))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data * length)]
    return pa.Array.from_buffers(pa.string(), length, buffers)


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    if None not in values:
        return None
    valid = [value is not None for value in values]
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
