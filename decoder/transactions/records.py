"""The int64 tables that the kernels of passes 4 and 5 share with Python: a row per thing.

Every name here is the index of a column (or of a cell, for the scan's state).
"""

from __future__ import annotations

from decoder.constants import EventType

# What `scan` returns.
DONE, NEW_TABLE_MAP, NEW_GROUP, BLOCK_FULL, FAULT = range(5)
# Cells of its state. EVENT is the event it is at, ROW_START where it goes on inside of that event
# (0: at its beginning), ROW the next row's number, ROW_POSITION the file position that ROW counts
# in (in a payload, many events share it), DETAIL what the return code is about, COUNTS how many
# rows of the counts are in use, BITMAPS where NEW_GROUP found the column bitmaps.
EVENT, ROW_START, ROW, ROW_POSITION, DETAIL, COUNTS, BITMAPS, WALKS = range(8)
STATE_SIZE = 8
# What DETAIL holds: the slot of NEW_GROUP, the group of BLOCK_FULL, and why there is a FAULT: one
# of these, or `UNUSABLE_SLOT` and the slot, `UNUSABLE_GROUP` and the group added.
NO_TABLE_MAP, TOO_SHORT, OTHER_COLUMNS, ROWS_OVERRUN = range(4)
UNUSABLE_SLOT, UNUSABLE_GROUP = 1 << 32, 1 << 33
FAULT_REASONS = {
    NO_TABLE_MAP: "its table id has no TABLE_MAP in this transaction",
    TOO_SHORT: "it ends inside its own header",
    OTHER_COLUMNS: "it has another number of columns than its TABLE_MAP",
    ROWS_OVERRUN: "a row does not end where the event does",
}

# Kinds of rows events, by the layout of their rows.
INSERT, UPDATE, DELETE, PARTIAL_UPDATE, PRE_GA_UPDATE = range(5)
KINDS = 5
_T = EventType
KIND_OF_TYPE: dict[int, int] = {
    **dict.fromkeys((_T.WRITE_ROWS, _T.WRITE_ROWS_V1, _T.PRE_GA_WRITE_ROWS), INSERT),
    **dict.fromkeys((_T.UPDATE_ROWS, _T.UPDATE_ROWS_V1), UPDATE),
    **dict.fromkeys((_T.DELETE_ROWS, _T.DELETE_ROWS_V1, _T.PRE_GA_DELETE_ROWS), DELETE),
    _T.PARTIAL_UPDATE_ROWS: PARTIAL_UPDATE,
    _T.PRE_GA_UPDATE_ROWS: PRE_GA_UPDATE,
}
"""The kind of each type of rows event that is walked."""

# Slots: one per distinct TABLE_MAP.
SLOT_BYTES, SLOT_LENGTH, SLOT_COLUMNS, SLOT_USE, SLOT_TABLE, SLOT_GROUP = range(6)
SLOT_FIELDS = SLOT_GROUP + KINDS  # the first group of each kind
# SLOT_USE and GROUP_USE: decode the rows; walk to count them; leave them out; they are a fault.
DECODE, COUNT, SKIP, UNUSABLE = range(4)

# Groups: one per slot, kind and column bitmaps. Its block has room for CAPACITY rows and as many
# spans, of which SPANS are in use, the first one at SPAN. SHARED is where the block keeps the
# positions of the images that both sides of a partial update share (−1: it has none), SHARED_BITS
# the bytes of the bitmap in them.
GROUP_NEXT, GROUP_BITMAP, GROUP_BITMAP_LENGTH, GROUP_USE, GROUP_IMAGES = range(5)
GROUP_ROWS, GROUP_CAPACITY, GROUP_SPANS, GROUP_SPAN, GROUP_IMAGE, GROUP_SHARED = range(5, 11)
GROUP_SHARED_BITS = 11
GROUP_FIELDS = 12
# Images of groups: their plan, and where their block's run starts, NULL masks and "any NULL" are.
IMAGE_RUNS, IMAGE_FIRST_RUN, IMAGE_BYTES, IMAGE_LAST_MASK, IMAGE_WIDTHS = range(5)
IMAGE_STARTS, IMAGE_MASKS, IMAGE_ANY = range(5, 8)
IMAGE_FIELDS = 8
# Counts of rows, a new one wherever one of the first three is another: the transaction, the table,
# what its foreign keys did (`UNTOLD`: there is no rows event yet), how many rows, and where the
# first of them is: its event's file position, and its number there.
COUNT_TRANSACTION, COUNT_TABLE, COUNT_CASCADES, COUNT_ROWS = range(4)
COUNT_POSITION, COUNT_ROW = 4, 5
COUNT_FIELDS = 6
# What foreign keys did to rows of other tables: it is in the log (or nothing), or it may not be.
UNTOLD, LOGGED, UNLOGGED = -1, 0, 1

# Spans: the rows of a block that come out of one event. END is the block's row behind the last of
# them, FIRST_NUMBER the number of the first one in the event; the others are the same for all.
SPAN_END, SPAN_POSITION, SPAN_COMMITTED, SPAN_TRANSACTION, SPAN_FIRST_NUMBER = range(5)
SPAN_FIELDS = 5
