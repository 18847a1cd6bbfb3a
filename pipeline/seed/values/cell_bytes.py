"""Arrays of bytes as the cells that the decoder's readers take.

A printed value is often just what is stored (text in UTF-8, bytes, a geometry): then the decoder's
own reader reads it, and nothing can differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.columns.cells import HEAD_SLACK, SLACK, CellError, Cells, Column, ColumnReader


class PrintedReader(Protocol):
    """Reads the printed values of one column."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of every array that `read` gives."""

    def read(self, printed: pa.Array) -> Column:
        """The values of a cell array; CellError for one that is none of the column's type."""


@dataclass(frozen=True, slots=True)
class StoredReader:
    """Values that are printed as they are stored, or that `reader` has its own way to unpack."""

    reader: ColumnReader

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that the decoder's reader gives."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """What the decoder reads of these bytes."""
        return self.reader.read(cells_of(printed))


def cells_of(printed: pa.Array) -> Cells:
    """A cell array as the decoder's cells: its bytes copied once, with slack on both sides."""
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
    """Where each value begins in the array's bytes, and where the last one ends."""
    buffer = printed.buffers()[1]
    if buffer is None or not len(printed):
        return np.zeros(len(printed) + 1, np.int32)
    return np.frombuffer(buffer, np.int32)[printed.offset : printed.offset + len(printed) + 1]


def is_valid(printed: pa.Array) -> npt.NDArray[np.bool_]:
    """For each value whether it is not NULL."""
    found: npt.NDArray[np.bool_] = printed.is_valid().to_numpy(zero_copy_only=False)
    return found


def refuse(bad: Any, reason: str) -> None:
    """CellError for the first row where `bad`, a boolean array of Arrow's or numpy's, is true."""
    mask = bad if isinstance(bad, np.ndarray) else _mask(bad)
    rows = np.flatnonzero(mask)
    if len(rows):
        raise CellError(int(rows[0]), reason)


def _mask(bad: pa.Array) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = bad.fill_null(False).to_numpy(zero_copy_only=False)
    return mask
