"""Assignment of rows events to groups: by table map, kind of event and column bitmaps.

A TABLE_MAP is known if its bytes equal those registered for the same table id. An id may later be
mapped to another table, and a map is only valid in its own transaction.
"""

from __future__ import annotations

from decoder.framing.frames import SHORT_TABLE_ID, table_id_size
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
    load_u48,
    set_item,
)
from decoder.transactions import records as t

Maps = tuple[Array, Array, Array, Array, Array]
"""Table id and slot of each hash cell, the slots, the transaction of each hash cell, the bytes of
maps and bitmaps."""
# Table ids of events without rows, which only end a statement.
_DUMMY_ID, _DUMMY_ID_LONG = 0xFFFFFF, 0xFFFFFFFFFFFF
VERSION_2 = 10
"""Length of the post-header that ends with the length of extra data."""


@inline_kernel
def _table_id(buffer: Bytes, body: int, post_header: int) -> int:
    return load_u32(buffer, body) if post_header == SHORT_TABLE_ID else load_u48(buffer, body)


@inline_kernel
def hash_cell(ids: Array, table_id: int) -> int:
    """Return the cell of `ids` that contains a table id, or the free cell for it."""
    mask = len(ids) - 1
    cell = table_id & mask
    while item(ids, cell) != table_id and item(ids, cell) >= 0:
        cell = (cell + 1) & mask
    return cell


@inline_kernel
def _same_bytes(left: Bytes, start: int, right: Bytes, position: int, length: int) -> bool:
    done = 0
    while done + 8 <= length:
        if load_i64(left, start + done) != load_i64(right, position + done):
            return False
        done += 8
    while done < length:
        if load_u8(left, start + done) != load_u8(right, position + done):
            return False
        done += 1
    return True


@kernel
def find_map(
    buffer: Bytes,
    body: int,
    end: int,
    owner: int,
    post_header: int,
    maps: Maps,
) -> int:
    """Return the slot of a TABLE_MAP and make it valid for transaction `owner`; −1 if unknown."""
    ids, slot_of, slots, owner_of, known = maps
    start = body + table_id_size(post_header)
    if start > end:
        return -1
    table_id = _table_id(buffer, body, post_header)
    cell = hash_cell(ids, table_id)
    if item(ids, cell) != table_id:
        return -1
    slot = item(slot_of, cell)
    length = slots[slot, t.SLOT_LENGTH]
    if length != end - start:
        return -1
    if not _same_bytes(buffer, start, known, slots[slot, t.SLOT_BYTES], length):
        return -1
    set_item(owner_of, cell, owner)
    return slot


@kernel
def find_group(
    buffer: Bytes,
    body: int,
    end: int,
    owner: int,
    kind: int,
    post_header: int,
    maps: Maps,
    groups: Array,
    state: Array,
) -> tuple[int, int, int, int]:
    """Return the group for an event's rows: (return code, slot, group, offset of the rows).

    Layout: table id 6 (4), flags 2; v2: length of extra data 2 (includes itself), the data; number
    of columns (length-encoded), a bitmap of the present ones, for updates a second one, rows.
    Events from before 5.1.16 have one bitmap for both images of an update (MySQL
    sql/log_event_old.cc).
    """
    ids, slot_of, slots, owner_of, known = maps
    position = body + post_header
    if max(position, body + SHORT_TABLE_ID) >= end:
        state[t.DETAIL] = t.TOO_SHORT
        return t.FAULT, -1, -1, end
    table_id = _table_id(buffer, body, post_header)
    if post_header == VERSION_2:
        position += max(load_u16(buffer, position - 2) - 2, 0)
    cell = hash_cell(ids, table_id)
    if item(ids, cell) != table_id or item(owner_of, cell) != owner:
        if table_id in (_DUMMY_ID, _DUMMY_ID_LONG):
            return t.DONE, -1, -1, end
        state[t.DETAIL] = t.NO_TABLE_MAP
        return t.FAULT, -1, -1, end
    slot = item(slot_of, cell)
    use = slots[slot, t.SLOT_USE]
    if use == t.SKIP:
        return t.DONE, slot, -1, end
    if use == t.UNUSABLE:
        state[t.DETAIL] = t.UNUSABLE_SLOT + slot
        return t.FAULT, slot, -1, end
    start = _bitmaps_start(buffer, position, end, slots[slot, t.SLOT_COLUMNS])
    bitmaps = 2 if kind in (t.UPDATE, t.PARTIAL_UPDATE) else 1
    length = bitmaps * ((slots[slot, t.SLOT_COLUMNS] + 7) >> 3)
    if start < 0 or start + length > end:
        state[t.DETAIL] = t.OTHER_COLUMNS
        return t.FAULT, slot, -1, end
    group = slots[slot, t.SLOT_GROUP + kind]
    while group >= 0:
        if _same_bytes(buffer, start, known, groups[group, t.GROUP_BITMAP], length):
            return _group_result(groups, group, slot, start + length, state)
        group = groups[group, t.GROUP_NEXT]
    state[t.DETAIL] = slot
    state[t.BITMAPS] = start
    return t.NEW_GROUP, slot, -1, start


@inline_kernel
def _group_result(
    groups: Array, group: int, slot: int, start: int, state: Array
) -> tuple[int, int, int, int]:
    use = groups[group, t.GROUP_USE]
    if use == t.UNUSABLE:
        state[t.DETAIL] = t.UNUSABLE_GROUP + group
        return t.FAULT, slot, group, start
    if use == t.SKIP:
        return t.DONE, slot, -1, start
    return t.DONE, slot, group, start


@inline_kernel
def _bitmaps_start(buffer: Bytes, position: int, end: int, columns: int) -> int:
    """Return the offset after the number of columns; −1 if that number is not `columns`."""
    if position >= end:
        return -1
    count = load_u8(buffer, position)
    position += 1
    if count == 252 and position + 2 <= end:
        count = load_u16(buffer, position)
        position += 2
    elif count > 250:
        return -1
    return position if count == columns else -1
