"""Framing of a log that arrives in pieces of any size, into windows of events: `Framer`.

Memory does not grow with the log: one piece and the start of an incomplete event are held. An event
of `LARGE_EVENT` bytes or more is streamed, with its checksum computed on the way, and becomes a
window of its own that contains only its first bytes.

A `Checkpoint` is a position and the CRC32 of all bytes before it, to recognize whether a
file that is read again has changed. The in-use flag counts as cleared, because closing the file
clears it.
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
from decoder.events.header import EventHeader
from decoder.events.layout import V4, first_layout
from decoder.events.log_start import descriptor_of
from decoder.framing.frames import Frames, frame
from decoder.framing.large_event import Checkpoint, LargeEvent
from decoder.kernels.crc32 import HEAD
from decoder.kernels.memory import Bytes
from decoder.transactions.boundaries import EventRoles, TransactionTracker

FLAGS_POSITION = len(MAGIC) + 17
"""Position of the first event's flags in a file: the byte with the in-use flag."""
LARGE_EVENT = 32 << 20
"""Events of this many bytes or more are streamed instead of held."""

_SHORTEST = len(MAGIC) + HEADER_LENGTH


class FramedWindow:
    """Consecutive framed events in `buffer`; `first` is the checkpoint at their start.

    `ends`: file positions of the ends of events; `boundaries`: those of them that are between
    transactions; `boundary_events`: the indices of the events that end there. `last` is the
    checkpoint at the end, passed if `buffer` does not contain all bytes of the event.
    """

    def __init__(
        self,
        buffer: Bytes,
        frames: Frames,
        roles: EventRoles,
        first: Checkpoint,
        last: Checkpoint | None = None,
    ) -> None:
        self.frames = frames
        self.roles = roles
        self.buffer = buffer
        self._base = first.position - int(frames.offset[0])
        self._known = [first] if last is None else [first, last]
        self.ends: npt.NDArray[np.int64] = self._base + frames.offset + frames.size
        self.boundary_events = np.flatnonzero((roles.ends != 0) | (roles.start < 0))
        self.boundaries: npt.NDArray[np.int64] = self.ends[self.boundary_events]

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def first(self) -> Checkpoint:
        """The checkpoint at the start of the first event."""
        return self._known[0]

    def checkpoint_at(self, position: int) -> Checkpoint:
        """Return the checkpoint at a position inside the window or at its end."""
        index = bisect_right(self._known, position, key=lambda known: known.position)
        before = self._known[index - 1]
        if before.position == position:
            return before
        content = self.buffer[before.position - self._base : position - self._base]
        checkpoint = Checkpoint(position, zlib.crc32(content.data, before.crc))
        self._known.insert(index, checkpoint)
        return checkpoint

    def event(self, index: int) -> bytes:
        """Return an event's bytes, with header and checksum."""
        offset = int(self.frames.offset[index])
        return self.buffer[offset : offset + int(self.frames.size[index])].tobytes()

    def bytes_at(
        self, events: npt.NDArray[np.int64], at: int | npt.NDArray[np.int64], count: int
    ) -> npt.NDArray[np.uint8]:
        """Return `count` bytes at offset `at` of each event's body, as one row per event.

        `events` are indices; `at` is one offset for all or one for each. If an event is shorter,
        the bytes beyond its end are arbitrary.
        """
        offsets = (self.frames.body[events] + at)[:, None] + np.arange(count)
        taken: npt.NDArray[np.uint8] = self.buffer[np.minimum(offsets, len(self.buffer) - 1)]
        return taken


def magic_fault(magic: bytes) -> BinlogError | None:
    """Return an error if these first four bytes are not those of a plain binary log, else None."""
    if magic == MAGIC:
        return None
    if magic == MAGIC_ENCRYPTED:
        return EncryptedError("the file is encrypted, and no keys were given", position=0)
    if not magic:
        return NotABinlogError("the file is empty", position=0)
    found = magic.hex(" ")
    return NotABinlogError(
        f"the file starts with {found}, not with the magic number fe 62 69 6e", position=0
    )


def has_in_use_flag(start: bytes) -> bool:
    """Return True if a file that starts with these bytes has an in-use flag, set or not.

    `start` includes the magic number. Only version 4 of the format has the flag.
    """
    return len(start) > FLAGS_POSITION and start[len(MAGIC) + 4] == EventType.FORMAT_DESCRIPTION


class Framer:
    """Framer of the events of a file, or of a segment if `resume` is called first.

    `end` is the checkpoint after the last complete event, and `last_type` its type. `fault` is set
    at the first invalid event, and framing stops there. `verify=False` skips checksums.
    """

    def __init__(self, *, verify: bool = True) -> None:
        self.fault: BinlogError | None = None
        self.in_use = False
        self.end = Checkpoint(0, 0)
        self.last_type = 0
        self._verify = verify
        self._rest = b""
        self._large: LargeEvent | None = None
        self._checksum = False
        self._layout = V4
        self._tracker = TransactionTracker()
        self._log_pos_is_position = False

    def resume(self, start: Checkpoint, preamble: bytes, transaction_pos: int | None) -> None:
        """Start in the middle of a file, with the events of `preamble` as context.

        `transaction_pos` is the position of the transaction that is open at `start`, if any.
        """
        window = writable_copy(preamble)
        layout = first_layout(preamble)
        frames = frame(
            window, HEAD, len(window), base=0, checksum=False, layout=layout, verify=False
        )
        self._tracker.follow(window, frames, base=0)
        self._checksum, self._layout = frames.checksum, frames.layout
        self.end = start
        if transaction_pos is not None:
            self._tracker.continue_from(transaction_pos)

    def feed(self, data: bytes) -> Iterator[FramedWindow]:
        """Add the next bytes; yield the events that they complete."""
        if self._large is not None and self.fault is None:
            data = self._large.feed(data)
            yield from self._large_event(self._large)
        if not data or self.fault is not None:
            return
        content = self._rest + data
        self._rest = content
        if self.end.position == 0 and len(content) < _SHORTEST:
            return
        window = writable_copy(content)
        start = HEAD
        if self.end.position == 0:
            self._open(window)
            start += len(MAGIC)
        if self.fault is None:
            yield from self._frame(window, start)

    def finish(self) -> None:
        """End the input: set `fault` if the remaining bytes are not the start of an event."""
        if self.fault is None and self.end.position == 0:
            self.fault = magic_fault(self._rest[: len(MAGIC)])
        header = self._rest_header()
        if self.fault is not None or header is None or not self._log_pos_is_position:
            return
        ends = (self.end.position + header.size) & 0xFFFFFFFF
        if header.log_pos not in (0, ends):
            self.fault = header.malformed(
                f"the header gives a size of {header.size} bytes, but its end as {header.log_pos}"
            )

    @property
    def incomplete(self) -> BinlogError | None:
        """An error if the bytes so far do not end with a complete transaction, else None."""
        if self._large is not None or self._rest:
            header = self._rest_header()
            return TruncatedError(
                "the file ends inside this event",
                position=self.end.position,
                event_type=header.name if header else None,
            )
        if self._tracker.start is not None:
            return TruncatedError(
                "the file ends inside the transaction that starts at this position",
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
        """Check the start of the file, and clear the in-use flag."""
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
        self.end = Checkpoint(len(MAGIC), zlib.crc32(MAGIC))

    def _frame(self, window: Bytes, start: int) -> Iterator[FramedWindow]:
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
            roles = self._tracker.follow(window, frames, base=base)
            yield self._pass(FramedWindow(window, frames, roles, self.end))
        self.fault = self.fault or fault
        if self.fault is None:
            self._begin_large_event()

    def _begin_large_event(self) -> None:
        if len(self._rest) < self._layout.header_length:
            return
        if int.from_bytes(self._rest[9:13], "little") >= LARGE_EVENT:
            self._large = LargeEvent(self._rest, self.end, self._layout, checksum=self._checksum)
            self._rest = b""

    def _large_event(self, large: LargeEvent) -> Iterator[FramedWindow]:
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
        roles = self._tracker.follow(buffer, frames, base=large.start.position)
        yield self._pass(FramedWindow(buffer, frames, roles, large.start, large.end))

    def _pass(self, window: FramedWindow) -> FramedWindow:
        """Record where the window ends, and return it."""
        self.end = window.checkpoint_at(int(window.ends[-1]))
        self.last_type = int(window.frames.type[-1])
        log_pos = int(window.frames.log_pos[-1])
        self._log_pos_is_position = log_pos == self.end.position & 0xFFFFFFFF
        return window


def writable_copy(content: bytes | memoryview) -> Bytes:
    """Return a copy of bytes for `frame`, preceded by `HEAD` bytes that CRC32 folding may read."""
    window = np.zeros(HEAD + len(content), np.uint8)
    window[HEAD:] = np.frombuffer(content, np.uint8)
    return window
