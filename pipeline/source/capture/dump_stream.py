"""Convert the bytes of a dump, as received from the socket, to those of the server's log files.

Strategy: the decoder's kernels unpack whole packets and frame their events in passes over the
received bytes; only rare packets are handled one by one. Events that are in no file (artificial
ones, heartbeats) are dropped. Invariant: every byte returned has been verified (its event's
checksum, if any, and that it ends where its header says), or belongs to an event larger than
`LIMIT`, which is passed on in pieces and verified before its last one.

Memory is bounded by `CAPACITY` bytes, whatever the size of events.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from decoder import BinlogError
from decoder.constants import (
    CHECKSUM_LENGTH,
    HEADER_LENGTH,
    MAGIC,
    EventFlag,
    EventType,
)
from decoder.events import (
    V4,
    EventHeader,
    FormatDescriptionEvent,
    GtidEvent,
    MariadbGtidEvent,
    parse,
)
from decoder.framing import (
    HEAD,
    LONGEST_PACKET,
    PACKET_HEADER_LENGTH,
    PACKET_SLACK,
    SEQUENCE_AFTER_ACK_REQUEST,
    Checkpoint,
    Frames,
    LargeEvent,
    StopReason,
    Unpacked,
    frame,
    prefix_of,
    unpack,
)
from decoder.segments import read_description, writable_copy
from pipeline.source.capture.dump_items import FileNamed, Heartbeat, LogBytes, LogEnded, Received
from pipeline.source.capture.errors import BrokenDumpError, DumpRefusedError

CAPACITY = 4 << 20
"""Size of the packet buffer in bytes."""
LIMIT = 1 << 20
"""Size in bytes from which a packet is passed on in pieces."""

_POSITIONS = 0xFFFFFFFF
"""Positions in headers wrap at 4 GiB."""
_FLAGS_AT = 17
_ERROR, _END = 0xFF, 0xFE
_LONGEST_END = 8
_PREFIXES = (1, 3)
_GTIDS = np.array(
    (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED, EventType.MARIADB_GTID)
)
_ENDS = (int(EventType.ROTATE), int(EventType.STOP))
_FATAL_ERROR_READING_BINLOG = 1236


class DumpStream:
    """Parser of a dump: receive bytes into `room()`, then read items from `received(count)`."""

    def __init__(self, *, capacity: int = CAPACITY, limit: int = LIMIT) -> None:
        self.file = ""
        self.position = 0
        self._limit = limit
        self._packets = np.zeros(capacity + PACKET_SLACK, np.uint8)
        self._view = memoryview(self._packets.data)
        self._capacity = capacity
        self._start = 0
        self._end = 0
        self._sequence = 1
        self._checksum = False
        self._layout = V4
        self._large: LargeEvent | None = None
        self._packet_left = 0
        self._goes_on = False
        self._begun: bytes | None = None
        self._asked = False
        self._description: FormatDescriptionEvent | None = None

    def room(self) -> memoryview:
        """Return the buffer for the next bytes; never empty."""
        return self._view[self._end : self._capacity]

    def received(self, count: int) -> Iterator[Received]:
        """Yield the items that the next `count` bytes, now in `room()`, complete.

        Raises BrokenDumpError if they are not a valid dump, DumpRefusedError for a server's error.
        """
        self._end += count
        more = True
        while more:
            if self._large is not None:
                yield from self._pass_on(self._large)
                more = self._large is None
                continue
            unpacked = unpack(
                self._packets, self._start, self._end, self._sequence, limit=self._limit
            )
            self._start, self._sequence = unpacked.next_packet, unpacked.sequence
            if unpacked.end > HEAD:
                yield self._framed(unpacked)
            if unpacked.stop == StopReason.OUT_OF_ORDER:
                raise self._broken("a packet is missing or out of order.")
            if unpacked.stop == StopReason.OTHER:
                yield from self._other()
            more = unpacked.stop == StopReason.OTHER or (
                unpacked.stop == StopReason.LARGE and self._begin_large()
            )
        self._make_room()

    def _make_room(self) -> None:
        rest = self._end - self._start
        if rest and self._start:
            self._packets[:rest] = self._packets[self._start : self._end].copy()
        self._start, self._end = 0, rest

    def _framed(self, unpacked: Unpacked) -> LogBytes:
        """Verify events of the common types and return their bytes."""
        start, size = self.position, unpacked.end - HEAD
        self._require_file()
        frames = frame(
            unpacked.buffer,
            HEAD,
            unpacked.end,
            base=start - HEAD,
            checksum=self._checksum,
            layout=self._layout,
        )
        if frames.fault is not None or frames.next_offset != unpacked.end:
            raise self._broken(_reason(frames.fault)) from frames.fault
        self._require_no_hole(frames)
        self.position += size
        gtids = np.flatnonzero(np.isin(frames.type, _GTIDS))
        return LogBytes(
            memoryview(unpacked.buffer.data)[HEAD : unpacked.end],
            start,
            whole=self._certain(frames, start),
            events=len(frames),
            transactions=len(gtids),
            timestamp=int(frames.timestamp[-1]),
            gtid=self._gtid(unpacked.buffer, frames, int(gtids[-1])) if len(gtids) else None,
            ended=int(frames.type[-1]) in _ENDS,
            asked=unpacked.asked,
        )

    def _gtid(self, buffer: npt.NDArray[np.uint8], frames: Frames, index: int) -> str | None:
        """Return an event's GTID; None if it is anonymous, or before the file's description."""
        if self._description is None:
            return None
        offset, end = int(frames.offset[index]), int(frames.end[index])
        header = EventHeader.parse(memoryview(buffer.data), offset, self.position)
        body = memoryview(buffer[offset + HEADER_LENGTH : end].tobytes())
        try:
            event = parse(body, header, self._description)
        except BinlogError:
            return None  # only used to report progress
        return event.gtid if isinstance(event, GtidEvent | MariadbGtidEvent) else None

    def _certain(self, frames: Frames, start: int) -> int | None:
        """Return the end of the last event whose header contains its position."""
        placed = np.flatnonzero(frames.log_pos)
        if not len(placed):
            return None
        last = int(placed[-1])
        return start - HEAD + int(frames.offset[last] + frames.size[last])

    def _require_no_hole(self, frames: Frames) -> None:
        """Raise BrokenDumpError unless each event ends where its header says.

        MariaDB since 11.4 writes 0 within transactions: the next position covers these too.
        """
        ends = self.position - HEAD + frames.offset + frames.size
        wrong = np.flatnonzero((ends & _POSITIONS != frames.log_pos) & (frames.log_pos != 0))
        if len(wrong):
            first = int(wrong[0])
            self.position = int(ends[first] - frames.size[first])
            raise self._hole(int(frames.log_pos[first]), int(frames.size[first]))

    def _other(self) -> Iterator[Received]:
        """Handle the complete packet at the start: an error, the end, or a rare event."""
        packets = self._packets
        length = int.from_bytes(self._view[self._start : self._start + 3], "little")
        body = self._start + PACKET_HEADER_LENGTH
        first = int(packets[body]) if length else 0
        if first == _ERROR:
            raise _refusal(bytes(self._view[body : body + length]))
        if first == _END and length <= _LONGEST_END:
            self._next_packet(length)
            yield LogEnded()
            return
        prefix = int(prefix_of(packets, body, length))
        if not prefix:
            raise self._broken("a packet contains no event.")
        event = bytes(self._view[body + prefix : body + length])
        asked = prefix == _PREFIXES[1] and bool(packets[body + 2] & 1)
        self._next_packet(length, asked=asked)
        header = EventHeader.parse(memoryview(event), 0, self.position)
        if header.type == EventType.ROTATE:
            yield from self._rotate(header, event, asked)
        elif header.type == EventType.FORMAT_DESCRIPTION:
            yield from self._format(header, event, asked)
        elif header.type in (EventType.HEARTBEAT, EventType.HEARTBEAT_V2):
            yield Heartbeat()
        else:
            yield from self._rare(header, event, asked)

    def _next_packet(self, length: int, *, asked: bool = False) -> None:
        self._start += PACKET_HEADER_LENGTH + length
        self._sequence = SEQUENCE_AFTER_ACK_REQUEST if asked else (self._sequence + 1) & 0xFF

    def _rotate(self, header: EventHeader, event: bytes, asked: bool) -> Iterator[Received]:
        """Handle a ROTATE: an artificial one names the next file; its checksum is dropped."""
        if EventFlag.ARTIFICIAL not in header.flags and self._ends_here(header):
            yield from self._rare(header, event, asked)
            return
        covered = event[:-CHECKSUM_LENGTH]
        has_checksum = int.from_bytes(event[-CHECKSUM_LENGTH:], "little") == zlib.crc32(covered)
        body = (covered if has_checksum else event)[HEADER_LENGTH:]
        self.position = int.from_bytes(body[:8], "little")
        self.file = body[8:].decode("utf-8", "replace")
        yield FileNamed(self.file, self.position)

    def _ends_here(self, header: EventHeader) -> bool:
        """Return True if the event's position is the current one; False before that is known."""
        return bool(self.position) and header.log_pos == (self.position + header.size) & _POSITIONS

    def _format(self, header: EventHeader, event: bytes, asked: bool) -> Iterator[Received]:
        """Land the file's own FORMAT_DESCRIPTION, but not one sent at a later position.

        The server clears the in-use flag when it sends the event. In the file the flag stays set
        until the file is closed: so it is set again, and readers see that the file still grows.
        """
        window = writable_copy(event)
        frames = frame(
            window,
            HEAD,
            len(window),
            base=self.position - HEAD,
            checksum=False,
            layout=V4,
            # An event that the server modified keeps its old checksum, and has position 0.
            verify=header.log_pos != 0,
        )
        if frames.fault is not None or len(frames) != 1:
            raise self._broken(_reason(frames.fault)) from frames.fault
        self._checksum, self._layout = frames.checksum, frames.layout
        self._description = self._read_description(event)
        own = header.log_pos == len(MAGIC) + len(event)
        if self.position != len(MAGIC) or not own:
            # COM_BINLOG_DUMP_GTID keeps its position in it, wherever the dump begins.
            if header.log_pos and not own and EventFlag.ARTIFICIAL not in header.flags:
                raise self._hole(header.log_pos, len(event))
            return
        self._require_file()
        flagged = bytearray(MAGIC + event)
        flagged[len(MAGIC) + _FLAGS_AT] |= EventFlag.BINLOG_IN_USE
        self.position += len(event)
        yield LogBytes(memoryview(flagged), 0, self.position, 1, 0, header.timestamp, asked=asked)

    def _read_description(self, event: bytes) -> FormatDescriptionEvent:
        try:
            return read_description(event)
        except BinlogError as error:
            raise self._broken(_reason(error)) from error

    def _rare(self, header: EventHeader, event: bytes, asked: bool) -> Iterator[Received]:
        """Handle any other event; artificial ones are in no file. A ROTATE may end at 4 GiB."""
        if EventFlag.ARTIFICIAL in header.flags:
            return
        window = writable_copy(event)
        yield self._framed(Unpacked(window, len(window), 0, 0, StopReason.OTHER, asked))

    def _begin_large(self) -> bool:
        """Start a large event; return False if its header was not received yet."""
        body = self._start + PACKET_HEADER_LENGTH
        if self._end < body + _PREFIXES[-1] + HEADER_LENGTH:
            return False
        self._require_file()
        length = int.from_bytes(self._view[self._start : self._start + 3], "little")
        for prefix in _PREFIXES:
            begun = bytes(self._view[body + prefix : body + prefix + HEADER_LENGTH])
            size = int.from_bytes(begun[9:13], "little")
            log_pos = int.from_bytes(begun[13:17], "little")
            ends = (self.position + size) & _POSITIONS
            if size >= length - prefix and log_pos in (0, ends):
                start = Checkpoint(self.position, 0)
                self._large = LargeEvent(begun, start, self._layout, checksum=self._checksum)
                break
        else:
            raise self._broken("a large packet contains no event of this position.")
        self._asked = prefix == _PREFIXES[1] and bool(self._packets[body + 2] & 1)
        self._packet_left = length - prefix - HEADER_LENGTH
        self._goes_on = length == LONGEST_PACKET
        self._sequence = (self._sequence + 1) & 0xFF
        self._start = body + prefix + HEADER_LENGTH
        self._begun = begun
        return True

    def _pass_on(self, large: LargeEvent) -> Iterator[Received]:
        """Yield the received part of a large event, across the packets that contain it."""
        if self._begun is not None:
            yield self._piece(large, self._begun)
            self._begun = None
        while self._packet_left or self._goes_on:
            if not self._packet_left and not self._continue_packet():
                return
            count = min(self._packet_left, self._end - self._start)
            if not count and self._packet_left:
                return
            data = bytes(self._view[self._start : self._start + count])
            self._start += count
            self._packet_left -= count
            if large.feed(data):
                raise self._broken("a large event is longer than its header says.")
            if data:
                yield self._piece(large, data)
        if not large.whole:
            raise self._broken("a large event is shorter than its header says.")
        if self._asked:
            self._sequence = SEQUENCE_AFTER_ACK_REQUEST
        self._large = None

    def _continue_packet(self) -> bool:
        """Read the header of an event's next packet; return False if it was not received yet."""
        if self._end - self._start < PACKET_HEADER_LENGTH:
            return False
        header = bytes(self._view[self._start : self._start + PACKET_HEADER_LENGTH])
        if header[3] != self._sequence:
            raise self._broken("a packet is missing or out of order.")
        self._packet_left = int.from_bytes(header[:3], "little")
        self._goes_on = self._packet_left == LONGEST_PACKET
        self._sequence = (self._sequence + 1) & 0xFF
        self._start += PACKET_HEADER_LENGTH
        return True

    def _piece(self, large: LargeEvent, data: bytes) -> LogBytes:
        start = self.position
        self.position += len(data)
        done, head = large.whole, large.header
        if done and not large.valid:
            raise self._broken("the checksum does not match.")
        whole = self.position if done and head.log_pos else None
        asked = done and self._asked
        return LogBytes(memoryview(data), start, whole, int(done), 0, head.timestamp, asked=asked)

    def _require_file(self) -> None:
        if not self.file or self.position < len(MAGIC):
            raise self._broken("an event was sent before the name of its file.")

    def _hole(self, log_pos: int, size: int) -> BrokenDumpError:
        begins = (log_pos - size) & _POSITIONS
        return self._broken(f"the server sent the event at position {begins} instead.")

    def _broken(self, reason: str) -> BrokenDumpError:
        return BrokenDumpError(reason, file=self.file or "the dump", position=self.position)


def _refusal(packet: bytes) -> DumpRefusedError:
    """Parse an error packet: 0xFF, code 2 bytes, `#` and SQLSTATE 5 bytes, text."""
    code = int.from_bytes(packet[1:3], "little")
    text = packet[3:].decode("utf-8", "replace")
    message = text[6:] if text.startswith("#") else text
    return DumpRefusedError(code, message, retryable=code != _FATAL_ERROR_READING_BINLOG)


def _reason(fault: BinlogError | None) -> str:
    return f"{fault.reason if fault else 'an event does not end where its packet does'}."
