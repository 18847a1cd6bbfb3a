"""Memory of Arrow's pool that kernels write to, and arrays made of it without a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.cells import SLACK
from decoder.errors import UnsupportedError
from decoder.memory import Bytes

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
