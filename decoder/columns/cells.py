"""What passes between the walk and the column readers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SLACK = 64
"""Readable bytes that every buffer has behind its last event."""
HEAD_SLACK = 16
"""Readable bytes that every buffer has before its first event."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one column in a block of rows.

    `buffer` uint8; `positions` int32 offsets into it, −1 where NULL; `lengths` int32 bytes, only
    for columns of variable length (empty otherwise); `nulls` how many positions are −1.
    """

    buffer: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    nulls: int


NO_ROWS: npt.NDArray[np.int64] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """An Arrow array of as many values as there were cells, and the rows that lost something."""

    array: Any  # pa.Array, which has no type stubs
    lossy: npt.NDArray[np.int64] = NO_ROWS


class ColumnReader(Protocol):
    """Reads the cells of one column; holds only what the definition resolved to."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of every array that `read` gives."""

    def read(self, cells: Cells) -> Column:
        """The cells' values."""
