"""A segment's bytes to changes, transactions, statements and faults: all passes, wired.

    Feed              parts → windows of whole events
    frame             1  headers, checksums
    follow, enter     2  which transaction an event is of; GTIDs, times
    look              2  the few events that Python must see: format, statements, the unexpected
    scan              3, 4, 5  table maps and groups; rows to blocks of cells
    flush             6  cells to Arrow
    release           what is whole and has no fault

A transaction comes whole or not at all: what its events gave is kept until its end is seen, and
dropped if one of them is at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from decoder.compression.compressed_rows import uncompressed
from decoder.compression.memory_budget import frame_window
from decoder.compression.oversized_payload import pass_payload
from decoder.compression.payload_decoder import PayloadDecoder
from decoder.constants import MAGIC, EventType, event_name
from decoder.errors import BinlogError, TruncatedError
from decoder.events.format_descriptor import DESCRIPTORS
from decoder.events.layout import V4, first_layout
from decoder.events.start_v3 import artificial_start
from decoder.framing.frames import OFFSET, SIZE, TYPE, Frames, frame
from decoder.framing.sliding_buffer import Feed
from decoder.model.definition import TableDefinition
from decoder.model.options import TypeOptions
from decoder.model.results import Changes, Definitions, Faults, Result, Statements, Transactions
from decoder.model.segment import Segment
from decoder.rows.change_batch import Origin
from decoder.rows.row_decoder import Names, RowDecoder
from decoder.stream.open_transaction import Holding
from decoder.transactions.boundaries import TransactionTracker
from decoder.transactions.control_events import Attention
from decoder.transactions.counting import tables_of
from decoder.transactions.event_window import Window
from decoder.transactions.faults import (
    CONTENT_LIMIT,
    STATEMENT_DML,
    UNSUPPORTED,
    Fault,
    FaultLog,
    kind_of,
)
from decoder.transactions.input_errors import content, end_error, head_error, old_rollbacks
from decoder.transactions.savepoints import place_carried
from decoder.transactions.state import BYTES, FAULTY, START, STOP, Session
from decoder.transactions.statements import StatementLog
from decoder.transactions.summaries import transactions_batch

__all__ = [
    "Changes",
    "Definitions",
    "Faults",
    "Result",
    "Segment",
    "SegmentDecoder",
    "Statements",
    "Transactions",
]


class SegmentDecoder:
    """Decodes one segment, once.

    `rows=False` leaves rows alone: only definitions, statements, transactions and their faults.
    `wanted(schema, table)` False: the table's rows are counted, not decoded. `trusted`: changes are
    not kept back until their transaction ends. `names` tells what TABLE_MAPs without names do not.
    """

    def __init__(
        self,
        segment: Segment,
        options: TypeOptions,
        *,
        rows: bool = True,
        wanted: Callable[[str, str], bool] | None = None,
        trusted: bool = False,
        names: Names | None = None,
    ) -> None:
        self._segment = segment
        self._again = partial(SegmentDecoder, options=options, wanted=wanted, names=names)
        self._walks = rows
        self._session = Session()
        self._tracker = TransactionTracker()
        self._faults = FaultLog(segment.file)
        self._statements = StatementLog(segment.file)
        self._rows = RowDecoder(
            Origin.of(segment.file, segment.ordinal),
            self._session,
            options,
            walks=rows,
            wanted=wanted,
            fault=self._report_rows,
            names=names,
        )
        self._attention = Attention(
            self._session, self._statements, segment.ordinal, self._report, self._rows.next_row
        )
        self._window: Window | None = None
        self._checksum = False
        self._layout = V4
        self._holding = Holding(trusted=trusted)
        self._feed = Feed([], segment.start_pos)
        self._definitions: list[tuple[int, int, TableDefinition]] = []
        self._known: dict[str, tuple[TableDefinition, int]] = {}
        self._payloads = PayloadDecoder(
            self._session,
            self._rows,
            self._attention,
            self._statements,
            walks=rows,
            process=self._process_inner,
            report=self._report,
        )

    @property
    def first_fault(self) -> BinlogError | None:
        """The first fault that was found, as an error."""
        return self._faults.first

    def decode(self, parts: Iterable[Any]) -> Iterator[Result]:
        """The results, in the order of the log as far as their kinds allow.

        `parts`: the segment's content, in pieces of any size (bytes, or what has a buffer). Bytes
        that cannot be decoded are yielded as `Faults`; nothing is raised for them.
        """
        try:
            if self._enter_preamble():
                self._feed = Feed(parts, self._segment.start_pos)
                if self._begin(self._feed):
                    yield from self._decode_feed(self._feed)
            yield from self._release(final=True)
        finally:
            # They call back into this decoder: a reference cycle, which would keep their buffers
            # until the next garbage collection.
            del self._rows, self._attention, self._payloads, self._feed, self._window

    # --- windows ----------------------------------------------------------------------------------

    def _enter_preamble(self) -> bool:
        """Takes in the events that stand for what was before; False where they are no events."""
        feed = Feed([self._segment.preamble], self._segment.start_pos)
        feed.fill()
        if bytes(feed.buffer[feed.start : feed.start + len(MAGIC)]) == MAGIC:
            feed.consume(feed.start + len(MAGIC))
        layout = first_layout(content(feed))
        place = feed.buffer, feed.start, feed.end
        frames = frame(*place, base=feed.base, checksum=False, layout=layout)
        if frames.fault is not None or frames.next_offset != feed.end:
            error = frames.fault or TruncatedError("the preamble ends inside an event")
            self._lose(error, b"")
            return False
        self._checksum, self._layout = frames.checksum, frames.layout
        window = self._enter(feed, frames)
        window.position[:] = self._segment.start_pos
        place_carried(window, self._segment.start_pos)
        start = self._segment.transaction_pos
        if start is not None:
            self._tracker.continue_from(start)
            self._session.continue_from(start)
        for _ in self._process(window):
            pass
        if start is not None:
            self._session.transactions[self._session.current, BYTES] = 0
        return True

    def _begin(self, feed: Feed) -> bool:
        """Judges the first bytes; False where nothing can be made of what follows."""
        feed.fill()
        is_first = feed.position == 0 and self._attention.description is None
        if is_first and (error := head_error(feed)):
            self._lose(error, content(feed))
            return False
        if content(feed).startswith(MAGIC):
            feed.consume(feed.start + len(MAGIC))
        if is_first:
            self._begin_log(content(feed))
        return True

    def _begin_log(self, log: bytes) -> None:
        """Notes how the first events are laid out; before MySQL 5.0, none of them may say it."""
        self._layout = first_layout(log)
        if self._layout.version == 3 and log[4] not in DESCRIPTORS:
            self._attention.begin(artificial_start())

    def _decode_feed(self, feed: Feed) -> Iterator[Result]:
        while True:
            feed.fill()
            frames = frame_window(
                feed.buffer,
                feed.start,
                feed.end,
                base=feed.base,
                checksum=self._checksum,
                layout=self._layout,
            )
            self._checksum, self._layout = frames.checksum, frames.layout
            if len(frames):
                yield from self._process(self._enter(feed, frames))
                feed.consume(frames.next_offset)
                if frames.stop is not None:
                    self._lose(frames.stop, content(feed))
                yield from self._release(final=False)
            elif frames.stop is not None:
                self._lose(frames.stop, content(feed))
            elif feed.left == 0 and feed.exhausted:
                return
            elif feed.next_type == EventType.TRANSACTION_PAYLOAD:
                yield from self._decode_large_payload(feed)
            elif not feed.extend():
                self._lose(end_error(feed), content(feed))
                return
            if frames.stopped:
                return

    def _decode_large_payload(self, feed: Feed) -> Iterator[Result]:
        """A TRANSACTION_PAYLOAD that is more than a window."""
        passed = pass_payload(feed, self._layout, checksum=self._checksum)
        if passed.missing is not None:
            self._lose(passed.missing, passed.begun)
            return
        marks = self._tracker.follow(passed.buffer, passed.frames, base=passed.position)
        window = self._session.enter(passed.buffer, passed.frames, marks, base=passed.position)
        if passed.frames.valid[0]:
            yield from self._payloads.decode_passed(window, passed.pieces)
        else:
            self._attention.look(window, 0)
        yield from self._release(final=False)

    def _enter(self, feed: Feed, frames: Frames) -> Window:
        marks = self._tracker.follow(feed.buffer, frames, base=feed.base)
        return self._session.enter(feed.buffer, frames, marks, base=feed.base)

    def _process(self, window: Window) -> Iterator[Result]:
        for part in uncompressed(window, self._refuse_rows):
            yield from self._process_events(part)

    def _process_events(self, window: Window) -> Iterator[Result]:
        """Rows events in runs between the events that need a look, in order."""
        done = 0
        payloads: list[int] = []
        for event, has_rows, is_payload in window.attention_with_context():
            if payloads and (has_rows or not is_payload):
                yield from self._payloads.decode(window, payloads)
                payloads = []
            if has_rows:
                self._scan(window, done, event)
            done = event + 1
            self._window = window
            if is_payload:
                payloads.append(event)
            else:
                self._attention.look(window, event)
        if payloads:
            yield from self._payloads.decode(window, payloads)
        self._scan(window, done, len(window))

    def _process_inner(self, window: Window) -> None:
        """The events of payloads, which yield nothing yet."""
        outer = self._window
        for _ in self._process(window):
            pass
        self._window = outer

    def _scan(self, window: Window, start: int, stop: int) -> None:
        if start < stop:
            self._window = window
            self._rows.maps.learn_anew_behind(self._statements.schema_changes)
            self._rows.scan(window, start, stop, self._attention.parse_table_map, self._see)

    def _see(self, window: Window, event: int, definition: TableDefinition) -> None:
        """A TABLE_MAP was met whose bytes or id are new; told again behind a schema change."""
        told = definition, self._statements.schema_changes
        if self._known.get(str(definition)) != told:
            self._known[str(definition)] = told
            lsn = self._lsn(int(window.transaction[event]))
            self._definitions.append((lsn, int(window.position[event]), definition))

    # --- faults -----------------------------------------------------------------------------------

    def _report(
        self, window: Window, event: int, kind: str, error: BinlogError, tables_are_known: bool
    ) -> None:
        """An event is at fault, and its transaction with it, unless it is DML: the rows beside
        that are as the source has them."""
        offset, size = int(window.table[OFFSET, event]), int(window.table[SIZE, event])
        position = int(window.position[event])
        error.at(position=position, event_type=event_name(int(window.table[TYPE, event])))
        content = bytes(window.buffer[offset : offset + min(size, CONTENT_LIMIT)])
        transaction = int(window.transaction[event])
        fault = Fault(error, kind, content, tables_are_known=tables_are_known)
        if kind == STATEMENT_DML:
            fault.lsn = self._lsn(transaction)
            self._faults.tell(fault)
            return
        if transaction >= 0:
            self._session.transactions[transaction, FAULTY] = 1
        else:
            fault.lsn = self._segment.ordinal << 40 | position
        self._faults.add(transaction, fault)

    def _refuse_rows(self, window: Window, event: int, error: BinlogError) -> None:
        """A compressed rows event cannot be decompressed."""
        self._report(window, event, kind_of(error), error, True)

    def _report_rows(self, transaction: int, kind: str, error: BinlogError, event: int) -> None:
        """A rows event is at fault, or (−1) a value in one."""
        if event >= 0 and self._window is not None:
            is_rows = self._window.table[TYPE, event] != EventType.TABLE_MAP
            self._report(self._window, event, kind, error, bool(is_rows))
            return
        self._session.transactions[transaction, FAULTY] = 1
        self._faults.add(transaction, Fault(error, kind, b""))

    def _lose(self, error: BinlogError, content: bytes) -> None:
        """Nothing can be read from here on: the open transaction is at fault, and what follows."""
        transaction = self._session.current
        if transaction >= 0:
            self._session.transactions[transaction, FAULTY] = 1
        fault = Fault(error, kind_of(error), content, tables_are_known=False)
        if transaction < 0:
            fault.lsn = self._segment.ordinal << 40 | (error.position or self._segment.start_pos)
        self._faults.add(transaction, fault)

    # --- results ----------------------------------------------------------------------------------

    def _release(self, *, final: bool) -> Iterator[Result]:
        """What is complete; the open transaction stays, unless there is nothing more to come."""
        self._rows.flush()
        current = -1 if final else self._session.current
        count = self._session.count
        counts = self._rows.take_counts(current)
        if self._definitions:
            yield Definitions(self._definitions)
            self._definitions = []
        statements = self._statements.take()
        if statements is not None:
            yield Statements(statements)
        if self._attention.lacks_statement_cache:
            for index, error in old_rollbacks(self._session.transactions, counts, current):
                self._report_rows(index, UNSUPPORTED, error, -1)
        faulty = self._session.transactions[:, FAULTY] != 0
        if self._holding.probing and current != 0 and not faulty[0]:
            stop = int(self._session.transactions[0, STOP])
            yield from self._replay(stop if stop >= 0 else self._feed.position)
        yield from self._holding.release(self._rows.take_flushed(), faulty, current)
        if count > int(current >= 0):
            yield self._transactions(counts, current)
        names = self._rows.maps.names
        self._faults.close(current, self._lsn, lambda index: tables_of(counts, index, names))
        faults = self._faults.take()
        if faults is not None:
            yield Faults(faults)
        self._attention.keep_current(current)
        self._session.keep_current(forget=final)
        is_open = self._session.current >= 0
        start = int(self._session.transactions[0, START]) if is_open else self._feed.position
        self._feed.forget(start)

    def _replay(self, stop: int) -> Iterator[Result]:
        """Decodes transaction 0 once more, which was probed and found to have no fault."""
        segment = self._segment
        transaction = int(self._session.transactions[0, START])
        inside = transaction < segment.start_pos
        again = Segment(
            segment.file,
            segment.ordinal,
            segment.start_pos if inside else transaction,
            transaction if inside else None,
            segment.preamble if inside else self._attention.descriptor_at(transaction),
        )
        decoder = self._again(again, trusted=True)
        for result in decoder.decode(self._feed.again(again.start_pos, stop)):
            if isinstance(result, Faults):  # statements were told when they were met
                result = result.but_for(STATEMENT_DML)
            if isinstance(result, (Changes, Faults)):
                yield result

    def _transactions(self, counts: Any, current: int) -> Transactions:
        count = self._session.count if current < 0 else current
        return Transactions(
            partial(
                transactions_batch,
                self._session.transactions[:count].copy(),
                self._session.gtids.copy(),
                file=self._segment.file,
                ordinal=self._segment.ordinal,
                counts=counts if self._walks else None,
                names=list(self._rows.maps.names),
                told=self._attention.told.of(count),
            )
        )

    def _lsn(self, transaction: int) -> int:
        return self._segment.ordinal << 40 | int(self._session.transactions[transaction, START])
