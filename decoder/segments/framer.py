"""A log's bytes, in pieces of any size, as windows of framed events: `Framer`.

Memory does not grow with the log: what is held is one piece and the start of an incomplete event.
An event of `LARGE_EVENT` bytes or more is passed through, its checksum computed on the way, and
becomes a window of its own that has its first bytes only.

A `Mark` is a position with the CRC32 of all bytes before it, by which bytes that are read again are
known to be the same. The file's in-use flag counts as cleared, since closing the file clears it.
"""

from __future__ import annotations

import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from decoder.constants import (
    HEADER_LENGTH,
    MAGIC,
    MAGIC_ENCRYPTED,
    EventFlag,
    EventType,
)
from decoder.errors import (
    BinlogError,
    ChecksumError,
    EncryptedError,
    NotABinlogError,
    TruncatedError,
)
from decoder.events.format_descriptor import descriptor_of
from decoder.events.header import EventHeader
from decoder.events.layout import V4, first_layout
from decoder.framing.frames import Frames, frame
from decoder.framing.large_event import LargeEvent, Mark
from decoder.kernels.crc32 import HEAD
from decoder.kernels.memory import Bytes
from decoder.transactions.boundaries import Marks, TransactionTracker

FLAGS_POSITION = len(MAGIC) + 17
"""Where the first event's flags are in a file: the byte that holds the in-use flag."""
LARGE_EVENT = 32 << 20
"""Bytes of an event from which on it is passed through without being held."""

_SHORTEST = len(MAGIC) + HEADER_LENGTH


class Window:
    """Framed events that follow each other in `buffer`; `first` marks where they start.

    `ends`: file positions behind each event; `boundaries`: those between transactions, and
    `boundary_events`: the events before them. `last` is the mark at the end, where it is known
    beforehand (of an event whose bytes are not all in `buffer`).
    """

    def __init__(
        self, buffer: Bytes, frames: Frames, marks: Marks, first: Mark, last: Mark | None = None
    ) -> None:
        self.frames = frames
        self.marks = marks
        self.buffer = buffer
        self._base = first.position - int(frames.offset[0])
        self._known = [first] if last is None else [first, last]
        self.ends: npt.NDArray[np.int64] = self._base + frames.offset + frames.size
        boundary = (marks.ends != 0) | (marks.start < 0)
        # A transaction that starts while one is open closes it: its end was never written.
        boundary[:-1] |= marks.starts[1:] != 0
        self.boundary_events = np.flatnonzero(boundary)
        self.boundaries: npt.NDArray[np.int64] = self.ends[self.boundary_events]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def first(self) -> Mark:
        """Where the first event starts."""
        return self._known[0]

    def mark(self, position: int) -> Mark:
        """The mark at a position inside the window, or at its end."""
        index = bisect_right(self._known, position, key=lambda mark: mark.position)
        before = self._known[index - 1]
        if before.position == position:
            return before
        stretch = self.buffer[before.position - self._base : position - self._base]
        mark = Mark(position, zlib.crc32(stretch.data, before.crc))
        self._known.insert(index, mark)
        return mark

    def event(self, index: int) -> bytes:
        """One event's bytes, with header and checksum."""
        offset = int(self.frames.offset[index])
        return self.buffer[offset : offset + int(self.frames.size[index])].tobytes()

    def bytes_at(
        self, events: npt.NDArray[np.int64], at: int | npt.NDArray[np.int64], count: int
    ) -> npt.NDArray[np.uint8]:
        """For each of the events, by index, the `count` bytes from `at` on: one row each.

        `at` counts from the event's body, for all alike or for each. Where an event is shorter,
        they are any bytes.
        """
        offsets = (self.frames.body[events] + at)[:, None] + np.arange(count)
        taken: npt.NDArray[np.uint8] = self.buffer[np.minimum(offsets, len(self.buffer) - 1)]
        return taken


def magic_fault(magic: bytes) -> BinlogError | None:
    """What is wrong with a file that starts with these four bytes; None for a binary log."""
    if magic == MAGIC:
        return None
    if magic == MAGIC_ENCRYPTED:
        return EncryptedError("the file is encrypted, and no key was given", position=0)
    if not magic:
        return NotABinlogError("the file is empty", position=0)
    found = magic.hex(" ")
    return NotABinlogError(
        f"it starts with {found}, not with a binary log's fe 62 69 6e", position=0
    )


def has_in_use_flag(start: bytes) -> bool:
    """Whether a file that starts with these bytes, magic number included, has the in-use flag.

    Only version 4 of the format has: elsewhere other bytes are at its place.
    """
    return len(start) > FLAGS_POSITION and start[len(MAGIC) + 4] == EventType.FORMAT_DESCRIPTION


class Framer:
    """Frames a file, or a segment of one when `resume` is called first.

    `end` marks the end of the last whole event and `last_type` is its type. `fault` is set at the
    first event at fault; nothing is framed from there on. `verify=False` trusts checksums.
    """

    def __init__(self, *, verify: bool = True) -> None:
        self.fault: BinlogError | None = None
        self.in_use = False
        self.end = Mark(0, 0)
        self.last_type = 0
        self._verify = verify
        self._rest = b""
        self._large: LargeEvent | None = None
        self._checksum = False
        self._layout = V4
        self._tracker = TransactionTracker()
        self._log_pos_is_position = False

    def resume(self, start: Mark, preamble: bytes, transaction_pos: int | None) -> None:
        """Begin in the middle of a file, behind the events of `preamble`."""
        window = _window(preamble)
        layout = first_layout(preamble)
        frames = frame(
            window, HEAD, len(window), base=0, checksum=False, layout=layout, verify=False
        )
        self._tracker.follow(window, frames, base=0)
        self._checksum, self._layout = frames.checksum, frames.layout
        self.end = start
        if transaction_pos is not None:
            self._tracker.continue_from(transaction_pos)

    def feed(self, data: bytes) -> Iterator[Window]:
        """Take the next bytes; gives the events that they complete."""
        if self._large is not None and self.fault is None:
            data = self._large.feed(data)
            yield from self._large_event(self._large)
        if not data or self.fault is not None:
            return
        content = self._rest + data
        self._rest = content
        if self.end.position == 0 and len(content) < _SHORTEST:
            return
        window = _window(content)
        start = HEAD
        if self.end.position == 0:
            self._open(window)
            start += len(MAGIC)
        if self.fault is None:
            yield from self._frame(window, start)

    def finish(self) -> None:
        """There is no more: judge what is left."""
        if self.fault is None and self.end.position == 0:
            self.fault = magic_fault(self._rest[: len(MAGIC)])
        header = self._rest_header()
        if self.fault is not None or header is None or not self._log_pos_is_position:
            return
        ends = (self.end.position + header.size) & 0xFFFFFFFF
        if header.log_pos not in (0, ends):
            self.fault = header.malformed(
                f"the header says {header.size} bytes, but also that it ends at {header.log_pos}"
            )

    @property
    def incomplete(self) -> BinlogError | None:
        """Why the bytes given do not end behind a whole transaction, if they do not."""
        if self._large is not None or self._rest:
            header = self._rest_header()
            return TruncatedError(
                "the file ends inside this event",
                position=self.end.position,
                event_type=header.name if header else None,
            )
        if self._tracker.start is not None:
            return TruncatedError(
                "the file ends inside the transaction that starts here",
                position=self._tracker.start,
            )
        return None

    def _rest_header(self) -> EventHeader | None:
        if self._large is not None:
            return self._large.header
        length = self._layout.header_length
        if len(self._rest) < length or self.fault is not None or not self.end.position:
            return None
        return EventHeader.parse(memoryview(self._rest), 0, self.end.position, self._layout.version)

    def _open(self, window: Bytes) -> None:
        """Judge the file's start, and clear the in-use flag for all that follows."""
        self.fault = magic_fault(window[HEAD : HEAD + len(MAGIC)].tobytes())
        if self.fault is not None:
            return
        start = window[HEAD : HEAD + _SHORTEST].tobytes()
        try:
            descriptor_of(start[len(MAGIC) :], len(MAGIC))
        except BinlogError as error:
            self.fault = error.kept()
            return
        self._layout = first_layout(start[len(MAGIC) :])
        if has_in_use_flag(start):
            self.in_use = bool(window[HEAD + FLAGS_POSITION] & EventFlag.BINLOG_IN_USE)
            window[HEAD + FLAGS_POSITION] &= 0xFF ^ EventFlag.BINLOG_IN_USE
        self.end = Mark(len(MAGIC), zlib.crc32(MAGIC))

    def _frame(self, window: Bytes, start: int) -> Iterator[Window]:
        base = self.end.position - start
        frames = frame(
            window,
            start,
            len(window),
            base=base,
            checksum=self._checksum,
            layout=self._layout,
            verify=self._verify,
        )
        fault = frames.fault
        if not frames.valid.all():
            good = int(np.argmin(frames.valid))
            wrong = int(frames.offset[good])
            frames = replace(frames, table=frames.table[:, :good], next_offset=wrong)
        self._checksum, self._layout = frames.checksum, frames.layout
        self._rest = window[frames.next_offset :].tobytes()
        if len(frames):
            marks = self._tracker.follow(window, frames, base=base)
            yield self._pass(Window(window, frames, marks, self.end))
        self.fault = self.fault or fault
        if self.fault is None:
            self._begin_large_event()

    def _begin_large_event(self) -> None:
        if len(self._rest) < self._layout.header_length:
            return
        if int.from_bytes(self._rest[9:13], "little") >= LARGE_EVENT:
            self._large = LargeEvent(self._rest, self.end, self._layout, checksum=self._checksum)
            self._rest = b""

    def _large_event(self, large: LargeEvent) -> Iterator[Window]:
        if not large.whole:
            return
        self._large = None
        if self._verify and not large.valid:
            self.fault = ChecksumError(
                "the checksum does not match",
                position=large.start.position,
                event_type=large.header.name,
            )
            return
        buffer, frames = large.buffer, large.frames
        marks = self._tracker.follow(buffer, frames, base=large.start.position)
        yield self._pass(Window(buffer, frames, marks, large.start, large.end))

    def _pass(self, window: Window) -> Window:
        """Note where the window ends."""
        self.end = window.mark(int(window.ends[-1]))
        self.last_type = int(window.frames.type[-1])
        log_pos = int(window.frames.log_pos[-1])
        self._log_pos_is_position = log_pos == self.end.position & 0xFFFFFFFF
        return window


def _window(content: bytes) -> Bytes:
    """A writable copy, behind the bytes that the checksum's folding may read."""
    window = np.zeros(HEAD + len(content), np.uint8)
    window[HEAD:] = np.frombuffer(content, np.uint8)
    return window
