"""The input and output of column readers, and their interface."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.errors import MalformedError

SLACK = 64
"""Readable bytes that every buffer has after its last event."""
HEAD_SLACK = 16
"""Readable bytes that every buffer has before its first event."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one column in a block of rows.

    `buffer`: uint8. `positions`: int32 offsets into it, −1 for NULL. `lengths`: int32 sizes in
    bytes, empty for fixed-length types. `nulls`: the number of positions that are −1.
    """

    buffer: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    nulls: int


NO_ROWS: npt.NDArray[np.int64] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """An Arrow array with one value per cell, and the rows whose value was replaced."""

    array: Any  # pa.Array, which has no type stubs
    lossy: npt.NDArray[np.int64] = field(default_factory=lambda: NO_ROWS)


class ColumnReader(Protocol):
    """Reader for the cells of one column; has no state besides its configuration."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the arrays that `read` returns."""

    def read(self, cells: Cells) -> Column:
        """Return the cells' values; raise `CellError` for bytes that MySQL never writes."""


class CellError(MalformedError):
    """A value whose bytes contradict its type; `row` is its index in the block of cells."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the row, and the fields set by `at`, through pickle."""
        return type(self), (self.row, self.reason), self.__dict__
