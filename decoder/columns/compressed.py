"""COMPRESSED columns of MariaDB: each value as it is or as a zlib stream, then read as the text or
bytes that it was.

Format (MariaDB sql/field.cc `Field_longstr::compress`, sql/field_comp.cc): nothing at all for an
empty value; else a u8 with the method in its upper four bits. Method 0: the value follows as it
is. Method 8: the lower three bits tell in how many bytes the value's length follows, highest first,
then a deflate stream, with zlib's header unless bit 3 is set.

Unlike the other readers this one takes a Python call for each value that is compressed: what it
calls is zlib, which takes far longer than the call.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import LARGEST
from decoder.columns.cells import HEAD_SLACK, SLACK, CellError, Cells, Column, ColumnReader
from decoder.columns.text import text_reader
from decoder.constants import ColumnType
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition

_PLAIN, _ZLIB = 0, 8
_LENGTH_BYTES = 0x07
_WITHOUT_HEADER = 0x08
_MAX_LENGTH_BYTES = 4
_METHOD_BYTE = 1
"""What the longest value of a VARCHAR has before it, and its type's length includes."""


@dataclass(frozen=True, slots=True)
class CompressedReader:
    """Values that `content` reads once they are decompressed; none is longer than `longest`."""

    content: ColumnReader
    longest: int

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the reader of what is compressed."""
        return self.content.arrow_type

    def read(self, cells: Cells) -> Column:
        """The cells' values; CellError for one that cannot be decompressed.

        UnsupportedError where they are more together than an array can hold.
        """
        return self.content.read(self._decompressed(cells))

    def _decompressed(self, cells: Cells) -> Cells:
        """The same values in a buffer of their own, or where none is compressed, in this one."""
        filled = (cells.positions >= 0) & (cells.lengths > 0)
        methods = cells.buffer[np.where(filled, cells.positions, 0)] >> 4
        if not np.any(methods[filled]):
            step = filled.astype(np.int32)
            return replace(cells, positions=cells.positions + step, lengths=cells.lengths - step)
        values = bytearray(HEAD_SLACK)
        positions, lengths = np.full_like(cells.positions, -1), np.zeros_like(cells.lengths)
        for row in np.flatnonzero(cells.positions >= 0).tolist():
            start = int(cells.positions[row])
            stored = cells.buffer.data[start : start + int(cells.lengths[row])]
            value = self._value(stored, row, LARGEST - len(values))
            positions[row], lengths[row] = len(values), len(value)
            values += value
        values += bytes(SLACK)
        return Cells(np.frombuffer(values, np.uint8), positions, lengths, cells.nulls)

    def _value(self, stored: memoryview, row: int, room: int) -> bytes | memoryview:
        if not len(stored):
            return b""
        method = stored[0] >> 4
        if method == _PLAIN:
            return stored[1:]
        if method != _ZLIB:
            raise CellError(row, f"a COMPRESSED value of method {method}, which does not exist")
        size = stored[0] & _LENGTH_BYTES
        length = int.from_bytes(stored[1 : 1 + size], "big")
        if size > _MAX_LENGTH_BYTES or length > self.longest:
            raise CellError(row, f"a COMPRESSED value of {length} bytes (at most {self.longest})")
        if length > room:
            raise UnsupportedError("COMPRESSED values of more bytes than an array can hold")
        return _inflated(stored[1 + size :], length, row, header=not stored[0] & _WITHOUT_HEADER)


def _inflated(content: memoryview, length: int, row: int, *, header: bool) -> bytes:
    stream = zlib.decompressobj(zlib.MAX_WBITS if header else -zlib.MAX_WBITS)
    try:
        # One byte more than announced: room to see that there is more, or the end behind the last.
        value = stream.decompress(content, length + 1)
    except zlib.error as error:
        raise CellError(row, f"a COMPRESSED value that cannot be decompressed: {error}") from error
    if len(value) != length or not stream.eof or stream.unused_data:
        raise CellError(row, f"a COMPRESSED value that is not the {length} bytes it announces")
    return value


def compressed_reader(column: ColumnDefinition) -> CompressedReader:
    """The reader of VARCHAR, VARBINARY, TEXT or BLOB with the attribute COMPRESSED."""
    if column.type == ColumnType.VARCHAR_COMPRESSED:
        longest = column.length - _METHOD_BYTE
        content = replace(column, type=ColumnType.VARCHAR, length=longest)
    else:
        longest = (1 << 8 * column.length_bytes) - 1
        content = replace(column, type=ColumnType.BLOB)
    return CompressedReader(text_reader(content), longest)
