"""The int64 tables that the kernels of passes 4 and 5 share with Python.

Unless stated otherwise, the names are indices of columns (for the scan's state: of cells).
"""

from __future__ import annotations

from decoder.constants import EventType

# Return codes of `scan`.
DONE, NEW_TABLE_MAP, NEW_GROUP, BLOCK_FULL, FAULT = range(5)
# Cells of its state. EVENT is the current event, ROW_START the offset at which to resume inside it
# (0: at its start), ROW the next row's number, ROW_POSITION the file position in which ROW counts
# (in a payload, many events share it), DETAIL the object of the return code, COUNTS the number of
# used rows of the counts, BITMAPS the offset of the column bitmaps for NEW_GROUP.
EVENT, ROW_START, ROW, ROW_POSITION, DETAIL, COUNTS, BITMAPS, WALKS = range(8)
STATE_SIZE = 8
# Values of DETAIL: the slot for NEW_GROUP, the group for BLOCK_FULL, and for a FAULT its reason:
# one of these, `UNUSABLE_SLOT` plus the slot, or `UNUSABLE_GROUP` plus the group.
NO_TABLE_MAP, TOO_SHORT, OTHER_COLUMNS, ROWS_OVERRUN = range(4)
UNUSABLE_SLOT, UNUSABLE_GROUP = 1 << 32, 1 << 33
FAULT_REASONS = {
    NO_TABLE_MAP: "the transaction has no TABLE_MAP for its table id",
    TOO_SHORT: "it ends inside its post-header",
    OTHER_COLUMNS: "its number of columns differs from that of its TABLE_MAP",
    ROWS_OVERRUN: "its last row does not end at the end of the event",
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
# SLOT_USE and GROUP_USE: decode the rows; walk them only to count; skip them; report a fault.
DECODE, COUNT, SKIP, UNUSABLE = range(4)

# Groups: one per slot, kind and column bitmaps. Its block has space for CAPACITY rows and as many
# spans, of which SPANS are used, from SPAN on. SHARED is the index of the block's positions of the
# shared images of partial updates (−1: none), SHARED_BITS the bytes of the bitmap in them.
GROUP_NEXT, GROUP_BITMAP, GROUP_USE, GROUP_IMAGES, GROUP_ROWS, GROUP_CAPACITY = range(6)
GROUP_SPANS, GROUP_SPAN, GROUP_IMAGE, GROUP_SHARED, GROUP_SHARED_BITS = range(6, 11)
GROUP_FIELDS = 11
# Images of groups: their plan, and the indices of their run starts, NULL masks and "any NULL".
IMAGE_RUNS, IMAGE_FIRST_RUN, IMAGE_BYTES, IMAGE_LAST_MASK, IMAGE_WIDTHS = range(5)
IMAGE_STARTS, IMAGE_MASKS, IMAGE_ANY = range(5, 8)
IMAGE_FIELDS = 8
# Counts of rows, a new one whenever one of the first three changes: the transaction, the table, the
# effect of its foreign keys (`UNDETERMINED`: no rows event yet), the number of rows, and the place
# of the first row: its event's file position, and its number there.
COUNT_TRANSACTION, COUNT_TABLE, COUNT_CASCADES, COUNT_ROWS = range(4)
COUNT_POSITION, COUNT_ROW = 4, 5
COUNT_FIELDS = 6
# Effect of foreign keys on rows of other tables: logged (or none), or possibly not logged.
UNDETERMINED, LOGGED, UNLOGGED = -1, 0, 1

# Spans: the rows of a block that come from one event. END is the index of the row after the last of
# them, FIRST_NUMBER the number of the first one; the other fields are common to all of them.
SPAN_END, SPAN_POSITION, SPAN_COMMITTED, SPAN_TRANSACTION, SPAN_FIRST_NUMBER = range(5)
SPAN_FIELDS = 5
