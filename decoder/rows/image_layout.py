"""Pass 4: the layout of row images for a table map and column bitmap, determined once.

A row image is a bitmap of NULLs (a bit for each present column, lowest first), followed by the
values that are not NULL. A value has a fixed width or a length prefix. So the columns form
**runs**: any number of fixed width, then at most one of variable length. The start of a run and the
widths of its NULLs determine where each of its cells is; the walk therefore stores only the starts
of runs, from which `decoder.rows.cell_positions.locate` computes cell positions.

Sizes: MySQL `sql/log_event.cc`, `calc_field_size`; `libs/mysql/binlog/event/binary_log_funcs.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from decoder.columns.arrays import Int64s
from decoder.constants import ColumnType as T
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition, TableDefinition

MAX_RUN_COLUMNS = 56
"""Limit so that the NULL bits of a run, at any bit offset, fit in one unaligned 8-byte load."""

# Columns of `ImageLayout.runs`.
FIRST, WIDTH, PREFIX, LENGTH_MASK, NULL_MASK, FIXED_MASK, VARIABLE_BIT = range(7)
RUN_FIELDS = 7
# Columns of `ImageLayout.cells`.
RUN, OFFSET, BIT, BEFORE, CELL_PREFIX, VARIABLE, CELL_WIDTH = range(7)
CELL_FIELDS = 7

_DECIMAL_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
"""Bytes of a group of 0 to 9 decimal digits."""


def _decimal_width(column: ColumnDefinition) -> int:
    whole, fraction = column.precision - column.scale, column.scale
    groups = 4 * (whole // 9 + fraction // 9)
    return groups + _DECIMAL_BYTES[whole % 9] + _DECIMAL_BYTES[fraction % 9]


def _fraction_width(column: ColumnDefinition) -> int:
    return (column.fraction + 1) // 2


def _whole_seconds(width: int) -> Callable[[ColumnDefinition], int]:
    """Return a width function for a format from before 5.6.4, which has no fractional digits.

    It raises UnsupportedError if the column may be in another format.
    """

    def checked(column: ColumnDefinition) -> int:
        column.require_fraction()
        return width

    return checked


def _old_decimal(column: ColumnDefinition) -> int:
    raise UnsupportedError(
        f"column {column.name} is a DECIMAL from before MySQL 5.0, and the log does not contain the"
        " length of its values; rows logged after an ALTER TABLE … FORCE can be read"
    )


_WIDTHS: dict[T, Callable[[ColumnDefinition], int]] = {
    **dict.fromkeys((T.TINY, T.YEAR), lambda _: 1),
    T.SHORT: lambda _: 2,
    **dict.fromkeys((T.INT24, T.DATE, T.NEWDATE), lambda _: 3),
    **dict.fromkeys((T.LONG, T.FLOAT), lambda _: 4),
    **dict.fromkeys((T.LONGLONG, T.DOUBLE), lambda _: 8),
    T.TIME: _whole_seconds(3),
    T.TIMESTAMP: _whole_seconds(4),
    T.DATETIME: _whole_seconds(8),
    T.TIME2: lambda column: 3 + _fraction_width(column),
    T.TIMESTAMP2: lambda column: 4 + _fraction_width(column),
    T.DATETIME2: lambda column: 5 + _fraction_width(column),
    T.NEWDECIMAL: _decimal_width,
    T.DECIMAL: _old_decimal,
    T.BIT: lambda column: (column.length + 7) // 8,
    **dict.fromkeys((T.ENUM, T.SET), lambda column: column.length),
}


def stored_width(column: ColumnDefinition) -> int:
    """Return the bytes of a fixed-width value; 0 for values with a length prefix.

    Raises UnsupportedError if the width of the column's values is not known.
    """
    if column.length_bytes:
        return 0
    width = _WIDTHS.get(column.type)
    if width is None:
        raise UnsupportedError(
            f"column {column.name} has the type {column.type.name}, which is not supported"
        )
    return width(column)


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """The layout of one row image, indexed by column of the image, in the table's order.

    `present`: indices of the columns among the table's logged ones; `variable`: number of
    variable-length columns. `runs`: per run, its first column, the bytes of its fixed columns, the
    size and mask of its length prefix (0 without a variable column), masks of its NULL bits: all,
    the fixed columns', the variable column's. `cells`: per column, its run, its offset in the run,
    its NULL bit, the mask of the run's columns before it, the size of its length prefix, its number
    among the variable columns (−1: fixed), its width.
    """

    present: tuple[int, ...]
    variable: int
    runs: Int64s
    cells: Int64s

    @property
    def columns(self) -> int:
        """Number of columns in the image."""
        return len(self.present)

    @property
    def widths(self) -> Int64s:
        """Bytes of each fixed-width column, 0 for others."""
        widths: Int64s = np.ascontiguousarray(self.cells[:, CELL_WIDTH])
        return widths


def layout_of(definition: TableDefinition, bitmap: bytes) -> ImageLayout:
    """Return the layout of images with the columns in `bitmap` (a bit for each, lowest first).

    Raises UnsupportedError with the name of a column whose values have an unknown length.
    """
    columns = definition.logged
    present = tuple(place for place in range(len(columns)) if bitmap[place // 8] >> place % 8 & 1)
    runs: list[list[int]] = []
    cells = np.zeros((len(present), CELL_FIELDS), np.int64)
    variable = 0
    first, offset = 0, 0
    for index, column in enumerate(columns[place] for place in present):
        width = stored_width(column)
        bit = index - first
        before = (1 << bit) - 1
        number = -1 if width or not column.length_bytes else variable
        cells[index] = (len(runs), offset, 1 << bit, before, column.length_bytes, number, width)
        offset += width
        if column.length_bytes:
            variable += 1
        if column.length_bytes or bit + 1 == MAX_RUN_COLUMNS:
            runs.append(_run(first, offset, bit + 1, column.length_bytes))
            first, offset = index + 1, 0
    runs.append(_run(first, offset, len(present) - first, 0))
    return ImageLayout(present, variable, np.array(runs, np.int64), cells)


def _run(first: int, width: int, columns: int, prefix: int) -> list[int]:
    every = (1 << columns) - 1
    variable = 1 << (columns - 1) if prefix else 0
    return [first, width, prefix, (1 << 8 * prefix) - 1, every, every & ~variable, variable]
