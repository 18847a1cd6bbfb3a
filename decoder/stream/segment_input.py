"""A segment's input besides windows of whole events: its start, its end, a large payload.

A TRANSACTION_PAYLOAD larger than a window is kept in the pieces in which it was read.
"""

from __future__ import annotations

from decoder.constants import CHECKSUM_LENGTH, HEADER_LENGTH, MAGIC, event_name
from decoder.errors import BinlogError, TruncatedError, UnsupportedError
from decoder.events.layout import Layout
from decoder.events.log_start import descriptor_of, log_start
from decoder.framing.chunked_reader import slice_chunks
from decoder.framing.large_event import Checkpoint, LargeEvent
from decoder.framing.sliding_buffer import LARGEST_EVENT, SlidingBuffer
from decoder.kernels.memory import load_u32
from decoder.transactions.faults import CONTENT_LIMIT


def unread_bytes(feed: SlidingBuffer) -> bytes:
    """Return the first unconsumed bytes, up to the limit for faults."""
    return bytes(feed.buffer[feed.start : min(feed.end, feed.start + CONTENT_LIMIT)])


def head_error(feed: SlidingBuffer) -> BinlogError | None:
    """Return an error if a file or segment does not start with a magic number or descriptor."""
    head = unread_bytes(feed)[: len(MAGIC) + HEADER_LENGTH]
    try:
        start = log_start(head)
        descriptor_of(head[start:], start)
    except TruncatedError:  # reported with its position when the events are read
        return None
    except BinlogError as error:
        return error
    return None


def end_error(feed: SlidingBuffer) -> BinlogError:
    """Return an error for the rest of the input, which does not contain a complete event."""
    if feed.left < HEADER_LENGTH:
        return TruncatedError(
            f"{feed.left} bytes are left, too few for an event", position=feed.position
        )
    size = load_u32(feed.buffer, feed.start + 9)
    kind = UnsupportedError if feed.left >= LARGEST_EVENT else TruncatedError
    return kind(
        f"the event has {size} bytes, of which only {feed.left} are present",
        position=feed.position,
        event_type=event_name(int(feed.buffer[feed.start + 4])),
    )


def read_payload(
    feed: SlidingBuffer, layout: Layout, *, checksum: bool
) -> tuple[LargeEvent, list[memoryview], BinlogError | None]:
    """Read the next event from `feed`: its first bytes and checksums, and all without the checksum.

    The error is that of an incomplete event.
    """
    position = feed.position
    size = int.from_bytes(unread_bytes(feed)[9:13], "little")
    pieces = feed.pass_through(size)
    event = LargeEvent(bytes(pieces[0]), Checkpoint(position, 0), layout, checksum=checksum)
    for piece in pieces[1:]:
        event.feed(piece)
    error = None
    if not event.whole:
        reason = f"the event has {size} bytes, of which only {sum(map(len, pieces))} are present"
        error = TruncatedError(reason, position=position, event_type=event.header.name)
    return event, list(slice_chunks(pieces, 0, size - CHECKSUM_LENGTH * checksum)), error
