"""Cells made by hand, and what readers make of them, for tests of column readers."""

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
"""Between and behind the cells: no reader may let it through."""


def cells(values: Sequence[bytes | None], gap: int = 3) -> Cells:
    """These values (None: NULL) in a buffer, `gap` bytes of filler between them."""
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
    """A column named `x`."""
    return ColumnDefinition("x", kind, **fields)


def read(
    definition: ColumnDefinition,
    values: Sequence[bytes | None],
    options: TypeOptions | None = None,
) -> Column:
    """What the column's reader makes of the values, checked to be a valid Arrow array."""
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
    """The same as Python values."""
    found: list[Any] = read(definition, stored, options).array.to_pylist()
    return found
