"""Handmade cells and readers of them, for tests of column readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from decoder import TypeOptions
from decoder.columns.cells import HEAD_SLACK, SLACK, Cells, Column
from decoder.columns.registry import reader
from decoder.constants import ColumnType
from decoder.model.definition import ColumnDefinition

FILLER = 0xA5
"""Between and after the cells: must not appear in any result."""


def cells(values: Sequence[bytes | None], gap: int = 3) -> Cells:
    """Return these values (None: NULL) in a buffer, with `gap` bytes of filler between them."""
    buffer = bytearray([FILLER] * HEAD_SLACK)
    positions, lengths = [], []
    for value in values:
        positions.append(-1 if value is None else len(buffer))
        lengths.append(0 if value is None else len(value))
        buffer += (value or b"") + bytes([FILLER] * gap)
    buffer += bytes([FILLER] * SLACK)
    return Cells(
        np.frombuffer(buffer, np.uint8),
        np.array(positions, np.int32),
        np.array(lengths, np.int32),
        sum(value is None for value in values),
    )


def column(kind: ColumnType, **fields: Any) -> ColumnDefinition:
    """Return a column named `x`."""
    return ColumnDefinition("x", kind, **fields)


def read(
    definition: ColumnDefinition,
    values: Sequence[bytes | None],
    options: TypeOptions | None = None,
) -> Column:
    """Return what the column's reader makes of the values, validated as an Arrow array."""
    found = reader(definition, options or TypeOptions())
    result = found.read(cells(values))
    result.array.validate(full=True)
    assert result.array.type == found.arrow_type
    assert len(result.array) == len(values)
    return result


def values(
    definition: ColumnDefinition,
    stored: Sequence[bytes | None],
    options: TypeOptions | None = None,
) -> list[Any]:
    """Return the same as Python values."""
    found: list[Any] = read(definition, stored, options).array.to_pylist()
    return found
