"""COMPRESSED columns of MariaDB: values are decompressed, then read as text or bytes.

Format (MariaDB sql/field.cc `Field_longstr::compress`, sql/field_comp.cc): an empty value has no
bytes; any other starts with a u8, whose upper four bits are the method. Method 0: the uncompressed
value follows. Method 8: the lower three bits are the size in bytes of the value's length, which
follows big-endian, then a deflate stream, with zlib's header unless bit 3 is set.

Unlike the other readers, this one makes a Python call for each compressed value: zlib takes far
longer than the call.
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
"""Size of the method byte, which the length of a VARCHAR's type includes."""


@dataclass(frozen=True, slots=True)
class CompressedReader:
    """Reader for values of at most `longest` bytes, which `content` reads once decompressed."""

    content: ColumnReader
    longest: int

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the reader of the decompressed values."""
        return self.content.arrow_type

    def read(self, cells: Cells) -> Column:
        """Return the cells' values; CellError for one that cannot be decompressed.

        UnsupportedError if one array cannot hold all of them.
        """
        return self.content.read(self._decompress(cells))

    def _decompress(self, cells: Cells) -> Cells:
        """Return the plain values, in a new buffer unless none of them is compressed."""
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
            value = self._decompress_value(stored, row, LARGEST - len(values))
            positions[row], lengths[row] = len(values), len(value)
            values += value
        values += bytes(SLACK)
        return Cells(np.frombuffer(values, np.uint8), positions, lengths, cells.nulls)

    def _decompress_value(
        self, stored: memoryview, row: int, max_length: int
    ) -> bytes | memoryview:
        if not len(stored):
            return b""
        method = stored[0] >> 4
        if method == _PLAIN:
            return stored[1:]
        if method != _ZLIB:
            raise CellError(row, f"a COMPRESSED value has the unknown compression method {method}")
        size = stored[0] & _LENGTH_BYTES
        length = int.from_bytes(stored[1 : 1 + size], "big")
        if size > _MAX_LENGTH_BYTES or length > self.longest:
            raise CellError(row, f"a COMPRESSED value of {length} bytes (at most {self.longest})")
        if length > max_length:
            raise UnsupportedError("COMPRESSED values expand to more bytes than one array can hold")
        return _inflate(stored[1 + size :], length, row, header=not stored[0] & _WITHOUT_HEADER)


def _inflate(content: memoryview, length: int, row: int, *, header: bool) -> bytes:
    stream = zlib.decompressobj(zlib.MAX_WBITS if header else -zlib.MAX_WBITS)
    try:
        # Room for one byte more than declared, to detect more data, and to reach the stream's end.
        value = stream.decompress(content, length + 1)
    except zlib.error as error:
        raise CellError(row, f"a COMPRESSED value cannot be decompressed: {error}") from error
    if len(value) != length or not stream.eof or stream.unused_data:
        reason = f"the size of a decompressed value is not the {length} bytes that it declares"
        raise CellError(row, reason)
    return value


def compressed_reader(column: ColumnDefinition) -> CompressedReader:
    """Return the reader for VARCHAR, VARBINARY, TEXT or BLOB with the attribute COMPRESSED."""
    if column.type == ColumnType.VARCHAR_COMPRESSED:
        longest = column.length - _METHOD_BYTE
        content = replace(column, type=ColumnType.VARCHAR, length=longest)
    else:
        longest = (1 << 8 * column.length_bytes) - 1
        content = replace(column, type=ColumnType.BLOB)
    return CompressedReader(text_reader(content), longest)
