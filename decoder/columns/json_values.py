"""Kernels that convert MySQL's binary JSON, from unchecked bytes, to JSON text.

Format (MySQL sql-common/json_binary.h): a document is a type byte and a value. An object or array
has a header (element count and total size, of 2 bytes each, 4 in the large format), key entries
(offset, length), value entries (type, then the value itself if it fits, else its offset), the keys
and the values. Offsets are relative to the header.

Safety: every offset and length is checked against the end of the innermost container. Containers
are kept on a stack of bounded depth, without recursion. The text is limited to a multiple of the
document's bytes that no document written by MySQL reaches, so that values which share bytes cannot
expand without bound.
"""

from __future__ import annotations

from decoder.columns.arrays import Int32s, Int64s
from decoder.columns.digits import write_signed, write_unsigned
from decoder.columns.json_errors import (
    NOT_A_NUMBER,
    OUTSIDE,
    TOO_DEEP,
    TOO_LONG,
    UNKNOWN_LITERAL,
    UNKNOWN_TYPE,
)
from decoder.columns.json_numbers import write_double
from decoder.columns.json_opaque import write_opaque
from decoder.columns.json_text import WORST_ESCAPE, write_string
from decoder.kernels.memory import (
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_i16,
    load_i32,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    set_item,
    store_8,
    store_32,
    store_64,
)

SMALL_OBJECT, LARGE_OBJECT, SMALL_ARRAY, LARGE_ARRAY = 0, 1, 2, 3
LITERAL, INT16, UINT16, INT32, UINT32, INT64, UINT64, DOUBLE, STRING = 4, 5, 6, 7, 8, 9, 10, 11, 12
OPAQUE = 15
OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, COMMA, COLON = 123, 125, 91, 93, 44, 58

MAXIMUM_DEPTH = 100
"""MySQL's limit of nested containers."""
FRAME = 5
BASE, END, COUNT, INDEX, KIND = 0, 1, 2, 3, 4
"""A stack frame: header position, end, number of values, number of written values, type."""
STACK_SIZE = MAXIMUM_DEPTH * FRAME

WORST_EXPANSION = 8
"""Bytes of text per byte of binary JSON: more than the 6 of a control character."""
LONGEST_SCALAR = 128
"""More bytes than any number, date or literal; also a document's allowance beyond the expansion."""


@kernel
def write_documents(
    buffer: Bytes,
    positions: Int32s,
    lengths: Int32s,
    row: int,
    at: int,
    offsets: Bytes,
    text: Bytes,
    limit: int,
    stack: Int64s,
) -> tuple[int, int]:
    """Write the documents from `row` on, as text from `at` on.

    Returns (number of rows, end) if all are written; (row, at) for the first one whose worst case
    exceeds `limit`; (row, error code) for a malformed one.
    """
    for current in range(row, len(positions)):
        store_32(offsets, 4 * current, at)
        position = item(positions, current)
        if position < 0:
            continue
        length = item(lengths, current)
        end = at + WORST_EXPANSION * length + LONGEST_SCALAR
        if end > limit:
            return current, at
        written = write_document(buffer, position, position + length, text, at, end, stack)
        if written < 0:
            return current, written
        at = written
    store_32(offsets, 4 * len(positions), at)
    return len(positions), at


@inline_kernel
def write_document(
    buffer: Bytes, start: int, end: int, text: Bytes, at: int, limit: int, stack: Int64s
) -> int:
    """Write a document (null if empty); return the position after its text, or an error code."""
    if start == end:
        return write_literal(text, at, 0)
    depth = 0
    kind, value = load_u8(buffer, start), start + 1
    while True:
        if kind > LARGE_ARRAY:
            at = write_scalar(buffer, kind, value, end, text, at, limit)
        elif depth == MAXIMUM_DEPTH:
            return TOO_DEEP
        else:
            at = open_container(buffer, kind, value, end, text, at, stack, depth * FRAME)
            depth += 1
        while at >= 0 and depth > 0 and is_complete(stack, (depth - 1) * FRAME):
            depth -= 1
            at = close_container(text, at, stack, depth * FRAME)
        if at < 0 or depth == 0:
            return at
        frame = (depth - 1) * FRAME
        at = write_key(buffer, text, at, limit, stack, frame)
        if at < 0:
            return at
        end = item(stack, frame + END)
        kind, value = next_value(buffer, stack, frame)
        if value < 0:
            return value


@inline_kernel
def entries_size(kind: int, count: int) -> int:
    """Return the bytes of a container's header and entries."""
    if kind == SMALL_OBJECT:
        return 4 + 7 * count
    if kind == LARGE_OBJECT:
        return 8 + 11 * count
    return 4 + 3 * count if kind == SMALL_ARRAY else 8 + 5 * count


@inline_kernel
def load_offset(buffer: Bytes, position: int, kind: int) -> int:
    """Load an offset, count or size: 4 bytes in the large format, else 2."""
    return load_u32(buffer, position) if kind & 1 else load_u16(buffer, position)


@kernel
def open_container(
    buffer: Bytes, kind: int, base: int, end: int, text: Bytes, at: int, stack: Int64s, frame: int
) -> int:
    """Push an object or array and write its opening bracket."""
    width = 4 if kind & 1 else 2
    if base + 2 * width > end:
        return OUTSIDE
    count = load_offset(buffer, base, kind)
    size = load_offset(buffer, base + width, kind)
    if base + size > end or entries_size(kind, count) > size:
        return OUTSIDE
    set_item(stack, frame + BASE, base)
    set_item(stack, frame + END, base + size)
    set_item(stack, frame + COUNT, count)
    set_item(stack, frame + INDEX, 0)
    set_item(stack, frame + KIND, kind)
    store_8(text, at, OPEN_BRACE if kind <= LARGE_OBJECT else OPEN_BRACKET)
    return at + 1


@inline_kernel
def is_complete(stack: Int64s, frame: int) -> bool:
    """Return True if all values of an open container are written."""
    return item(stack, frame + INDEX) == item(stack, frame + COUNT)


@inline_kernel
def close_container(text: Bytes, at: int, stack: Int64s, frame: int) -> int:
    """Write the container's closing bracket."""
    closing = CLOSE_BRACE if item(stack, frame + KIND) <= LARGE_OBJECT else CLOSE_BRACKET
    store_8(text, at, closing)
    return at + 1


@inline_kernel
def write_key(buffer: Bytes, text: Bytes, at: int, limit: int, stack: Int64s, frame: int) -> int:
    """Write the text before the next value: a comma, and in an object the key."""
    base, index = item(stack, frame + BASE), item(stack, frame + INDEX)
    kind = item(stack, frame + KIND)
    if at + LONGEST_SCALAR > limit:
        return TOO_LONG
    if index:
        store_8(text, at, COMMA)
        at += 1
    if kind > LARGE_OBJECT:
        return at
    entry = base + (8 + 6 * index if kind & 1 else 4 + 4 * index)
    key = base + load_offset(buffer, entry, kind)
    length = load_u16(buffer, entry + (4 if kind & 1 else 2))
    if key + length > item(stack, frame + END):
        return OUTSIDE
    if at + WORST_ESCAPE * length + LONGEST_SCALAR > limit:
        return TOO_LONG
    at = write_string(text, at, buffer, key, length)
    if at < 0:
        return at
    store_8(text, at, COLON)
    return at + 1


@inline_kernel
def next_value(buffer: Bytes, stack: Int64s, frame: int) -> tuple[int, int]:
    """Advance to a container's next value: (type, position), or (0, OUTSIDE)."""
    base, index = item(stack, frame + BASE), item(stack, frame + INDEX)
    count, kind = item(stack, frame + COUNT), item(stack, frame + KIND)
    set_item(stack, frame + INDEX, index + 1)
    large = kind & 1
    keys = 0 if kind > LARGE_OBJECT else (6 if large else 4) * count
    entry = base + (8 + keys + 5 * index if large else 4 + keys + 3 * index)
    value_type = load_u8(buffer, entry)
    if LITERAL <= value_type <= (UINT32 if large else UINT16):
        return value_type, entry + 1
    offset = load_offset(buffer, entry + 1, kind)
    if offset < entries_size(kind, count) or base + offset >= item(stack, frame + END):
        return 0, OUTSIDE
    return value_type, base + offset


@inline_kernel
def write_literal(text: Bytes, at: int, literal: int) -> int:
    """Write null, true or false."""
    if literal == 0:
        store_32(text, at, 0x6C6C756E)
        return at + 4
    if literal == 1:
        store_32(text, at, 0x65757274)
        return at + 4
    if literal != 2:
        return UNKNOWN_LITERAL
    store_64(text, at, 0x65736C6166)
    return at + 5


@inline_kernel
def scalar_size(kind: int) -> int:
    """Return the bytes of a number or literal; 0 for a type with a length prefix."""
    if kind == LITERAL:
        return 1
    if kind <= UINT16:
        return 2
    if kind <= UINT32:
        return 4
    return 8 if kind <= DOUBLE else 0


@inline_kernel
def write_scalar(
    buffer: Bytes, kind: int, value: int, end: int, text: Bytes, at: int, limit: int
) -> int:
    """Write a value other than a container; return the position after it, or an error code."""
    if at + LONGEST_SCALAR > limit:
        return TOO_LONG
    size = scalar_size(kind)
    if value + size > end:
        return OUTSIDE
    if size == 0:
        return write_sized(buffer, kind, value, end, text, at, limit)
    if kind == LITERAL:
        return write_literal(text, at, load_u8(buffer, value))
    if kind == UINT64:
        return write_unsigned(text, at, load_i64(buffer, value))
    if kind == DOUBLE:
        at = write_double(text, at, load_i64(buffer, value))
        return at if at >= 0 else NOT_A_NUMBER
    return write_signed(text, at, load_integer(buffer, kind, value))


@inline_kernel
def load_integer(buffer: Bytes, kind: int, value: int) -> int:
    """Load INT16 to INT64, UINT16 or UINT32."""
    if kind == INT16:
        return load_i16(buffer, value)
    if kind == UINT16:
        return load_u16(buffer, value)
    if kind == INT32:
        return load_i32(buffer, value)
    return load_u32(buffer, value) if kind == UINT32 else load_i64(buffer, value)


@inline_kernel
def load_length(buffer: Bytes, position: int, end: int) -> tuple[int, int]:
    """Load a length of 7 bits a byte, lowest first, in at most 5 bytes.

    Returns (length, position after it), or (0, OUTSIDE) if it does not end.
    """
    length = 0
    for byte in range(5):
        if position + byte >= end:
            break
        part = load_u8(buffer, position + byte)
        length |= (part & 127) << 7 * byte
        if part < 128:
            return length, position + byte + 1
    return 0, OUTSIDE


@kernel
def write_sized(
    buffer: Bytes, kind: int, value: int, end: int, text: Bytes, at: int, limit: int
) -> int:
    """Write a string or an opaque value, whose SQL type precedes the length."""
    if kind != STRING and kind != OPAQUE:
        return UNKNOWN_TYPE
    field_type = 0
    if kind == OPAQUE:
        if value >= end:
            return OUTSIDE
        field_type = load_u8(buffer, value)
        value += 1
    length, content = load_length(buffer, value, end)
    if content < 0 or content + length > end:
        return OUTSIDE
    if at + WORST_ESCAPE * length + LONGEST_SCALAR > limit:
        return TOO_LONG
    if kind == STRING:
        return write_string(text, at, buffer, content, length)
    return write_opaque(text, at, buffer, content, length, field_type)
