"""JSON columns: MySQL's binary JSON to JSON text of the same value.

Integers, decimals and doubles stay distinct: an integral double has a point or an exponent. The
text is compact, with the shortest form of doubles, so it may differ from MySQL's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import LARGEST, allocate, allocate_text
from decoder.columns.cells import CellError, Cells, Column
from decoder.columns.json_errors import REASONS, TOO_LONG
from decoder.columns.json_values import (
    LONGEST_SCALAR,
    STACK_SIZE,
    WORST_EXPANSION,
    write_documents,
)
from decoder.columns.values import arrow_array, total_length
from decoder.kernels.memory import Bytes

USUAL_EXPANSION = 2
_TYPE = pa.string()


@dataclass(frozen=True, slots=True)
class JsonReader:
    """Reader for JSON as text."""

    arrow_type: pa.DataType = _TYPE

    def read(self, cells: Cells) -> Column:
        """Return the cells as JSON text; CellError for a malformed document."""
        rows = len(cells.positions)
        offsets, ends = allocate(4 * (rows + 1))
        total = total_length(cells.positions, cells.lengths)
        capacity = min(USUAL_EXPANSION * total + LONGEST_SCALAR * rows, LARGEST)
        data, text = allocate_text(capacity)
        stack = np.empty(STACK_SIZE, np.int64)
        row, at = 0, 0
        while True:
            source = (cells.buffer, cells.positions, cells.lengths)
            row, end = write_documents(*source, row, at, ends, text, capacity, stack)
            if row == rows:
                break
            if end < 0:
                raise CellError(row, REASONS[end])
            at = end
            capacity = _larger_capacity(capacity, at, row, int(cells.lengths[row]))
            data, text = _grow(text, at, capacity)
        return Column(arrow_array(self.arrow_type, cells, offsets, data))


def _larger_capacity(capacity: int, at: int, row: int, length: int) -> int:
    needed = at + WORST_EXPANSION * length + LONGEST_SCALAR
    if needed > LARGEST:
        raise CellError(row, f"{REASONS[TOO_LONG]}, or than one block of rows can contain")
    return min(max(needed, 2 * capacity), LARGEST)


def _grow(text: Bytes, used: int, capacity: int) -> tuple[object, Bytes]:
    data, larger = allocate_text(capacity)
    larger[:used] = text[:used]
    return data, larger
