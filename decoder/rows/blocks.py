"""Blocks of walked rows that are buffered until their columns are built, one per group.

A group is a table map, an operation and column bitmaps. Its block starts small and grows with use,
so that thousands of tables fit in memory; it is flushed while still in the CPU's cache.

Spans are the ranges of rows in a block or batch that come from the same event: an int64 table with
the columns `decoder.transactions.records.SPAN_*` and a row for each event, in the order of the log;
END counts rows from the start of the block or batch. The values that an event's rows share are
stored once: ten thousand rows of a statement are about a hundred spans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.errors import BinlogError
from decoder.rows.image_layout import RUN_FIELDS, ImageLayout
from decoder.rows.walker import BlockArrays, GroupArrays
from decoder.transactions import records as t

Spans = npt.NDArray[np.int64]

MAX_ROWS = 8192
"""Rows of a block at its maximum size."""
_FIRST_ROWS = 128
_GROWTH = 8
_MAX_CELLS = 1 << 18
_MEMORY_LIMIT = 1 << 26
"""Total bytes of all blocks above which no block grows."""
FULL = 1 << 28
"""Total bytes of all groups above which they are discarded and built again as needed.

A few bytes of column bitmap in a log define a group that takes thousands of bytes here.
"""


class _Arena:
    """A growing array that is allocated in parts."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self.data: npt.NDArray[Any] = np.zeros((64, width) if width else 1024, dtype)
        self.used = 0

    @property
    def used_bytes(self) -> int:
        """Bytes of the allocated parts."""
        return self.used * self.data[:1].nbytes

    def take(self, count: int) -> int:
        """Allocate `count` zeroed items; return the index of the first."""
        start = self.used
        if start + count > len(self.data):
            shape = (2 * (start + count), *self.data.shape[1:])
            grown = np.zeros(shape, self.data.dtype)
            grown[:start] = self.data[:start]
            self.data = grown
        self.used = start + count
        return start


@dataclass(frozen=True, slots=True)
class Group:
    """The common parts of a block's rows: the table's slot, the kind of events, the layouts.

    `layouts` is empty if the rows are not walked; `error`: why they cannot be decoded, if so.
    """

    slot: int
    kind: int
    layouts: tuple[ImageLayout, ...]
    error: BinlogError | None


class Blocks:
    """The groups of a segment (`members`) and their blocks."""

    def __init__(self) -> None:
        self._groups = _Arena(np.int64, t.GROUP_FIELDS)
        self._images = _Arena(np.int64, t.IMAGE_FIELDS)
        self._runs = _Arena(np.int64, RUN_FIELDS)
        self._widths = _Arena(np.int64)
        self._starts = _Arena(np.int32)
        self._masks = _Arena(np.int64)
        self._any_null = _Arena(np.int64)
        self._spans = _Arena(np.int64, t.SPAN_FIELDS)
        self.members: list[Group] = []
        self._layout_bytes = 0

    @property
    def groups(self) -> GroupArrays:
        """Arguments of the kernels: groups, images, runs, widths."""
        return self._groups.data, self._images.data, self._runs.data, self._widths.data

    @property
    def arrays(self) -> BlockArrays:
        """Arguments of the kernels: run starts, NULL masks, "any NULL", spans."""
        return self._starts.data, self._masks.data, self._any_null.data, self._spans.data

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """One row per group."""
        return self._groups.data[: self._groups.used]

    def add(
        self,
        member: Group,
        *,
        bitmap: int,
        use: int,
        shared_bits: int | None = None,
    ) -> int:
        """Add a group; return its index.

        `bitmap`: where the stored column bitmaps are. `use`: DECODE, COUNT, SKIP or
        UNUSABLE. `shared_bits`: bytes of the bitmap in the shared image of partial updates.
        """
        group = self._groups.take(1)
        self.members.append(member)
        layouts = member.layouts
        self._layout_bytes += sum(layout.cells.nbytes + layout.runs.nbytes for layout in layouts)
        first_image = self._images.take(len(layouts))
        row = self._groups.data[group]
        row[t.GROUP_NEXT] = -1
        row[t.GROUP_BITMAP] = bitmap
        row[t.GROUP_USE] = use
        row[t.GROUP_IMAGES], row[t.GROUP_IMAGE] = len(layouts), first_image
        row[t.GROUP_SHARED] = -1 if shared_bits is None else 0
        row[t.GROUP_SHARED_BITS] = shared_bits or 0
        for image, layout in enumerate(layouts, start=first_image):
            self._add_image(image, layout)
        if layouts:
            self._allocate(group, self._bounded(group, _FIRST_ROWS))
        return group

    def grow(self, group: int) -> None:
        """Enlarge an empty block, as far as memory allows."""
        capacity = int(self._groups.data[group, t.GROUP_CAPACITY])
        larger = self._bounded(group, capacity * _GROWTH)
        memory = self._starts.data.nbytes + self._masks.data.nbytes + self._spans.data.nbytes
        if larger > capacity and memory < _MEMORY_LIMIT:
            self._allocate(group, larger)

    @property
    def is_full(self) -> bool:
        """True if the groups take so much memory that they should be discarded."""
        arenas = (self._runs, self._widths, self._starts, self._masks, self._any_null, self._spans)
        return self._layout_bytes + sum(arena.used_bytes for arena in arenas) > FULL

    def spans(self, group: int) -> Spans:
        """Return the spans of the rows in a group's block."""
        row = self._groups.data[group]
        first = int(row[t.GROUP_SPAN])
        spans: Spans = self._spans.data[first : first + int(row[t.GROUP_SPANS])]
        return spans

    def keep(self, group: int, rows: int) -> None:
        """Keep only the spans of the first `rows` rows of a group's block."""
        spans = self.spans(group)
        count = int(np.searchsorted(spans[:, t.SPAN_END], rows)) + 1 if rows else 0
        spans[count - 1 : count, t.SPAN_END] = rows
        self._groups.data[group, t.GROUP_SPANS] = count

    def filled(self) -> list[int]:
        """Return the indices of the groups that have rows."""
        filled: list[int] = np.flatnonzero(self.table[:, t.GROUP_ROWS]).tolist()
        return filled

    def _bounded(self, group: int, rows: int) -> int:
        """Limit a number of rows: the more variable-length columns, the fewer rows."""
        runs = sum(len(layout.runs) for layout in self.members[group].layouts)
        return max(min(rows, MAX_ROWS, _MAX_CELLS // runs), 16)

    def _add_image(self, image: int, layout: ImageLayout) -> None:
        first_run = self._runs.take(len(layout.runs))
        self._runs.data[first_run : first_run + len(layout.runs)] = layout.runs
        first_width = self._widths.take(layout.columns)
        self._widths.data[first_width : first_width + layout.columns] = layout.widths
        row = self._images.data[image]
        row[t.IMAGE_RUNS], row[t.IMAGE_FIRST_RUN] = len(layout.runs), first_run
        row[t.IMAGE_BYTES] = (layout.columns + 7) // 8
        in_last_8 = layout.columns - 64 * ((max(row[t.IMAGE_BYTES], 1) - 1) // 8)
        row[t.IMAGE_LAST_MASK] = -1 if in_last_8 == 64 else (1 << int(in_last_8)) - 1
        row[t.IMAGE_WIDTHS] = first_width
        row[t.IMAGE_ANY] = self._any_null.take(len(layout.runs))

    def _allocate(self, group: int, capacity: int) -> None:
        row = self._groups.data[group]
        row[t.GROUP_CAPACITY] = capacity
        row[t.GROUP_SPAN] = self._spans.take(capacity)
        if row[t.GROUP_SHARED] >= 0:
            row[t.GROUP_SHARED] = self._starts.take(capacity)
        for image, layout in enumerate(self.members[group].layouts, start=int(row[t.GROUP_IMAGE])):
            self._images.data[image, t.IMAGE_STARTS] = self._starts.take(
                capacity * len(layout.runs)
            )
            self._images.data[image, t.IMAGE_MASKS] = self._masks.take(capacity * len(layout.runs))


def span_of(spans: Spans, row: int) -> npt.NDArray[np.int64]:
    """Return the span that contains a row."""
    span: npt.NDArray[np.int64] = spans[np.searchsorted(spans[:, t.SPAN_END], row, "right")]
    return span


def part(spans: Spans, first: int, end: int) -> Spans:
    """Return the spans of the rows in [`first`, `end`), renumbered from 0."""
    ends = spans[:, t.SPAN_END]
    begin, stop = np.searchsorted(ends, first, "right"), np.searchsorted(ends, end, "left") + 1
    taken = spans[begin:stop].copy()
    before = int(ends[begin - 1]) if begin else 0
    taken[0, t.SPAN_FIRST_NUMBER] += first - before
    taken[:, t.SPAN_END] -= first
    taken[-1, t.SPAN_END] = end - first
    return taken


def rows_of(spans: Spans, which: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return the value in `which` of each row's span."""
    return np.repeat(which, np.diff(spans[:, t.SPAN_END], prepend=0))


def without(spans: Spans, dropped: npt.NDArray[np.bool_]) -> Spans:
    """Return the spans that are not `dropped`, renumbered as if the dropped rows did not exist."""
    sizes = np.diff(spans[:, t.SPAN_END], prepend=0)[~dropped]
    kept = spans[~dropped]
    kept[:, t.SPAN_END] = np.cumsum(sizes)
    return kept


def rows_before(spans: Spans, transaction: int) -> int:
    """Return the number of rows in transactions before this one (transactions are ascending)."""
    span = int(np.searchsorted(spans[:, t.SPAN_TRANSACTION], transaction))
    return int(spans[span - 1, t.SPAN_END]) if span else 0


def of_transaction(transaction: int, rows: int) -> Spans:
    """Return a span of `rows` rows with nothing but their transaction."""
    spans = np.zeros((1, t.SPAN_FIELDS), np.int64)
    spans[0, t.SPAN_END], spans[0, t.SPAN_TRANSACTION] = rows, transaction
    return spans
