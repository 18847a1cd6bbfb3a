"""CHAR, VARCHAR and TEXT: text in the column's charset to Arrow's UTF-8 strings.

A block's bytes are copied first. If all of them are ASCII, or valid UTF-8 of a UTF-8 charset, the
copy is the result; otherwise the charset's kernel (`transcoding`) converts the cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s, Int64s
from decoder.columns.binary import binary_reader
from decoder.columns.cells import Cells, Column, ColumnReader
from decoder.columns.charsets import charset_of, is_multi_byte, multi_byte, single_byte
from decoder.columns.transcoding import (
    packed_characters,
    repair_utf8,
    transcode_multi_byte,
    transcode_single_byte,
    transcode_utf16,
    transcode_utf32,
)
from decoder.columns.utf8 import is_ascii, is_utf8
from decoder.columns.values import Values, allocate_values, copied, total_length
from decoder.constants import ColumnType
from decoder.kernels.memory import Bytes, kernel, load_u8, load_u32
from decoder.model.definition import ColumnDefinition

Transcode = Callable[[Bytes, Int32s, Int32s, Bytes, Bytes, Int64s], int]
"""(buffer, positions, lengths, offsets, text, lost) -> number of lossy rows, listed in `lost`."""

WORST_EXPANSION = 3
"""Bytes of UTF-8 per byte of another charset: U+FFFD, or half-width katakana in sjis."""
UTF8_CHARSETS = frozenset({"utf8mb4", "utf8mb3"})
NOT_ASCII_BELOW_0X80 = frozenset({"swe7", "ucs2", "utf16", "utf16le", "utf32"})


@kernel
def starts_are_characters(offsets: Bytes, rows: int, size: int, text: Bytes) -> bool:
    """Return True if no value starts inside a character.

    If the concatenated text is valid UTF-8 as well, each value is.
    """
    for row in range(rows):
        start = load_u32(offsets, 4 * row)
        if start < size and load_u8(text, start) >> 6 == 2:
            return False
    return True


@dataclass(frozen=True, slots=True)
class TextReader:
    """Reader for text of one charset.

    `ascii_compatible`: bytes below 0x80 are ASCII. `utf8`: the charset is UTF-8.
    """

    arrow_type: pa.DataType
    transcode: Transcode
    ascii_compatible: bool
    utf8: bool

    def read(self, cells: Cells) -> Column:
        """Return the cells as strings; rows with bytes invalid in the charset are lossy."""
        if self.ascii_compatible:
            values = copied(cells)
            if self._needs_no_transcoding(values, len(cells.positions)):
                return Column(values.array(self.arrow_type, cells))
            size = values.size
        else:
            size = total_length(cells.positions, cells.lengths)
        return self._transcode_cells(cells, size)

    def _needs_no_transcoding(self, values: Values, rows: int) -> bool:
        if is_ascii(values.bytes, 0, values.size):
            return True
        return (
            self.utf8
            and is_utf8(values.bytes, 0, values.size)
            and starts_are_characters(values.ends, rows, values.size, values.bytes)
        )

    def _transcode_cells(self, cells: Cells, size: int) -> Column:
        rows = len(cells.positions)
        values = allocate_values(rows, WORST_EXPANSION * size)
        lost = np.empty(rows, np.int64)
        source = (cells.buffer, cells.positions, cells.lengths)
        count = self.transcode(*source, values.ends, values.bytes, lost)
        return Column(values.array(self.arrow_type, cells), lost[:count])


def _transcoder(charset: str) -> Transcode:
    if charset in UTF8_CHARSETS:
        return repair_utf8
    if charset == "utf32":
        return transcode_utf32
    if charset in ("ucs2", "utf16", "utf16le"):
        return _bind_tables(transcode_utf16, charset != "utf16le")
    if is_multi_byte(charset):
        return _bind_tables(transcode_multi_byte, *multi_byte(charset))
    return _bind_tables(transcode_single_byte, packed_characters(single_byte(charset)))


def _bind_tables(kernel: Callable[..., int], *tables: Any) -> Transcode:
    def transcode(
        buffer: Bytes, positions: Int32s, lengths: Int32s, offsets: Bytes, text: Bytes, lost: Int64s
    ) -> int:
        return kernel(buffer, positions, lengths, *tables, offsets, text, lost)

    return transcode


def charset_reader(charset: str) -> ColumnReader:
    """Return the reader for text in a charset."""
    return TextReader(
        pa.string(),
        _transcoder(charset),
        ascii_compatible=charset not in NOT_ASCII_BELOW_0X80,
        utf8=charset in UTF8_CHARSETS,
    )


def text_reader(column: ColumnDefinition) -> ColumnReader:
    """Return the reader for a CHAR, VARCHAR or TEXT column; for the collation `binary`, of bytes.

    If the log has no collations (before MySQL 8.0), CHAR and VARCHAR are read as UTF-8, and BLOB
    and TEXT, which such a log does not distinguish, as bytes.
    """
    if column.collation is None:
        character = column.type in (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING)
        return charset_reader("utf8mb4") if character else binary_reader(column)
    charset = charset_of(column.collation)
    return binary_reader(column) if charset == "binary" else charset_reader(charset)
