"""CHAR, VARCHAR and TEXT: text in the column's charset to Arrow's UTF-8 strings.

The bytes of a block are copied first. Where all of them are ASCII, or valid UTF-8 in a UTF-8
charset, that is the result; else the kernel of the charset (`transcoding`) goes over the cells.
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
from decoder.columns.values import Values, allocate_values, copied
from decoder.constants import ColumnType
from decoder.kernels.memory import Bytes, kernel, load_u8, load_u32
from decoder.model.definition import ColumnDefinition

Transcode = Callable[[Bytes, Int32s, Int32s, Bytes, Bytes, Int64s], int]
"""(buffer, positions, lengths, offsets, text, lost) to the number of rows in `lost`."""

WORST_EXPANSION = 3
"""Bytes of UTF-8 for one byte of another charset: U+FFFD, or half-width katakana in sjis."""
UTF8_CHARSETS = frozenset({"utf8mb4", "utf8mb3"})
NOT_ASCII_BELOW_0X80 = frozenset({"swe7", "ucs2", "utf16", "utf16le", "utf32"})


@kernel
def starts_are_characters(offsets: Bytes, rows: int, size: int, text: Bytes) -> bool:
    """Whether no value starts inside a character.

    Together with the whole text being valid it means that each value is.
    """
    for row in range(rows):
        start = load_u32(offsets, 4 * row)
        if start < size and load_u8(text, start) >> 6 == 2:
            return False
    return True


@dataclass(frozen=True, slots=True)
class TextReader:
    """Text of one charset.

    `ascii_compatible`: bytes below 0x80 are ASCII. `utf8`: valid bytes need no transcoding.
    """

    arrow_type: pa.DataType
    transcode: Transcode
    ascii_compatible: bool
    utf8: bool

    def read(self, cells: Cells) -> Column:
        """The cells as strings; rows with bytes that are no character are lossy."""
        if self.ascii_compatible:
            values = copied(cells)
            if self._needs_no_transcoding(values, len(cells.positions)):
                return Column(values.array(self.arrow_type, cells))
            size = values.size
        else:
            size = int(np.where(cells.positions >= 0, cells.lengths, 0).sum(dtype=np.int64))
        return self._transcoded(cells, size)

    def _needs_no_transcoding(self, values: Values, rows: int) -> bool:
        if is_ascii(values.bytes, 0, values.size):
            return True
        return (
            self.utf8
            and is_utf8(values.bytes, 0, values.size)
            and starts_are_characters(values.ends, rows, values.size, values.bytes)
        )

    def _transcoded(self, cells: Cells, size: int) -> Column:
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
        return _with(transcode_utf16, charset != "utf16le")
    if is_multi_byte(charset):
        tables = multi_byte(charset)
        return _with(transcode_multi_byte, tables.single, tables.double, tables.triple, tables.quad)
    return _with(transcode_single_byte, packed_characters(single_byte(charset)))


def _with(kernel: Callable[..., int], *tables: Any) -> Transcode:
    def transcode(
        buffer: Bytes, positions: Int32s, lengths: Int32s, offsets: Bytes, text: Bytes, lost: Int64s
    ) -> int:
        return kernel(buffer, positions, lengths, *tables, offsets, text, lost)

    return transcode


def charset_reader(charset: str) -> ColumnReader:
    """The reader of text in a charset."""
    return TextReader(
        pa.string(),
        _transcoder(charset),
        ascii_compatible=charset not in NOT_ASCII_BELOW_0X80,
        utf8=charset in UTF8_CHARSETS,
    )


def text_reader(column: ColumnDefinition) -> ColumnReader:
    """The reader of a CHAR, VARCHAR, TEXT column or, for the collation `binary`, of its bytes.

    A log that tells no collation (before 8.0) leaves CHAR and VARCHAR to be taken for UTF-8, and
    BLOB and TEXT, which cannot be told apart in it, for bytes.
    """
    if column.collation is None:
        character = column.type in (ColumnType.STRING, ColumnType.VARCHAR, ColumnType.VAR_STRING)
        return charset_reader("utf8mb4") if character else binary_reader(column)
    charset = charset_of(column.collation)
    return binary_reader(column) if charset == "binary" else charset_reader(charset)
