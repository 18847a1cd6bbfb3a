"""Decoding of a segment to changes, transactions, statements and faults, in six passes.

    SlidingBuffer     parts → windows of whole events
    frame             1  headers, checksums
    follow, enter     2  assignment of events to transactions; GTIDs, times
    handle            2  the few events that Python handles: formats, statements, the unexpected
    scan              3, 4, 5  table maps and groups; rows to blocks of cells
    flush             6  cells to Arrow
    release           results of complete transactions without faults

A transaction is returned as a whole or not at all: its results are held until it ends, and dropped
if one of its events is invalid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from decoder.compression.compressed_rows import uncompressed
from decoder.compression.memory_budget import frame_window
from decoder.compression.payload_decoder import Payload, PayloadDecoder, oversized
from decoder.constants import MAGIC, EventType
from decoder.encryption.keys import NO_KEYS, Keys
from decoder.errors import BinlogError, TruncatedError
from decoder.events.layout import V4, first_layout
from decoder.events.log_start import DESCRIPTORS
from decoder.events.start_v3 import artificial_start
from decoder.framing.frames import VALID, Frames, frame
from decoder.framing.sliding_buffer import SlidingBuffer
from decoder.kernels.memory import Bytes
from decoder.model.definition import Names
from decoder.model.options import TypeOptions
from decoder.model.results import Changes, Definitions, Faults, Result, Statements, Transactions
from decoder.model.segment import Segment
from decoder.rows.row_decoder import RowDecoder
from decoder.stream.open_transaction import HeldChanges
from decoder.stream.segment_input import end_error, head_error, read_payload, unread_bytes
from decoder.transactions.boundaries import TransactionTracker
from decoder.transactions.control_events import ControlEventHandler
from decoder.transactions.event_window import Window
from decoder.transactions.faults import STATEMENT_DML, Fault, FaultLog, fault_of, kind_of
from decoder.transactions.savepoints import restore_positions
from decoder.transactions.state import BYTES, FAULTY, START, STOP, Session
from decoder.transactions.statements import StatementLog
from decoder.transactions.summaries import transactions_batch

_PLAIN = TypeOptions()


class SegmentDecoder:
    """A decoder for one segment; `decode` can be called once.

    `rows=False` skips rows: only definitions, statements, transactions and their faults are
    decoded. If `wanted(schema, table)` is False, the table's rows are counted but not decoded.
    `trusted`: do not hold back changes until their transaction ends. `names` adds column names to
    TABLE_MAPs without them.
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
        self._replay_decoder = partial(SegmentDecoder, options=options, wanted=wanted, names=names)
        self._walks = rows
        self._session = Session(segment.ordinal)
        self._tracker = TransactionTracker()
        self._faults = FaultLog(segment, self._session)
        self._statements = StatementLog(segment.file)
        self._rows = RowDecoder(
            segment.file, self._session, options, walks=rows, wanted=wanted, names=names
        )
        self._control_events = ControlEventHandler(self._session, self._statements)
        self._payloads = PayloadDecoder(self._session)
        self._checksum = False
        self._layout = V4
        self._held_changes = HeldChanges(trusted=trusted)
        self._feed = SlidingBuffer([], segment.start_pos)

    @property
    def first_fault(self) -> BinlogError | None:
        """The error of the first fault, if any."""
        return self._faults.first

    def decode(self, parts: Iterable[Any]) -> Iterator[Result]:
        """Yield the results, in the order of the log as far as their kinds allow.

        `parts`: the segment's content, in pieces of any size (bytes, or objects with a buffer).
        Bytes that cannot be decoded are reported as `Faults`, not raised.
        """
        if self._enter_preamble():
            self._feed = SlidingBuffer(parts, self._segment.start_pos)
            if self._begin(self._feed):
                yield from self._decode_feed(self._feed)
        yield from self._release(final=True)

    # --- windows ----------------------------------------------------------------------------------

    def _enter_preamble(self) -> bool:
        """Process the preamble; return False if it is invalid."""
        feed = SlidingBuffer([self._segment.preamble], self._segment.start_pos)
        feed.fill()
        if bytes(feed.buffer[feed.start : feed.start + len(MAGIC)]) == MAGIC:
            feed.consume(feed.start + len(MAGIC))
        layout = first_layout(unread_bytes(feed))
        place = feed.buffer, feed.start, feed.end
        frames = frame(*place, base=feed.base, checksum=False, layout=layout)
        if frames.fault is not None or frames.next_offset != feed.end:
            error = frames.fault or TruncatedError("the preamble ends inside an event")
            self._end_with_fault(error, b"")
            return False
        self._checksum, self._layout = frames.checksum, frames.layout
        roles = self._tracker.follow(feed.buffer, frames, base=feed.base)
        window = self._session.enter(feed.buffer, frames, roles, base=feed.base)
        window.position[:] = self._segment.start_pos
        restore_positions(window, self._segment.start_pos)
        start = self._segment.transaction_pos
        if start is not None:
            self._tracker.continue_from(start)
            self._session.continue_from(start)
        for _ in self._process(window):
            pass
        if start is not None:
            self._session.transactions[self._session.current, BYTES] = 0
        return True

    def _begin(self, feed: SlidingBuffer) -> bool:
        """Check the first bytes; return False if the rest cannot be decoded."""
        feed.fill()
        is_first = feed.position == 0 and self._control_events.description is None
        if is_first and (error := head_error(feed)):
            self._end_with_fault(error, unread_bytes(feed))
            return False
        if unread_bytes(feed).startswith(MAGIC):
            feed.consume(feed.start + len(MAGIC))
        if is_first:
            self._begin_log(unread_bytes(feed))
        return True

    def _begin_log(self, log: bytes) -> None:
        """Set the layout of the first events, which a log before MySQL 5.0 may not contain."""
        self._layout = first_layout(log)
        if self._layout.version == 3 and log[4] not in DESCRIPTORS:
            self._control_events.begin(artificial_start())

    def _decode_feed(self, feed: SlidingBuffer) -> Iterator[Result]:
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
                yield from self._process(self._enter(feed.buffer, frames, feed.base))
                feed.consume(frames.next_offset)
                if frames.stop is not None:
                    self._end_with_fault(frames.stop, unread_bytes(feed))
                yield from self._release(final=False)
            elif frames.stop is not None:
                self._end_with_fault(frames.stop, unread_bytes(feed))
            elif feed.left == 0 and feed.exhausted:
                return
            elif feed.next_type == EventType.TRANSACTION_PAYLOAD:
                yield from self._decode_large_payload(feed)
            elif not feed.extend():
                self._end_with_fault(end_error(feed), unread_bytes(feed))
                return
            if frames.stopped:
                return

    def _decode_large_payload(self, feed: SlidingBuffer) -> Iterator[Result]:
        position = feed.position
        event, pieces, error = read_payload(feed, self._layout, checksum=self._checksum)
        if error is not None:
            self._end_with_fault(error, event.buffer.tobytes())
            return
        frames = event.frames
        frames.table[VALID] = event.valid
        window = self._enter(event.buffer, frames, position)
        if event.valid:
            yield from self._decode_payload(oversized(window, pieces))
        else:
            self._handle(window, 0)
        yield from self._release(final=False)

    def _enter(self, buffer: Bytes, frames: Frames, base: int) -> Window:
        roles = self._tracker.follow(buffer, frames, base=base)
        window = self._session.enter(buffer, frames, roles, base=base)
        self._faults.extend(self._control_events.without_beginning(window, frames, roles))
        return window

    # --- events -----------------------------------------------------------------------------------

    def _process(self, window: Window) -> Iterator[Changes]:
        """Take a window through the passes; yield only the changes of large payloads in it."""
        for part, faults in uncompressed(window):
            self._faults.extend(faults)
            yield from self._process_events(part)

    def _process_events(self, window: Window) -> Iterator[Changes]:
        """Process the events in order: rows events in ranges between those that Python handles."""
        done = 0
        payloads: list[int] = []
        for event, has_rows, is_payload in window.attention_with_context():
            if payloads and (has_rows or not is_payload):
                yield from self._decode_payloads(window, payloads)
                payloads = []
            if has_rows:
                self._scan(window, done, event)
            done = event + 1
            if is_payload:
                payloads.append(event)
            else:
                self._handle(window, event)
        if payloads:
            yield from self._decode_payloads(window, payloads)
        self._scan(window, done, len(window))

    def _scan(self, window: Window, start: int, stop: int) -> None:
        if start < stop:
            description = self._control_events.description
            changed = self._statements.schema_changes
            self._faults.extend(self._rows.scan(window, start, stop, description, changed))

    def _handle(self, window: Window, event: int) -> None:
        fault = self._control_events.handle(window, event)
        if fault is not None:
            self._faults.add(fault)

    # --- payloads ---------------------------------------------------------------------------------

    def _decode_payloads(self, window: Window, events: list[int]) -> Iterator[Changes]:
        description = self._control_events.description
        for found in self._payloads.together(window, events, description):
            if isinstance(found, Window):
                self._decode_inner(found)
            else:
                yield from self._decode_payload(found)

    def _decode_inner(self, window: Window) -> None:
        """Decode events of payloads, and flush their rows, as their buffer is reused."""
        for _ in self._process(window):
            pass
        self._faults.extend(self._rows.flush())

    def _decode_payload(self, payload: Payload | Fault) -> Iterator[Changes]:
        """Decode a payload window by window.

        Its changes must not be yielded before all of it is known to be valid, and a large one does
        not fit in memory: it is decoded twice, first only to find faults.
        """
        if isinstance(payload, Fault):
            self._faults.add(payload)
        elif self._walks and not payload.fits_a_window:
            yield from self._decode_large(payload)
        else:
            for _ in self._decode_windows(payload):
                pass

    def _decode_large(self, payload: Payload) -> Iterator[Changes]:
        self._faults.extend(self._rows.flush())
        before = self._rows.take_flushed()
        statements, counts = len(self._statements), self._rows.count_of_counts
        for _ in self._decode_windows(payload):
            self._rows.flushed.clear()
        transaction = payload.window.transaction[payload.event]
        if not self._session.transactions[transaction, FAULTY]:
            self._statements.truncate(statements)
            self._rows.forget_counts(counts)
            for _ in self._decode_windows(payload):
                yield from (flushed.changes for flushed in self._rows.flushed)
                self._rows.flushed.clear()
        self._rows.flushed = before

    def _decode_windows(self, payload: Payload) -> Iterator[None]:
        """Decode a payload window by window; yield after each, with its rows flushed."""
        self._rows.restart_rows()
        try:
            for window in self._payloads.windows(payload):
                self._decode_inner(window)
                yield
        except BinlogError as error:
            self._faults.add(fault_of(payload.window, payload.event, error))

    def _end_with_fault(self, error: BinlogError, content: bytes) -> None:
        """Record a fault after which nothing can be read; the open transaction is faulty too."""
        self._faults.add(
            Fault(error, kind_of(error), self._session.current, content, tables_are_known=False)
        )

    # --- results ----------------------------------------------------------------------------------

    def _release(self, *, final: bool) -> Iterator[Result]:
        """Yield the results of ended transactions; with `final`, also those of the open one."""
        self._faults.extend(self._rows.flush())
        current = -1 if final else self._session.current
        count = self._session.count
        counts = self._rows.take_counts(current)
        if self._rows.definitions:
            yield Definitions(self._rows.definitions)
            self._rows.definitions = []
        statements = self._statements.take()
        if statements is not None:
            yield Statements(statements)
        self._faults.extend(self._control_events.refused_rollbacks(counts, current))
        faulty = self._session.transactions[:, FAULTY] != 0
        if self._held_changes.probing and current != 0 and not faulty[0]:
            stop = int(self._session.transactions[0, STOP])
            yield from self._replay(stop if stop >= 0 else self._feed.position)
        yield from self._held_changes.release(self._rows.take_flushed(), faulty, current)
        if count > int(current >= 0):
            yield self._transactions(counts, current)
        faults = self._faults.take(current, counts, self._rows.maps.names)
        if faults is not None:
            yield Faults(faults)
        self._control_events.keep_current(current)
        self._session.keep_current(forget=final)
        is_open = self._session.current >= 0
        start = int(self._session.transactions[0, START]) if is_open else self._feed.position
        self._feed.forget(start)

    def _replay(self, stop: int) -> Iterator[Result]:
        """Decode transaction 0 again, which was probed and has no fault."""
        segment = self._segment
        transaction = int(self._session.transactions[0, START])
        inside = transaction < segment.start_pos
        replayed = Segment(
            segment.file,
            segment.ordinal,
            segment.start_pos if inside else transaction,
            transaction if inside else None,
            segment.preamble if inside else self._control_events.descriptor_at(transaction),
        )
        decoder = self._replay_decoder(replayed, trusted=True)
        for result in decoder.decode(self._feed.reread(replayed.start_pos, stop)):
            if isinstance(result, Faults):  # statements were already reported
                result = result.excluding(STATEMENT_DML)
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
                details=self._control_events.details.of(count),
            )
        )


def read(
    data: Any, *, file: str = "", options: TypeOptions = _PLAIN, keys: Keys = NO_KEYS
) -> Iterator[Changes]:
    """Yield the row changes in a binary log file, or in a segment that starts with its format.

    `data` is any object with a buffer: bytes, bytearray, memoryview, numpy array, pyarrow Buffer.
    Each `Changes` has `.schema`, `.table`, `.definition` and `.batch`, with the columns of
    `decoder.model.schemas.changes`. The ordinal in LSNs is the number at the end of `file`'s name
    (0 without one). An encrypted log is decrypted as a whole, with `keys`.

    Raises BinlogError at the first error, after yielding the complete transactions before it. The
    changes include those of a transaction that is incomplete at the end of the data (a segment may
    end inside one), and rows that were rolled back: by ROLLBACK, by ROLLBACK TO SAVEPOINT, or as
    their transaction never ended and the next one follows. The results of `SegmentDecoder` identify
    all of them.
    """
    decoder = SegmentDecoder(segment_of(file), options)
    for result in decoder.decode([keys.decrypted(data, file=file)]):
        if isinstance(result, Changes):
            yield result
        elif isinstance(result, Faults) and decoder.first_fault is not None:
            raise decoder.first_fault


def segment_of(file: str) -> Segment:
    """Return a whole file as a segment; its ordinal is the number at the end of its name, or 0."""
    number = re.search(r"\.(\d+)$", file)
    return Segment(file, int(number[1]) if number else 0)
