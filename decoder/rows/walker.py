"""Pass 5: the walk over rows events, which finds the starts of runs of cells.

`scan` goes over the events of a window once. It resolves TABLE_MAPs by comparing their bytes with
those registered for the same id, finds the block for a rows event's rows (by table map, kind of
event and column bitmaps), and walks the rows into it. It is resumable: it returns to Python only
for a new table map or column bitmap, a full block, or a fault, and then continues where it stopped.
`decoder.rows.cell_positions` then converts a block to cell positions, column by column.

All bounds are checked here, so that column readers need not: a cell never extends beyond its event.
Wide loads may read up to `SLACK` bytes beyond the event, but no position is derived from them.

The tables that the kernels work on are described in `decoder.transactions.records`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from decoder.constants import HEADER_LENGTH, EventType
from decoder.framing.frames import END, OFFSET, POST_HEADER, TIMESTAMP, TYPE, VALID, table_id_size
from decoder.kernels.memory import (
    Array,
    Bytes,
    inline_kernel,
    item,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    set_item,
    shift_right_logical,
    trailing_zeros,
)
from decoder.rows.grouping import Maps, find_group, find_map
from decoder.rows.image_layout import (
    FIRST,
    FIXED_MASK,
    LENGTH_MASK,
    NULL_MASK,
    PREFIX,
    VARIABLE_BIT,
    WIDTH,
)
from decoder.transactions import records as t
from decoder.transactions.counting import cascades_of, count_rows
from decoder.transactions.state import COMMITTED, FAULTY

EventArrays = tuple[Array, Array, Array]
"""The table of frames; the transaction and the file position of each event."""
GroupArrays = tuple[Array, Array, Array, Array]
"""Groups, images, runs, widths."""
BlockArrays = tuple[Array, Array, Array, Array]
"""Starts of runs, NULL masks, "any NULL" by run, spans."""

# The action for each event type: nothing, look up a TABLE_MAP, or walk rows of a kind.
_NOTHING, _MAP, _FIRST_KIND = range(3)
STEPS: npt.NDArray[np.int64] = np.full(256, _NOTHING, np.int64)
STEPS[EventType.TABLE_MAP] = _MAP
STEPS[list(t.KIND_OF_TYPE)] = _FIRST_KIND + np.array(list(t.KIND_OF_TYPE.values()))
# Post-header lengths for types that FORMAT_DESCRIPTION does not list.
USUAL_POST_HEADERS: npt.NDArray[np.int64] = np.where(STEPS == _NOTHING, 0, 8)
USUAL_POST_HEADERS[EventType.WRITE_ROWS :] = np.where(STEPS[EventType.WRITE_ROWS :], 10, 0)
CONSTANTS = (STEPS, USUAL_POST_HEADERS)
"""Tables for `scan` by event type: what to do, and the usual post-header length."""
_MICROSECONDS = 1_000_000
_NOWHERE = 1 << 40
"""A position beyond every event."""
_START_MASK = 0x7FFFFFFF
"""Starts are int32; after an overrun, which may be 4 GB further, one is stored but never read."""


@kernel
def scan(
    buffer: Bytes,
    stop: int,
    events: EventArrays,
    transactions: Array,
    maps: Maps,
    groups: GroupArrays,
    blocks: BlockArrays,
    counts: Array,
    constants: tuple[Array, Array],
    state: Array,
) -> int:
    """Process the events from `state[EVENT]` to `stop`; return DONE, or why it stopped.

    `constants`: `CONSTANTS`.
    """
    steps, usual = constants
    table, owners, _ = events
    for event in range(state[t.EVENT], stop):
        step = item(steps, table[TYPE, event])
        if step == _NOTHING or table[VALID, event] == 0:
            continue
        state[t.EVENT] = event
        owner = item(owners, event)
        post_header = table[POST_HEADER, event] or item(usual, table[TYPE, event])
        if step == _MAP:
            body = table[OFFSET, event] + HEADER_LENGTH
            slot = find_map(buffer, body, table[END, event], owner, post_header, maps)
            if slot < 0:
                return t.NEW_TABLE_MAP
            count_rows(
                counts, state, (owner, maps[2][slot, t.SLOT_TABLE], t.UNDETERMINED), 0, (0, 0)
            )
        elif state[t.WALKS] and transactions[owner, FAULTY] == 0:
            kind = step - _FIRST_KIND
            header = (kind, post_header)
            result = _scan_rows(
                buffer, event, header, events, transactions, maps, groups, blocks, counts, state
            )
            if result != t.DONE:
                return result
        state[t.ROW_START] = 0
    state[t.EVENT] = stop
    return t.DONE


@kernel
def _scan_rows(
    buffer: Bytes,
    event: int,
    header: tuple[int, int],
    events: EventArrays,
    transactions: Array,
    maps: Maps,
    groups: GroupArrays,
    blocks: BlockArrays,
    counts: Array,
    state: Array,
) -> int:
    """Walk one rows event, or the rest of it if its block was full."""
    kind, post_header = header
    table, owners, positions = events
    body = table[OFFSET, event] + HEADER_LENGTH
    end = table[END, event]
    owner = item(owners, event)
    result, slot, group, start = find_group(
        buffer, body, end, owner, kind, post_header, maps, groups[0], state
    )
    if result != t.DONE or group < 0:
        return result
    time = transactions[owner, COMMITTED]
    if time < 0:
        time = table[TIMESTAMP, event] * _MICROSECONDS
    if state[t.ROW_POSITION] != item(positions, event):
        state[t.ROW_POSITION] = item(positions, event)
        state[t.ROW] = 0
    if state[t.ROW_START]:
        start = state[t.ROW_START]
    first_row = state[t.ROW]
    first_in_block = groups[0][group, t.GROUP_ROWS]
    start = _walk_rows(buffer, start, end, group, groups, blocks, state)
    if groups[0][group, t.GROUP_ROWS] > first_in_block:
        origin = (state[t.ROW_POSITION], time, owner, first_row)
        _add_span(group, origin, groups[0], blocks[3])
    cascades = cascades_of(load_u16(buffer, body + table_id_size(post_header)))
    counted = (owner, maps[2][slot, t.SLOT_TABLE], cascades)
    count_rows(counts, state, counted, state[t.ROW] - first_row, (state[t.ROW_POSITION], first_row))
    if start < 0:
        state[t.DETAIL] = t.ROWS_OVERRUN
        return t.FAULT
    if start < end:
        state[t.ROW_START] = start
        state[t.DETAIL] = group
        return t.BLOCK_FULL
    return t.DONE


# --- rows ----------------------------------------------------------------------------------------


@inline_kernel
def _walk_rows(
    buffer: Bytes,
    start: int,
    end: int,
    group: int,
    groups: GroupArrays,
    blocks: BlockArrays,
    state: Array,
) -> int:
    """Walk rows until the event's end or a full block; return the end, or −1 for an overrun."""
    table, images, _, _ = groups
    starts, masks, _, _ = blocks
    capacity = table[group, t.GROUP_CAPACITY]
    row: int = table[group, t.GROUP_ROWS]
    keeps = int(table[group, t.GROUP_USE] == t.DECODE)
    first_image = table[group, t.GROUP_IMAGE]
    image_count = table[group, t.GROUP_IMAGES]
    shared = table[group, t.GROUP_SHARED]
    number: int = state[t.ROW]
    position = start
    while position < end and row < capacity:
        for image in range(first_image, first_image + image_count):
            if shared >= 0 and image > first_image:
                set_item(starts, shared + row, position)
                position = _step_over_shared(buffer, position, table[group, t.GROUP_SHARED_BITS])
            position = _walk_image(buffer, position, end, row, capacity, image, groups, blocks)
            if position > end:
                first_row = table[group, t.GROUP_ROWS]
                _clear_rows(first_row, row, capacity, first_image, image_count, images, masks)
                return -1
        row += keeps
        number += 1
    table[group, t.GROUP_ROWS] = row
    state[t.ROW] = number
    return position


@inline_kernel
def _add_span(group: int, origin: tuple[int, int, int, int], table: Array, spans: Array) -> None:
    """Add a span for the rows that were last added to a block."""
    position, committed, owner, first_number = origin
    span = table[group, t.GROUP_SPAN] + table[group, t.GROUP_SPANS]
    spans[span, t.SPAN_END] = table[group, t.GROUP_ROWS]
    spans[span, t.SPAN_POSITION] = position
    spans[span, t.SPAN_COMMITTED] = committed
    spans[span, t.SPAN_TRANSACTION] = owner
    spans[span, t.SPAN_FIRST_NUMBER] = first_number
    table[group, t.GROUP_SPANS] += 1


@inline_kernel
def _step_over_shared(buffer: Bytes, position: int, bits: int) -> int:
    """Return the start of the after-image: the end of the shared image of a partial update.

    Layout (MySQL sql/rpl_record.cc, `unpack_row`): options (length-encoded: 0, or 1 for partial
    JSON), and with partial JSON a bitmap with a bit for each JSON column of the table. For other
    options, return a position beyond the event, which is an overrun.
    """
    options = load_u8(buffer, position)
    if options == 0:
        return position + 1
    return position + 1 + bits if options == 1 else _NOWHERE


@kernel
def _clear_rows(
    first: int,
    last: int,
    capacity: int,
    first_image: int,
    count: int,
    images: Array,
    masks: Array,
) -> None:
    """Clear the NULL masks of an event's rows, including the last, incompletely walked one."""
    for image in range(first_image, first_image + count):
        for run in range(images[image, t.IMAGE_RUNS]):
            start = images[image, t.IMAGE_MASKS] + run * capacity
            masks[start + first : start + last + 1] = 0


@inline_kernel
def _walk_image(
    buffer: Bytes,
    start: int,
    end: int,
    row: int,
    capacity: int,
    image: int,
    groups: GroupArrays,
    blocks: BlockArrays,
) -> int:
    """Walk one image and store its run starts; return its end, beyond `end` for an overrun."""
    _, images, runs, widths = groups
    starts, masks, any_null, _ = blocks
    size: int = images[image, t.IMAGE_BYTES]
    position = start + size
    if position > end:
        return position
    first_run = images[image, t.IMAGE_FIRST_RUN]
    count = images[image, t.IMAGE_RUNS]
    cell = images[image, t.IMAGE_STARTS] + row
    has_null = _has_null(buffer, start, size, images[image, t.IMAGE_LAST_MASK])
    if not has_null:
        for run in range(first_run, first_run + count):
            set_item(starts, cell, position & _START_MASK)
            cell += capacity
            position += runs[run, WIDTH]
            prefix = runs[run, PREFIX]
            if position + prefix > end:
                return end + 1
            position += prefix + (load_u32(buffer, position) & runs[run, LENGTH_MASK])
        return position
    mask_cell = images[image, t.IMAGE_MASKS] + row
    for k in range(count):
        run = first_run + k
        set_item(starts, cell, position & _START_MASK)
        cell += capacity
        first = runs[run, FIRST]
        nulls = shift_right_logical(load_i64(buffer, start + (first >> 3)), first & 7)
        nulls &= runs[run, NULL_MASK]
        position += runs[run, WIDTH]
        if nulls:
            set_item(masks, mask_cell + k * capacity, nulls)
            any_null[images[image, t.IMAGE_ANY] + k] |= nulls
            fixed = nulls & runs[run, FIXED_MASK]
            while fixed:
                column = images[image, t.IMAGE_WIDTHS] + first + trailing_zeros(fixed)
                position -= item(widths, column)
                fixed &= fixed - 1
        if nulls & runs[run, VARIABLE_BIT] == 0:
            prefix = runs[run, PREFIX]
            if position + prefix > end:
                return end + 1
            position += prefix + (load_u32(buffer, position) & runs[run, LENGTH_MASK])
    return position


@inline_kernel
def _has_null(buffer: Bytes, start: int, size: int, last_mask: int) -> bool:
    """Return True if a NULL bit is set; `last_mask` has the columns' bits in the last 8 bytes."""
    found: int = 0
    position = start
    while size > 8:
        found |= load_i64(buffer, position)
        position += 8
        size -= 8
    found |= load_i64(buffer, position) & last_mask
    return bool(found != 0)
