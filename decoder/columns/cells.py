"""What passes between the walk and the column readers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from decoder.errors import MalformedError

SLACK = 64
"""Readable bytes that every buffer has behind its last event."""
HEAD_SLACK = 16
"""Readable bytes that every buffer has before its first event."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one column in a block of rows.

    `buffer` uint8; `positions` int32 offsets into it, −1 where NULL; `lengths` int32 bytes, only
    for columns of variable length (empty otherwise); `nulls` how many positions are −1.
    """

    buffer: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.int32]
    lengths: npt.NDArray[np.int32]
    nulls: int


NO_ROWS: npt.NDArray[np.int64] = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Column:
    """An Arrow array of as many values as there were cells, and the rows that lost something."""

    array: Any  # pa.Array, which has no type stubs
    lossy: npt.NDArray[np.int64] = field(default_factory=lambda: NO_ROWS)


class ColumnReader(Protocol):
    """Reads the cells of one column; holds only what the definition resolved to."""

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of every array that `read` gives."""

    def read(self, cells: Cells) -> Column:
        """The cells' values; `CellError` for bytes that MySQL does not write."""


class CellError(MalformedError):
    """The bytes of a value contradict its type; `row` is its index in the block of cells."""

    def __init__(self, row: int, reason: str) -> None:
        super().__init__(reason)
        self.row = row

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Keeps the row, and what was filled in by `at`, through pickle."""
        where = (self.file, self.position, self.event_type, self.table)
        return _restore, (type(self), self.row, self.reason, *where)


def _restore(
    kind: type[CellError],
    row: int,
    reason: str,
    file: str | None,
    position: int | None,
    event_type: str | None,
    table: str | None,
) -> CellError:
    error = kind(row, reason)
    error.at(file=file, position=position, event_type=event_type, table=table)
    return error
