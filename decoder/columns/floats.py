"""FLOAT and DOUBLE: little-endian IEEE 754, copied bit for bit."""

from __future__ import annotations

import pyarrow as pa

from decoder.columns.integers import FixedWidthReader, read_4_to_4, read_8_to_8
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition


def float_reader(column: ColumnDefinition) -> FixedWidthReader:
    """Return the reader for FLOAT or DOUBLE."""
    if column.type == ColumnType.FLOAT:
        return FixedWidthReader(pa.float32(), read_4_to_4)
    return FixedWidthReader(pa.float64(), read_8_to_8)
