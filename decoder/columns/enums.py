"""ENUM and SET: numbers in the row, labels in the TABLE_MAP, to the text that MySQL prints.

Two kernels read a column: the first computes the values' offsets, the second copies the labels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from decoder.columns.arrays import Int32s, allocate, allocate_text
from decoder.columns.cells import SLACK, CellError, Cells, Column
from decoder.columns.charsets import REPLACEMENT
from decoder.columns.values import arrow_array
from decoder.constants import ColumnType
from decoder.errors import UnsupportedError
from decoder.kernels.memory import (
    Bytes,
    copy_32,
    inline_kernel,
    item,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    shift_left,
    shift_right_logical,
    store_8,
    store_32,
    subtract_wrapping,
    trailing_zeros,
)
from decoder.model.definition import ColumnDefinition

COMMA = 44


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels in UTF-8, concatenated in `text` (with slack).

    `ends` starts with 0: label n is `text[ends[n]:ends[n + 1]]`.
    """

    ends: Int32s
    text: Bytes

    @classmethod
    def of(cls, labels: tuple[str, ...]) -> Labels:
        """Return the labels of an ENUM or SET."""
        encoded = [label.encode() for label in labels]
        ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
        return cls(ends, np.frombuffer(bytearray(b"".join(encoded) + bytes(SLACK)), np.uint8))


@inline_kernel
def load_index(buffer: Bytes, position: int, size: int) -> int:
    """Load an ENUM's index: 1 for the first label, 0 for the empty error value."""
    return load_u8(buffer, position) if size == 1 else load_u16(buffer, position)


@inline_kernel
def load_members(buffer: Bytes, position: int, size: int) -> int:
    """Load a SET's bits, of 1, 2, 3, 4 or 8 bytes."""
    return load_i64(buffer, position) & shift_right_logical(-1, 64 - 8 * size)


@inline_kernel
def copy_label(labels: Bytes, start: int, end: int, text: Bytes, at: int) -> int:
    """Copy a label in steps of 32 bytes, which need slack after both arrays."""
    copied = 0
    while start + copied < end:
        copy_32(text, at + copied, labels, start + copied)
        copied += 32
    return at + end - start


@kernel
def enum_offsets(buffer: Bytes, positions: Int32s, size: int, ends: Int32s, offsets: Bytes) -> int:
    """Write each value's offset.

    Returns the total size; −1 − row for the first row whose index has no label.
    """
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        index = load_index(buffer, position, size)
        if index >= len(ends):
            return -1 - row
        if index:
            at += item(ends, index) - item(ends, index - 1)
    store_32(offsets, 4 * len(positions), at)
    return at


@kernel
def enum_text(
    buffer: Bytes, positions: Int32s, size: int, ends: Int32s, labels: Bytes, text: Bytes
) -> None:
    """Write each value's label, at the offsets of `enum_offsets`."""
    at = 0
    for row in range(len(positions)):
        position = item(positions, row)
        index = load_index(buffer, position, size) if position >= 0 else 0
        if index:
            at = copy_label(labels, item(ends, index - 1), item(ends, index), text, at)


@kernel
def set_offsets(buffer: Bytes, positions: Int32s, size: int, ends: Int32s, offsets: Bytes) -> int:
    """Write each value's offset like `enum_offsets`, for the comma-separated members of SETs."""
    count = len(ends) - 1
    unknown = shift_left(-1, count) if count < 64 else 0
    at = 0
    for row in range(len(positions)):
        store_32(offsets, 4 * row, at)
        position = item(positions, row)
        if position < 0:
            continue
        members = load_members(buffer, position, size)
        if members & unknown:
            return -1 - row
        if members == 0:
            continue
        at -= 1
        while members:
            member = trailing_zeros(members)
            at += 1 + item(ends, member + 1) - item(ends, member)
            members &= subtract_wrapping(members, 1)
    store_32(offsets, 4 * len(positions), at)
    return at


@kernel
def set_text(
    buffer: Bytes, positions: Int32s, size: int, ends: Int32s, labels: Bytes, text: Bytes
) -> None:
    """Write each value's members, at the offsets of `set_offsets`."""
    at = 0
    for row in range(len(positions)):
        position = item(positions, row)
        members = load_members(buffer, position, size) if position >= 0 else 0
        more = False
        while members:
            if more:
                store_8(text, at, COMMA)
                at += 1
            member = trailing_zeros(members)
            at = copy_label(labels, item(ends, member), item(ends, member + 1), text, at)
            members &= subtract_wrapping(members, 1)
            more = True


@dataclass(frozen=True, slots=True)
class LabelReader:
    """Reader for ENUM or (`several`) SET of `size` bytes."""

    arrow_type: pa.DataType
    labels: Labels
    size: int
    several: bool

    def read(self, cells: Cells) -> Column:
        """Return the cells as text; CellError for a number that has no label."""
        rows = len(cells.positions)
        offsets, ends = allocate(4 * (rows + 1))
        measure, write = (set_offsets, set_text) if self.several else (enum_offsets, enum_text)
        source = (cells.buffer, cells.positions, self.size, self.labels.ends)
        total = measure(*source, ends)
        if total < 0:
            kind = "a SET member" if self.several else "an ENUM index"
            raise CellError(-1 - total, f"{kind} has no label")
        data, text = allocate_text(total)
        write(*source, self.labels.text, text)
        return Column(arrow_array(self.arrow_type, cells, offsets, data))


def label_reader(column: ColumnDefinition) -> LabelReader:
    """Return the reader for ENUM or SET; UnsupportedError if its labels are unknown."""
    if not column.labels:
        raise UnsupportedError(
            f"the log does not contain the labels of {column.type.name} column {column.name}"
            " (binlog_row_metadata is not FULL)"
        )
    if any(REPLACEMENT in label for label in column.labels):
        raise UnsupportedError(
            f"{column.type.name} column {column.name} has labels that are invalid in its charset"
        )
    several = column.type == ColumnType.SET
    return LabelReader(pa.string(), Labels.of(column.labels), column.length, several)
