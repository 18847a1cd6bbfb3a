"""Passes 3 to 6 over the rows events of a window: calls of `scan`, and flushes of its blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.columns.arrays import repeated
from decoder.columns.cells import CellError
from decoder.columns.registry import LossyKeyError
from decoder.constants import HEADER_LENGTH, EventType
from decoder.errors import BinlogError, MalformedError, UnsupportedError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.table_map import TableMapEvent
from decoder.framing.frames import END, OFFSET, POST_HEADER, TYPE
from decoder.model.definition import Names, TableDefinition
from decoder.model.options import TableFilter, TypeOptions
from decoder.model.results import Changes
from decoder.rows.blocks import MAX_ROWS, Blocks, Group, Spans, part, span_of
from decoder.rows.cell_positions import clear_masks, drop_faulty
from decoder.rows.change_batch import changes_batch
from decoder.rows.image_layout import ImageLayout, layout_of
from decoder.rows.images import BlockImages, TableReader
from decoder.rows.partial_updates import shared_bits
from decoder.rows.table_slots import TableMaps, id_and_content
from decoder.rows.walker import CONSTANTS, scan
from decoder.transactions import records as t
from decoder.transactions.event_window import Window
from decoder.transactions.faults import LOSSY_KEY, Fault, fault_of, kind_of
from decoder.transactions.records import SPAN_POSITION, SPAN_TRANSACTION
from decoder.transactions.state import FAULTY, Session

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
    """Decoder of rows events to batches of changes; it owns table maps, groups and their blocks.

    `scan` and `flush` return faults, whose transactions they have marked as faulty. `definitions`:
    (LSN, position, definition) of each TABLE_MAP that changes its table's definition.
    `wanted(schema, table)` False: rows of the table are counted only. `names` adds column names to
    TABLE_MAPs without them.
    """

    def __init__(
        self,
        file: str,
        session: Session,
        options: TypeOptions,
        *,
        walks: bool,
        wanted: TableFilter | None,
        names: Names | None = None,
    ) -> None:
        self.maps = TableMaps(wanted)
        self.flushed: list[Flushed] = []
        self.definitions: list[tuple[int, int, TableDefinition]] = []
        self.counts: npt.NDArray[np.int64] = np.zeros((256, t.COUNT_FIELDS), np.int64)
        self._file = repeated(file, MAX_ROWS)
        self._session = session
        self._options = options
        self._names = names
        self._read: dict[bytes, TableDefinition | BinlogError] = {}
        self._known: dict[str, tuple[TableDefinition, int]] = {}
        self._blocks = Blocks()
        self._images = BlockImages(self._blocks)
        self._readers: dict[int, TableReader] = {}
        self._state = session.scan
        self._state[t.WALKS] = walks
        self._buffer: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)

    # --- scanning ---------------------------------------------------------------------------------

    def restart_rows(self) -> None:
        """Number the next rows from 0, even if they have the same file position as earlier rows."""
        self._state[t.ROW_POSITION] = -1

    def scan(
        self,
        window: Window,
        start: int,
        stop: int,
        description: FormatDescriptionEvent | None,
        schema_changes: int,
    ) -> list[Fault]:
        """Decode the rows events among events [`start`, `stop`) of a window; return their faults.

        `schema_changes`: the number of statements before them that may have changed tables.
        """
        faults: list[Fault] = []
        if window.buffer is not self._buffer:
            faults += self.flush()
            self._buffer = window.buffer
        self.maps.invalidate_after(schema_changes)
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
                return faults
            if result == t.NEW_TABLE_MAP:
                faults += self._register(window, description, schema_changes)
            elif result == t.NEW_GROUP:
                faults += self._add_group(window)
            elif result == t.BLOCK_FULL:
                faults += self._flush_group(int(state[t.DETAIL]))
                self._blocks.grow(int(state[t.DETAIL]))
            else:
                faults.append(self._skipped(window, self._scan_error()))

    def _reserve_counts(self, events: int) -> None:
        needed = int(self._state[t.COUNTS]) + events + 1
        if needed > len(self.counts):
            grown = np.zeros((2 * needed, t.COUNT_FIELDS), np.int64)
            grown[: len(self.counts)] = self.counts
            self.counts = grown

    def _register(
        self, window: Window, description: FormatDescriptionEvent | None, schema_changes: int
    ) -> list[Fault]:
        event = int(self._state[t.EVENT])
        owner = int(window.transaction[event])
        body = int(window.table[OFFSET, event]) + HEADER_LENGTH
        end, post_header = int(window.table[END, event]), int(window.table[POST_HEADER, event])
        found = id_and_content(window.buffer, body, end, post_header)
        if found is None:
            return [self._skipped(window, MalformedError(t.FAULT_REASONS[t.TOO_SHORT]))]
        table_id, content = found
        read = self._definition(window, event, content, description)
        position = int(window.position[event])
        if self._names is not None and isinstance(read, TableDefinition):
            read = self._names(read, self._session.lsn(owner), position)
        slot = self.maps.register(table_id, content, owner, read)
        if slot.error is not None:
            return [self._marked(fault_of(window, event, slot.error))]
        if slot.definition is not None and slot.wanted:
            version = slot.definition, schema_changes
            if self._known.get(str(slot.definition)) != version:
                self._known[str(slot.definition)] = version
                self.definitions.append((self._session.lsn(owner), position, slot.definition))
        return []

    def _definition(
        self,
        window: Window,
        event: int,
        content: bytes,
        description: FormatDescriptionEvent | None,
    ) -> TableDefinition | BinlogError:
        """Return the definition in a TABLE_MAP, which is only parsed if its bytes are new."""
        if content not in self._read:
            try:
                parsed = window.parse(event, description, TableMapEvent)
                self._read[content] = parsed.definition
            except BinlogError as error:
                self._read[content] = error.kept()
        return self._read[content]

    def _scan_error(self) -> BinlogError:
        """Return the error for which the kernel stopped."""
        detail = int(self._state[t.DETAIL])
        error: BinlogError | None
        if detail >= t.UNUSABLE_GROUP:
            error = self._blocks.members[detail - t.UNUSABLE_GROUP].error
        elif detail >= t.UNUSABLE_SLOT:
            error = self.maps.slots[detail - t.UNUSABLE_SLOT].error
        else:
            return MalformedError(t.FAULT_REASONS[detail])
        if error is None:
            return MalformedError("the event cannot be decoded")
        return type(error)(error.reason, table=error.table)

    def _skipped(self, window: Window, error: BinlogError) -> Fault:
        """Continue after the current event; return its fault."""
        event = int(self._state[t.EVENT])
        self._state[t.EVENT] = event + 1
        self._state[t.ROW_START] = 0
        is_rows = bool(window.table[TYPE, event] != EventType.TABLE_MAP)
        return self._marked(fault_of(window, event, error, tables_are_known=is_rows))

    def _marked(self, fault: Fault) -> Fault:
        """Mark the transaction as faulty, so that its other rows are skipped."""
        self._session.transactions[fault.transaction, FAULTY] = 1
        return fault

    # --- groups -----------------------------------------------------------------------------------

    def _add_group(self, window: Window) -> list[Fault]:
        """Add the current event's group; return the faults of rows flushed for lack of memory."""
        event = int(self._state[t.EVENT])
        index = int(self._state[t.DETAIL])
        kind = t.KIND_OF_TYPE[int(window.table[TYPE, event])]
        slot = self.maps.slots[index]
        assert slot.definition is not None  # the kernel reports a slot without one as a fault
        size = (len(slot.definition.logged) + 7) // 8
        start = int(self._state[t.BITMAPS])
        bitmaps = bytes(window.buffer[start : start + _BITMAPS[kind] * size])
        faults = self._forget_groups() if self._blocks.is_full else []
        layouts: tuple[ImageLayout, ...] = ()
        error = None
        use = t.DECODE if slot.wanted else t.COUNT
        try:
            layouts = tuple(
                layout_of(slot.definition, bitmaps[size * k :] or bitmaps)
                for k in range(_IMAGES[kind])
            )
            if not any(layout.columns for layout in layouts):
                raise UnsupportedError(
                    "its images have no columns, so the number of rows cannot be determined"
                )
            if slot.wanted and index not in self._readers:
                self._readers[index] = TableReader(slot.definition, self._options)
        except UnsupportedError as found:
            error = found.at(table=str(slot.definition)).kept()
            layouts = ()
            use = t.UNUSABLE if slot.wanted else t.SKIP
        group = self._blocks.add(
            Group(index, kind, layouts, error),
            bitmap=self.maps.keep_bytes(bitmaps),
            use=use,
            shared_bits=shared_bits(slot.definition) if kind == t.PARTIAL_UPDATE else None,
        )
        first = self.maps.table[index, t.SLOT_GROUP + kind]
        self._blocks.table[group, t.GROUP_NEXT] = first
        self.maps.table[index, t.SLOT_GROUP + kind] = group
        return faults

    def _forget_groups(self) -> list[Fault]:
        """Discard all groups, since a log may define more than fit in memory.

        They are built again when needed.
        """
        faults = self.flush()
        self._blocks = Blocks()
        self._images = BlockImages(self._blocks)
        self.maps.forget_groups()
        return faults

    # --- flushing ---------------------------------------------------------------------------------

    def flush(self) -> list[Fault]:
        """Build batches of all walked rows, and return the faults found in them.

        Must be called before their buffer changes.
        """
        return [fault for group in self._blocks.filled() for fault in self._flush_group(group)]

    def take_flushed(self) -> list[Flushed]:
        """Return the batches since the last call."""
        taken, self.flushed = self.flushed, []
        return taken

    def _flush_group(self, index: int) -> list[Fault]:
        """Build batches of a group's rows: one, or several if their text exceeds an array."""
        faults: list[Fault] = []
        group = self._blocks.members[index]
        row = self._blocks.table[index]
        walked, capacity = int(row[t.GROUP_ROWS]), int(row[t.GROUP_CAPACITY])
        reader = self._readers[group.slot]
        rows = most = walked
        place = len(self.flushed)
        while rows := self._without_faulty(index, rows):
            first = max(rows - most, 0)
            spans = part(self._blocks.spans(index), first, rows)
            try:
                images = self._images.read(index, reader, self._buffer, first, rows)
            except CellError as error:
                faults.append(self._refused(span_of(spans, error.row), error, reader.definition))
                continue
            except BinlogError as error:  # of the batch, not of a row: too much text for an array
                most = (rows - first) // 2
                if most == 0:
                    error = type(error)(error.reason)
                    faults.append(self._refused(spans[0], error, reader.definition))
                    most = walked
                continue
            batch = changes_batch(
                reader, self._file, _OPERATIONS[group.kind], spans, self._session, images
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
        return faults

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

    def _refused(
        self, span: npt.NDArray[np.int64], error: BinlogError, definition: TableDefinition
    ) -> Fault:
        """Return the fault of an invalid value, without whose transaction the block is built."""
        error.at(position=int(span[SPAN_POSITION]), table=str(definition))
        kind = LOSSY_KEY if isinstance(error, LossyKeyError) else kind_of(error)
        return self._marked(Fault(error, kind, int(span[SPAN_TRANSACTION])))

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
