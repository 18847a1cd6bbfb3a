"""Collect the rows that the kernels of `decoder.dump_text` parse into cell arrays."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from decoder.columns import HEAD_SLACK, SLACK, CellError, Cells, charset_reader, copied
from decoder.columns.charsets import charset_of
from decoder.constants import BINARY_COLLATION, LogicalType
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.addresses import address_in_bytes
from pipeline.seed.errors import DumpError, shown
from pipeline.seed.values.cell_bytes import cells_of

MOST_ROWS = 1 << 16
"""The most rows of a batch."""
MOST_CELLS = 1 << 20
"""The most cells of a batch, which limits the rows of tables with many columns."""
MOST_BYTES = 16 << 20
"""The most bytes of a batch, unless a single row is longer."""

ConvertCells = Callable[[pa.Array], pa.Array]
"""Converts a column's dumped values to its cells. Raises CellError for an invalid one."""


class CellRows:
    """Buffers for rows with the columns `names`, filled by a kernel through `state` and the arrays.

    `turns`: conversions of columns, by their casefolded names.
    """

    def __init__(
        self,
        path: str,
        table: str,
        names: Sequence[str],
        turns: Mapping[str, ConvertCells] | None = None,
    ) -> None:
        self._path = path
        self._table = table
        self._places = {name.casefold(): place for place, name in enumerate(names)}
        self._turns = turns or {}
        self.names = tuple(names)
        self.columns = len(names)
        self.most = max(1, min(MOST_ROWS, MOST_CELLS // max(1, len(names))))
        self.out = np.zeros(HEAD_SLACK + MOST_BYTES + SLACK, np.uint8)
        self.positions = np.zeros(self.columns * self.most, np.int32)
        self.lengths = np.zeros(self.columns * self.most, np.int32)
        self.state = np.array([0, HEAD_SLACK], np.int64)
        self._given = 0

    @property
    def rows(self) -> int:
        """The number of rows in the buffers."""
        return int(self.state[0])

    def has_room(self, size: int) -> bool:
        """Return True if values of `size` more bytes of a dump fit; empty buffers are enlarged."""
        if int(self.state[1]) + size + SLACK <= len(self.out):
            return True
        if self.rows:
            return False
        self.out = np.zeros(HEAD_SLACK + size + 2 * SLACK, np.uint8)
        return True

    def taken(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows, if any, as cell arrays of these columns, and clear the buffers."""
        if self.rows:
            yield [self._array(column) for column in columns]
        self._given += self.rows
        self.state[:] = (0, HEAD_SLACK)

    def _array(self, column: ColumnDefinition) -> Any:
        name = column.name.casefold()
        first = self._places[name] * self.most
        positions = self.positions[first : first + self.rows]
        lengths = self.lengths[first : first + self.rows]
        cells = Cells(self.out, positions, lengths, int(np.count_nonzero(positions < 0)))
        array = copied(cells).array(pa.binary(), cells)
        turn = self._turns.get(name)
        if turn is None:
            return array
        try:
            return turn(array)
        except CellError as error:
            raise DumpError(
                self._path,
                f"column {column.name}, row {self._given + error.row + 1}:"
                f" {shown(array[error.row].as_py())}: {error.reason}",
                table=self._table,
            ) from error


def by_value(decode: Callable[[bytes], bytes], reason: str) -> ConvertCells:
    """Return a conversion that decodes values one by one; `decode` raises ValueError."""

    def turn(array: pa.Array) -> pa.Array:
        values = array.to_pylist()
        for row, value in enumerate(values):
            if value is not None:
                try:
                    values[row] = decode(value)
                except ValueError as error:
                    raise CellError(row, reason) from error
        return pa.array(values, pa.binary())

    return turn


FROM_BASE64 = by_value(binascii.a2b_base64, "it is not valid base64")
UNHEX = by_value(binascii.unhexlify, "it is not valid hexadecimal")


def addresses(kind: LogicalType | None) -> ConvertCells:
    """Return the conversion of a printed UUID, INET4 or INET6 (None: any) to its logged bytes."""

    def decode(text: bytes) -> bytes:
        raw = address_in_bytes(text.decode(), kind)
        if raw is None:
            raise ValueError(text)
        return raw

    return by_value(decode, f"it is not a valid {kind.value if kind else 'INET4, INET6 or UUID'}")


def stored_text(column: ColumnDefinition) -> ConvertCells | None:
    """Return the conversion to UTF-8 of text in the column's own charset, as mydumper writes it.

    None if no conversion is needed.
    """
    if column.collation is None or column.collation == BINARY_COLLATION:
        return None
    charset = charset_of(column.collation)
    if charset == "utf8mb4":
        return None
    reader = charset_reader(charset)
    return lambda array: reader.read(cells_of(array)).array.cast(pa.binary())
