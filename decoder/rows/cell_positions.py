"""Positions and lengths of the cells of each column in a block of walked rows."""

from __future__ import annotations

from decoder.kernels.memory import Array, item, kernel, set_item, trailing_zeros
from decoder.rows.image_layout import BEFORE, BIT, CELL_PREFIX, OFFSET, RUN, VARIABLE
from decoder.rows.walker import BlockArrays, GroupArrays
from decoder.transactions import records as t
from decoder.transactions.state import FAULTY


@kernel
def locate(
    rows: int,
    capacity: int,
    image: int,
    images: Array,
    cells: Array,
    widths: Array,
    blocks: BlockArrays,
    positions: Array,
    lengths: Array,
    nulls: Array,
) -> None:
    """Fill `positions`, `lengths` and `nulls` with the cells of an image's block.

    `positions` [column, row] is the offset of the cell's content, −1 for NULL; `lengths` [number of
    the variable-length column, row] its bytes, 0 for NULL; `nulls` [column] the number of NULLs.
    """
    starts, masks, any_null = blocks[0], blocks[1], blocks[2]
    for column in range(cells.shape[0]):
        run = cells[column, RUN]
        first = images[image, t.IMAGE_STARTS] + run * capacity
        start = starts[first : first + rows]
        offset = cells[column, OFFSET] + cells[column, CELL_PREFIX]
        found = positions[column]
        seen = any_null[images[image, t.IMAGE_ANY] + run]
        nulls[column] = 0
        if seen & (cells[column, BIT] | cells[column, BEFORE]) == 0:
            for row in range(rows):
                found[row] = start[row] + offset
        else:
            first_mask = images[image, t.IMAGE_MASKS] + run * capacity
            nulls[column] = _locate_nullable(
                start,
                masks[first_mask : first_mask + rows],
                offset,
                cells[column, BIT],
                cells[column, BEFORE],
                widths,
                column - trailing_zeros(cells[column, BIT]) + images[image, t.IMAGE_WIDTHS],
                found,
            )
        number = cells[column, VARIABLE]
        if number >= 0:
            following = starts[first + capacity : first + capacity + rows]
            _measure(found, following, lengths[number])


@kernel
def _locate_nullable(
    start: Array,
    mask: Array,
    offset: int,
    bit: int,
    before: int,
    widths: Array,
    first_width: int,
    found: Array,
) -> int:
    """Fill the positions of a column in a run with NULLs; return its number of NULLs."""
    count = 0
    for row in range(len(start)):
        nulls = item(mask, row)
        if nulls & bit:
            set_item(found, row, -1)
            count += 1
            continue
        position = item(start, row) + offset
        missing = nulls & before
        while missing:
            position -= item(widths, first_width + trailing_zeros(missing))
            missing &= missing - 1
        set_item(found, row, position)
    return count


@kernel
def _measure(found: Array, following: Array, lengths: Array) -> None:
    for row in range(len(following)):
        position = found[row]
        lengths[row] = following[row] - position if position >= 0 else 0


@kernel
def clear_masks(rows: int, capacity: int, image: int, images: Array, blocks: BlockArrays) -> None:
    """Clear the NULL masks of an image's block, as the walk only stores masks with a NULL."""
    masks, any_null = blocks[1], blocks[2]
    for run in range(images[image, t.IMAGE_RUNS]):
        any_cell = images[image, t.IMAGE_ANY] + run
        if any_null[any_cell]:
            first = images[image, t.IMAGE_MASKS] + run * capacity
            masks[first : first + rows] = 0
            any_null[any_cell] = 0


@kernel
def drop_faulty(
    capacity: int, group: int, groups: GroupArrays, blocks: BlockArrays, transactions: Array
) -> int:
    """Remove the rows of faulty transactions from a group's block; return the number left."""
    table, spans = groups[0], blocks[3]
    first_span = table[group, t.GROUP_SPAN]
    row, left, kept = 0, 0, first_span
    for span in range(first_span, first_span + table[group, t.GROUP_SPANS]):
        end = spans[span, t.SPAN_END]
        if transactions[spans[span, t.SPAN_TRANSACTION], FAULTY] == 0:
            if left < row:
                _move_rows(row, end, left, capacity, group, groups, blocks)
            left += end - row
            for field in range(spans.shape[1]):
                spans[kept, field] = spans[span, field]
            spans[kept, t.SPAN_END] = left
            kept += 1
        row = end
    table[group, t.GROUP_SPANS] = kept - first_span
    return left


@kernel
def _move_rows(
    start: int,
    end: int,
    to: int,
    capacity: int,
    group: int,
    groups: GroupArrays,
    blocks: BlockArrays,
) -> None:
    """Move rows of a group's block to a lower index."""
    table, images = groups[0], groups[1]
    starts, masks = blocks[0], blocks[1]
    shared = table[group, t.GROUP_SHARED]
    for row in range(start, end):
        if shared >= 0:
            starts[shared + to] = starts[shared + row]
        for k in range(table[group, t.GROUP_IMAGES]):
            image = table[group, t.GROUP_IMAGE] + k
            for run in range(images[image, t.IMAGE_RUNS]):
                cell = images[image, t.IMAGE_STARTS] + run * capacity
                starts[cell + to] = starts[cell + row]
                cell = images[image, t.IMAGE_MASKS] + run * capacity
                masks[cell + to] = masks[cell + row]
        to += 1
