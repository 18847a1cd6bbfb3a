"""Passes 3 to 6 over the rows events of a window: drives `scan` and flushes its blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.columns.cells import CellError
from decoder.columns.registry import LossyKeyError
from decoder.constants import HEADER_LENGTH
from decoder.errors import BinlogError, MalformedError, UnsupportedError
from decoder.framing.frames import END, OFFSET, POST_HEADER, TYPE, table_id_size
from decoder.model.definition import TableDefinition
from decoder.model.options import TypeOptions
from decoder.model.results import Changes
from decoder.rows.blocks import Blocks
from decoder.rows.cell_positions import clear_masks, drop_faulty
from decoder.rows.change_batch import Origin, changes_batch
from decoder.rows.image_layout import RowPlan, plan_rows
from decoder.rows.images import BlockImages, Group
from decoder.rows.partial_updates import shared_bits
from decoder.rows.spans import Spans, part, span_of
from decoder.rows.table_maps import Name, TableMaps
from decoder.rows.table_reader import TableReader
from decoder.rows.walker import CONSTANTS, scan
from decoder.transactions import records as t
from decoder.transactions.event_window import Window
from decoder.transactions.faults import LOSSY_KEY, kind_of
from decoder.transactions.records import SPAN_POSITION, SPAN_TRANSACTION
from decoder.transactions.state import FAULTY, START, Session

Names = Callable[[TableDefinition, int, int], TableDefinition]
"""(definition in a TABLE_MAP without names, LSN, position) to the definition with names."""
_BITMAPS = {t.INSERT: 1, t.UPDATE: 2, t.DELETE: 1, t.PARTIAL_UPDATE: 2, t.PRE_GA_UPDATE: 1}
_IMAGES = {t.INSERT: 1, t.UPDATE: 2, t.DELETE: 1, t.PARTIAL_UPDATE: 2, t.PRE_GA_UPDATE: 2}
_OPERATIONS = {t.INSERT: 0, t.UPDATE: 1, t.DELETE: 2, t.PARTIAL_UPDATE: 1, t.PRE_GA_UPDATE: 1}
"""By kind of rows event: number of column bitmaps, images per row, and `__op`."""


@dataclass(slots=True)
class Flushed:
    """A batch of changes and the spans of its rows."""

    changes: Changes
    spans: Spans


class RowDecoder:
    """Decodes rows events to batches of changes; owns table maps, groups and their blocks.

    `wanted(schema, table)` False: rows of the table are counted only. `fault(transaction, kind,
    error, event)` is called for each error (event −1: only its file position is known). `names`
    adds column names to TABLE_MAPs without them.
    """

    def __init__(
        self,
        origin: Origin,
        session: Session,
        options: TypeOptions,
        *,
        walks: bool,
        wanted: Callable[[str, str], bool] | None,
        fault: Callable[[int, str, BinlogError, int], None],
        names: Names | None = None,
    ) -> None:
        self.maps = TableMaps(wanted)
        self.flushed: list[Flushed] = []
        self.counts: npt.NDArray[np.int64] = np.zeros((256, t.COUNT_FIELDS), np.int64)
        self._origin = origin
        self._session = session
        self._options = options
        self._fault = fault
        self._names = names
        self._blocks = Blocks()
        self._groups: list[Group] = []
        self._images = BlockImages(self._blocks)
        self._readers: dict[int, TableReader] = {}
        self._state: npt.NDArray[np.int64] = np.zeros(t.STATE_SIZE, np.int64)
        self._state[t.WALKS] = walks
        self._state[t.ROW_POSITION] = -1
        self._buffer: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    # --- scanning ---------------------------------------------------------------------------------

    def restart_rows(self) -> None:
        """Number the next rows from 0, even if they have the same file position as earlier rows."""
        self._state[t.ROW_POSITION] = -1

    def next_row(self, position: int) -> int:
        """Return the number of the next row of the events at a file position."""
        return int(self._state[t.ROW]) if self._state[t.ROW_POSITION] == position else 0

    def scan(
        self,
        window: Window,
        start: int,
        stop: int,
        parse: Callable[[Window, int], TableDefinition],
        seen: Callable[[Window, int, TableDefinition], None],
    ) -> None:
        """Decode the rows events among events [`start`, `stop`) of a window.

        `parse` reads the definition from a TABLE_MAP; `seen` is called for each new TABLE_MAP.
        """
        if window.buffer is not self._buffer:
            self.flush()
            self._buffer = window.buffer
        self._reserve_counts(stop - start)
        state = self._state
        state[t.EVENT], state[t.ROW_START] = start, 0
        while True:
            result = scan(
                window.buffer,
                stop,
                (window.table, window.transaction, window.position),
                self._session.transactions,
                self.maps.arrays,
                self._blocks.groups,
                self._blocks.arrays,
                self.counts,
                CONSTANTS,
                state,
            )
            if result == t.DONE:
                return
            if result == t.NEW_TABLE_MAP:
                self._register(window, parse, seen)
            elif result == t.NEW_GROUP:
                self._add_group(window)
            elif result == t.BLOCK_FULL:
                self._flush_group(int(state[t.DETAIL]))
                self._blocks.grow(int(state[t.DETAIL]))
            else:
                self._report(window)

    def _reserve_counts(self, events: int) -> None:
        needed = int(self._state[t.COUNTS]) + events + 1
        if needed > len(self.counts):
            grown = np.zeros((2 * needed, t.COUNT_FIELDS), np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown

    def _register(
        self,
        window: Window,
        parse: Callable[[Window, int], TableDefinition],
        seen: Callable[[Window, int, TableDefinition], None],
    ) -> None:
        event = int(self._state[t.EVENT])
        body = int(window.table[OFFSET, event]) + HEADER_LENGTH
        end = int(window.table[END, event])
        id_size = table_id_size(int(window.table[POST_HEADER, event]))
        owner = int(window.transaction[event])
        if body + id_size > end:
            self._skip(owner, MalformedError(t.FAULT_REASONS[t.TOO_SHORT]), event)
            return
        slot = self.maps.register(
            window.buffer,
            body,
            end,
            id_size=id_size,
            owner=owner,
            parse=lambda: parse(window, event),
            name=self._named_at(owner, int(window.position[event])),
        )
        if slot.error is not None:
            self._fault(owner, kind_of(slot.error), slot.error, event)
        elif slot.definition is not None and slot.wanted:
            seen(window, event, slot.definition)

    def _named_at(self, owner: int, position: int) -> Name | None:
        names = self._names
        if names is None or owner < 0:
            return None
        lsn = self._origin.ordinal << 40 | int(self._session.transactions[owner, START])
        return lambda shown: names(shown, lsn, position)

    def _report(self, window: Window) -> None:
        """Report the kernel's fault for the event's transaction, and continue after the event."""
        detail = int(self._state[t.DETAIL])
        event = int(self._state[t.EVENT])
        error: BinlogError | None
        if detail >= t.UNUSABLE_GROUP:
            error = self._groups[detail - t.UNUSABLE_GROUP].error
        elif detail >= t.UNUSABLE_SLOT:
            error = self.maps.slots[detail - t.UNUSABLE_SLOT].error
        else:
            error = MalformedError(t.FAULT_REASONS[detail])
        if error is not None:
            kind = type(error)
            error = kind(error.reason, table=error.table)
        self._skip(
            int(window.transaction[event]),
            error or MalformedError("the event cannot be decoded"),
            event,
        )

    def _skip(self, transaction: int, error: BinlogError, event: int) -> None:
        self._fault(transaction, kind_of(error), error, event)
        self._state[t.EVENT] = event + 1
        self._state[t.ROW_START] = 0

    # --- groups -----------------------------------------------------------------------------------

    def _add_group(self, window: Window) -> None:
        event = int(self._state[t.EVENT])
        index = int(self._state[t.DETAIL])
        kind = t.KIND_OF_TYPE[int(window.table[TYPE, event])]
        slot = self.maps.slots[index]
        assert slot.definition is not None  # the kernel reports a slot without one as a fault
        size = (len(slot.definition.logged) + 7) // 8
        start = int(self._state[t.BITMAPS])
        bitmaps = bytes(window.buffer[start : start + _BITMAPS[kind] * size])
        if self._blocks.is_full:
            self._forget_groups()
        plans: tuple[RowPlan, ...] = ()
        error = None
        use = t.DECODE if slot.wanted else t.COUNT
        try:
            plans = tuple(
                plan_rows(slot.definition, bitmaps[size * k :] or bitmaps)
                for k in range(_IMAGES[kind])
            )
            if not any(plan.columns for plan in plans):
                raise UnsupportedError(
                    "its images have no columns, so the number of rows cannot be determined"
                )
            if slot.wanted and index not in self._readers:
                self._readers[index] = TableReader(slot.definition, self._options)
        except UnsupportedError as found:
            error = found.at(table=str(slot.definition)).kept()
            plans = ()
            use = t.UNUSABLE if slot.wanted else t.SKIP
        group = self._blocks.add(
            plans,
            bitmap=self.maps.keep_bytes(bitmaps),
            length=len(bitmaps),
            use=use,
            shared_bits=shared_bits(slot.definition) if kind == t.PARTIAL_UPDATE else None,
        )
        self._groups.append(Group(group, index, kind, error))
        first = self.maps.table[index, t.SLOT_GROUP + kind]
        self._blocks.table[group, t.GROUP_NEXT] = first
        self.maps.table[index, t.SLOT_GROUP + kind] = group

    def _forget_groups(self) -> None:
        """Discard all groups, since a log may define more than fit in memory.

        They are built again when needed.
        """
        self.flush()
        self._blocks = Blocks()
        self._images = BlockImages(self._blocks)
        self._groups = []
        self.maps.forget_groups()

    # --- flushing ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Build batches of all walked rows; must be called before their buffer changes."""
        for group in self._blocks.filled():
            self._flush_group(group)

    def take_flushed(self) -> list[Flushed]:
        """Return the batches since the last call."""
        taken, self.flushed = self.flushed, []
        return taken

    def _flush_group(self, index: int) -> None:
        """Build batches of a group's rows: one, or several if their text exceeds an array."""
        group = self._groups[index]
        row = self._blocks.table[index]
        walked, capacity = int(row[t.GROUP_ROWS]), int(row[t.GROUP_CAPACITY])
        reader = self._readers[group.slot]
        rows = most = walked
        place = len(self.flushed)
        while rows := self._without_faulty(index, rows):
            first = max(rows - most, 0)
            spans = part(self._blocks.spans(index), first, rows)
            try:
                images = self._images.read(group, reader, self._buffer, first, rows)
            except CellError as error:
                self._refuse(span_of(spans, error.row), error, reader.definition)
                continue
            except BinlogError as error:  # of the batch, not of a row: too much text for an array
                most = (rows - first) // 2
                if most == 0:
                    self._refuse(spans[0], type(error)(error.reason), reader.definition)
                    most = walked
                continue
            batch = changes_batch(
                reader,
                self._origin,
                _OPERATIONS[group.kind],
                spans,
                self._session.transactions,
                self._session.gtids,
                images,
            )
            lossy = images[0].lossy + images[1].lossy
            self.flushed.insert(place, Flushed(Changes(reader.definition, batch, lossy), spans))
            self._blocks.keep(index, first)
            rows = first
        images_table = self._blocks.groups[1]
        first = int(row[t.GROUP_IMAGE])
        for image in range(first, first + int(row[t.GROUP_IMAGES])):
            clear_masks(walked, capacity, image, images_table, self._blocks.arrays)
        row[t.GROUP_ROWS] = 0
        self._blocks.keep(index, 0)

    def _without_faulty(self, index: int, rows: int) -> int:
        owners = self._blocks.spans(index)[:, SPAN_TRANSACTION]
        if not self._session.transactions[owners, FAULTY].any():
            return rows
        capacity = int(self._blocks.table[index, t.GROUP_CAPACITY])
        left: int = drop_faulty(
            capacity,
            index,
            self._blocks.groups,
            self._blocks.arrays,
            self._session.transactions,
        )
        return left

    def _refuse(
        self, span: npt.NDArray[np.int64], error: BinlogError, definition: TableDefinition
    ) -> None:
        """Report an invalid value; its transaction is faulty, and the block is built without it."""
        error.at(position=int(span[SPAN_POSITION]), table=str(definition))
        kind = LOSSY_KEY if isinstance(error, LossyKeyError) else kind_of(error)
        self._fault(int(span[SPAN_TRANSACTION]), kind, error, -1)

    # --- counts -----------------------------------------------------------------------------------

    @property
    def count_of_counts(self) -> int:
        """Number of counts, for `forget_counts`."""
        return int(self._state[t.COUNTS])

    def forget_counts(self, count: int) -> None:
        """Forget all but the first `count` counts."""
        self._state[t.COUNTS] = count

    def take_counts(self, current: int) -> npt.NDArray[np.int64]:
        """Return the counts (`COUNT_…`) since the last call, but keep those of `current`.

        `current` is the open transaction (−1: none), which is renumbered to 0.
        """
        used = int(self._state[t.COUNTS])
        taken = self.counts[:used].copy()
        kept = taken[taken[:, t.COUNT_TRANSACTION] == current] if current >= 0 else taken[:0]
        self.counts[: len(kept)] = kept
        self.counts[: len(kept), t.COUNT_TRANSACTION] = 0
        self._state[t.COUNTS] = len(kept)
        self.maps.renumber(current)
        return taken
