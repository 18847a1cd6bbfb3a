"""BINARY, VARBINARY and BLOB as bytes. BINARY is padded again with the 0x00 that the log strips."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.values import allocate_values, copied, copy_padded
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition


@dataclass(frozen=True, slots=True)
class BinaryReader:
    """Reader for VARBINARY or BLOB."""

    arrow_type: pa.DataType

    def read(self, cells: Cells) -> Column:
        """Return the cells' bytes."""
        return Column(copied(cells).array(self.arrow_type, cells))


@dataclass(frozen=True, slots=True)
class PaddedBinaryReader:
    """Reader for BINARY(`width`)."""

    arrow_type: pa.DataType
    width: int

    def read(self, cells: Cells) -> Column:
        """Return the cells padded to `width` bytes; CellError for a longer value."""
        values = allocate_values(len(cells.positions), self.width * len(cells.positions))
        row = copy_padded(
            cells.buffer, cells.positions, cells.lengths, self.width, values.ends, values.bytes
        )
        if row >= 0:
            raise CellError(row, f"a value is longer than its type BINARY({self.width})")
        return Column(values.array(self.arrow_type, cells))


def binary_reader(column: ColumnDefinition) -> ColumnReader:
    """Return the reader for a string column with the collation `binary`."""
    if column.type == ColumnType.STRING:
        return PaddedBinaryReader(pa.binary(), column.length)
    return BinaryReader(pa.binary())
