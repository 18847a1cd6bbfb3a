"""BINARY, VARBINARY and BLOB as bytes. BINARY is padded again with the 0x00 that the log strips."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from decoder.columns.cells import Cells, Column, ColumnReader
from decoder.columns.values import BoundedReader, Values, copied, copy_padded
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition


@dataclass(frozen=True, slots=True)
class BinaryReader:
    """Reader for VARBINARY or BLOB."""

    arrow_type: pa.DataType

    def read(self, cells: Cells) -> Column:
        """Return the cells' bytes."""
        return Column(copied(cells).array(self.arrow_type, cells))


def binary_reader(column: ColumnDefinition) -> ColumnReader:
    """Return the reader for a string column with the collation `binary`."""
    if column.type != ColumnType.STRING:
        return BinaryReader(pa.binary())
    width = column.length

    def write(cells: Cells, values: Values) -> int:
        source = (cells.buffer, cells.positions, cells.lengths)
        return copy_padded(*source, width, values.ends, values.bytes)

    fault = f"a value is longer than its type BINARY({width})"
    return BoundedReader(pa.binary(), width, write, fault)
