"""A TRANSACTION_PAYLOAD larger than a window, kept in the pieces in which it was read."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import CHECKSUM_LENGTH
from decoder.errors import TruncatedError
from decoder.events.layout import Layout
from decoder.framing.chunked_reader import slice_chunks
from decoder.framing.frames import VALID, Frames
from decoder.framing.large_event import LargeEvent, Mark
from decoder.framing.sliding_buffer import Feed
from decoder.kernels.memory import Bytes
from decoder.transactions.faults import CONTENT_LIMIT
from decoder.transactions.input_errors import unread_bytes


@dataclass(frozen=True, slots=True)
class OversizedPayload:
    """A payload event as `Frames` over `buffer`, which has its first bytes only.

    `position`: its file position; `pieces`: all of its bytes except the checksum; `error`: the
    error if it is incomplete.
    """

    position: int
    buffer: Bytes
    frames: Frames
    pieces: list[memoryview]
    error: TruncatedError | None

    @property
    def first_bytes(self) -> bytes:
        """The first bytes of the event, for a fault."""
        return bytes(self.buffer[:CONTENT_LIMIT])


def read_payload(feed: Feed, layout: Layout, *, checksum: bool) -> OversizedPayload:
    """Read the next event from `feed`, verifying its checksum."""
    position = feed.position
    size = int.from_bytes(unread_bytes(feed)[9:13], "little")
    pieces = feed.pass_through(size)
    event = LargeEvent(bytes(pieces[0]), Mark(position, 0), layout, checksum=checksum)
    for piece in pieces[1:]:
        event.feed(piece)
    error = None
    if not event.whole:
        reason = f"the event has {size} bytes, of which only {sum(map(len, pieces))} are present"
        error = TruncatedError(reason, position=position, event_type=event.header.name)
    frames = event.frames
    frames.table[VALID] = event.valid
    body = list(slice_chunks(pieces, 0, size - CHECKSUM_LENGTH * checksum))
    return OversizedPayload(position, event.buffer, frames, body, error)
