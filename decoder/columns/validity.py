"""Arrow's validity bitmaps: one bit per row, 0 for null."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.columns.arrays import Int32s, allocate
from decoder.columns.cells import Cells
from decoder.kernels.memory import Bytes, item, kernel, shift_left, shift_right_logical, store_64


@kernel
def fill_validity(positions: Int32s, bitmap: Bytes) -> None:
    """Fill `bitmap` in whole 8-byte words; its size is a multiple of 64 bits."""
    rows = len(positions)
    for first in range(0, rows, 64):
        word = 0
        for bit in range(min(64, rows - first)):
            null = shift_right_logical(item(positions, first + bit), 63)
            word |= shift_left(1 - null, bit)
        store_64(bitmap, first >> 3, word)


def validity(cells: Cells) -> Any:
    """Return the cells' bitmap as a pa.Buffer, or None if no cell is NULL."""
    if not cells.nulls:
        return None
    buffer, bitmap = allocate((len(cells.positions) + 63 >> 6) * 8)
    fill_validity(cells.positions, bitmap)
    return buffer


def without(cells: Cells, rows: npt.NDArray[np.int64]) -> Cells:
    """Return the cells with NULL in `rows`, none of which was NULL."""
    if not len(rows):
        return cells
    positions = cells.positions.copy()
    positions[rows] = -1
    return Cells(cells.buffer, positions, cells.lengths, cells.nulls + len(rows))
