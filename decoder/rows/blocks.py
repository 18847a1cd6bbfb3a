"""Where walked rows wait for their columns to be built: a block for each group of rows.

A group is a table map, an operation and column bitmaps. Its block begins small and grows with use,
so that thousands of tables fit; it is flushed while it is in the CPU's cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from decoder.rows.image_layout import RUN_FIELDS, RowPlan
from decoder.rows.walker import Blocks as BlockArrays, Groups
from decoder.transactions import records as t

MAX_ROWS = 8192
"""Rows of a full-grown block."""
_FIRST_ROWS = 128
_GROWTH = 8
_MAX_CELLS = 1 << 18
_MEMORY_LIMIT = 1 << 26
"""Bytes of all blocks together from which on none grows."""
FULL = 1 << 28
"""Bytes of all groups together from which on they are made anew, not added to.

Each group that a log names by a few bytes of bitmap takes thousands here.
"""


class _Arena:
    """An array that is handed out in parts and grows."""

    def __init__(self, dtype: Any, width: int = 0) -> None:
        self.data: npt.NDArray[Any] = np.zeros((64, width) if width else 1024, dtype)
        self.used = 0

    @property
    def used_bytes(self) -> int:
        """Bytes of the parts that were handed out."""
        return self.used * self.data[:1].nbytes

    def take(self, count: int) -> int:
        """Room for `count` more, cleared: where it begins."""
        start = self.used
        if start + count > len(self.data):
            shape = (2 * (start + count), *self.data.shape[1:])
            grown = np.zeros(shape, self.data.dtype)
            grown[:start] = self.data[:start]
            self.data = grown
        self.used = start + count
        return start


class Blocks:
    """The groups of a segment and their blocks."""

    def __init__(self) -> None:
        self._groups = _Arena(np.int64, t.GROUP_FIELDS)
        self._images = _Arena(np.int64, t.IMAGE_FIELDS)
        self._runs = _Arena(np.int64, RUN_FIELDS)
        self._widths = _Arena(np.int64)
        self._starts = _Arena(np.int32)
        self._masks = _Arena(np.int64)
        self._any_null = _Arena(np.int64)
        self._spans = _Arena(np.int64, t.SPAN_FIELDS)
        self.plans: list[tuple[RowPlan, ...]] = []
        self._plan_bytes = 0

    @property
    def groups(self) -> Groups:
        """What the kernels take: groups, images, runs, widths."""
        return self._groups.data, self._images.data, self._runs.data, self._widths.data

    @property
    def arrays(self) -> BlockArrays:
        """What the kernels take: run starts, NULL masks, "any NULL", spans."""
        return self._starts.data, self._masks.data, self._any_null.data, self._spans.data

    @property
    def table(self) -> npt.NDArray[np.int64]:
        """One row per group."""
        return self._groups.data[: self._groups.used]

    def add(
        self,
        plans: tuple[RowPlan, ...],
        *,
        bitmap: int,
        length: int,
        use: int,
        shared_bits: int | None = None,
    ) -> int:
        """A new group, with the plan of each of its images (none where it is not walked).

        `shared_bits`: bytes of the bitmap that the images of a partial update share.
        """
        group = self._groups.take(1)
        self.plans.append(plans)
        self._plan_bytes += sum(plan.cells.nbytes + plan.runs.nbytes for plan in plans)
        first_image = self._images.take(len(plans))
        row = self._groups.data[group]
        row[t.GROUP_NEXT] = -1
        row[t.GROUP_BITMAP], row[t.GROUP_BITMAP_LENGTH] = bitmap, length
        row[t.GROUP_USE] = use
        row[t.GROUP_IMAGES], row[t.GROUP_IMAGE] = len(plans), first_image
        row[t.GROUP_SHARED] = -1 if shared_bits is None else 0
        row[t.GROUP_SHARED_BITS] = shared_bits or 0
        for image, plan in enumerate(plans, start=first_image):
            self._add_image(image, plan)
        if plans:
            self._allocate(group, self._bounded(group, _FIRST_ROWS))
        return group

    def grow(self, group: int) -> None:
        """Makes an empty block larger, as far as memory allows."""
        capacity = int(self._groups.data[group, t.GROUP_CAPACITY])
        larger = self._bounded(group, capacity * _GROWTH)
        memory = self._starts.data.nbytes + self._masks.data.nbytes + self._spans.data.nbytes
        if larger > capacity and memory < _MEMORY_LIMIT:
            self._allocate(group, larger)

    @property
    def is_full(self) -> bool:
        """Whether the groups take so much memory that they should rather be made anew."""
        arenas = (self._runs, self._widths, self._starts, self._masks, self._any_null, self._spans)
        return self._plan_bytes + sum(arena.used_bytes for arena in arenas) > FULL

    def spans(self, group: int) -> npt.NDArray[np.int64]:
        """Where the rows of a group's block come from."""
        row = self._groups.data[group]
        first = int(row[t.GROUP_SPAN])
        spans: npt.NDArray[np.int64] = self._spans.data[first : first + int(row[t.GROUP_SPANS])]
        return spans

    def keep(self, group: int, rows: int) -> None:
        """Forgets where all but the first `rows` rows of a group's block come from."""
        spans = self.spans(group)
        count = int(np.searchsorted(spans[:, t.SPAN_END], rows)) + 1 if rows else 0
        spans[count - 1 : count, t.SPAN_END] = rows
        self._groups.data[group, t.GROUP_SPANS] = count

    def filled(self) -> list[int]:
        """The groups that have rows."""
        filled: list[int] = np.flatnonzero(self.table[:, t.GROUP_ROWS]).tolist()
        return filled

    def _bounded(self, group: int, rows: int) -> int:
        """At most so many rows, with fewer the more variable columns there are."""
        runs = sum(len(plan.runs) for plan in self.plans[group])
        return max(min(rows, MAX_ROWS, _MAX_CELLS // runs), 16)

    def _add_image(self, image: int, plan: RowPlan) -> None:
        first_run = self._runs.take(len(plan.runs))
        self._runs.data[first_run : first_run + len(plan.runs)] = plan.runs
        first_width = self._widths.take(plan.columns)
        self._widths.data[first_width : first_width + plan.columns] = plan.widths
        row = self._images.data[image]
        row[t.IMAGE_RUNS], row[t.IMAGE_FIRST_RUN] = len(plan.runs), first_run
        row[t.IMAGE_BYTES] = (plan.columns + 7) // 8
        in_last_8 = plan.columns - 64 * ((max(row[t.IMAGE_BYTES], 1) - 1) // 8)
        row[t.IMAGE_LAST_MASK] = -1 if in_last_8 == 64 else (1 << int(in_last_8)) - 1
        row[t.IMAGE_WIDTHS] = first_width
        row[t.IMAGE_ANY] = self._any_null.take(len(plan.runs))

    def _allocate(self, group: int, capacity: int) -> None:
        row = self._groups.data[group]
        row[t.GROUP_CAPACITY] = capacity
        row[t.GROUP_SPAN] = self._spans.take(capacity)
        if row[t.GROUP_SHARED] >= 0:
            row[t.GROUP_SHARED] = self._starts.take(capacity)
        for image, plan in enumerate(self.plans[group], start=int(row[t.GROUP_IMAGE])):
            self._images.data[image, t.IMAGE_STARTS] = self._starts.take(capacity * len(plan.runs))
            self._images.data[image, t.IMAGE_MASKS] = self._masks.take(capacity * len(plan.runs))
