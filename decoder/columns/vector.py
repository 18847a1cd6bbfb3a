"""VECTOR of MySQL and MariaDB: little-endian 4-byte floats."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column
from decoder.columns.values import arrow_array, copied

FLOAT_SIZE = 4
_TYPE = pa.list_(pa.float32())


@dataclass(frozen=True, slots=True)
class VectorReader:
    """Reader for vectors as list<float32>."""

    arrow_type: pa.DataType = _TYPE

    def read(self, cells: Cells) -> Column:
        """Return the cells as lists; CellError for a length that is not a multiple of four."""
        odd = np.flatnonzero((cells.lengths % FLOAT_SIZE != 0) & (cells.positions >= 0))
        if len(odd):
            raise CellError(int(odd[0]), "the length of a VECTOR is not a multiple of four bytes")
        rows = len(cells.positions)
        values = copied(cells)
        ends = values.ends[: 4 * (rows + 1)].view(np.int32)
        ends //= FLOAT_SIZE
        count = values.size // FLOAT_SIZE
        floats = pa.Array.from_buffers(pa.float32(), count, [None, values.data])
        return Column(arrow_array(self.arrow_type, cells, values.offsets, children=[floats]))
