"""Convert arrays of bytes to the cells that the decoder's readers take.

Where a value is printed as it is stored (UTF-8 text, bytes, a geometry), the decoder's own reader
reads it, so that seeded and logged values cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns import HEAD_SLACK, SLACK, CellError, Cells, Column, ColumnReader

PrintedReader = Callable[[pa.Array], Column]
"""Returns the values of a cell array of one column. Raises CellError for an invalid one."""


def as_stored(reader: ColumnReader) -> PrintedReader:
    """Return the reader of values that are printed as they are stored, or that `reader` unpacks."""
    return lambda printed: reader.read(cells_of(printed))


def cells_of(printed: pa.Array) -> Cells:
    """Convert a cell array to the decoder's cells, copying its bytes once, with slack around."""
    offsets = offsets_of(printed)
    first, last = int(offsets[0]), int(offsets[-1])
    buffer = np.zeros(HEAD_SLACK + last - first + SLACK, np.uint8)
    data = printed.buffers()[2]
    if data is not None:
        buffer[HEAD_SLACK : HEAD_SLACK + last - first] = np.frombuffer(data, np.uint8)[first:last]
    positions = offsets[:-1] - np.int32(first - HEAD_SLACK)
    lengths = np.diff(offsets)
    if printed.null_count:
        positions[~is_valid(printed)] = -1
    return Cells(buffer, positions, lengths, printed.null_count)


def offsets_of(printed: pa.Array) -> npt.NDArray[np.int32]:
    """Return the offsets of the values in the array's bytes, one more than there are values."""
    buffer = printed.buffers()[1]
    if buffer is None or not len(printed):
        return np.zeros(len(printed) + 1, np.int32)
    return np.frombuffer(buffer, np.int32)[printed.offset : printed.offset + len(printed) + 1]


def is_valid(printed: pa.Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the values that are not NULL."""
    found: npt.NDArray[np.bool_] = printed.is_valid().to_numpy(zero_copy_only=False)
    return found


def refuse(bad: Any, reason: str) -> None:
    """Raise CellError for the first row where `bad`, a boolean Arrow or numpy array, is true."""
    if not isinstance(bad, np.ndarray):
        bad = bad.fill_null(False).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(bad)
    if len(rows):
        raise CellError(int(rows[0]), reason)
