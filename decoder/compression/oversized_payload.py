"""A TRANSACTION_PAYLOAD that is larger than a window: its bytes stay in the pieces they came in."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.constants import CHECKSUM_LENGTH
from decoder.errors import TruncatedError
from decoder.events.layout import Layout
from decoder.framing.chunked_reader import cut
from decoder.framing.frames import VALID, Frames
from decoder.framing.large_event import LargeEvent, Mark
from decoder.framing.sliding_buffer import Feed
from decoder.kernels.memory import Bytes
from decoder.transactions.faults import CONTENT_LIMIT
from decoder.transactions.input_errors import content


@dataclass(frozen=True, slots=True)
class PassedPayload:
    """The event as if framed, over `buffer`, which has its first bytes only.

    `pieces`: all of its bytes but for the checksum; `position`: where it is in the file; `missing`:
    why it is not whole, if it is not.
    """

    position: int
    buffer: Bytes
    frames: Frames
    pieces: list[memoryview]
    missing: TruncatedError | None

    @property
    def begun(self) -> bytes:
        """Its first bytes, for whoever looks at a fault."""
        return bytes(self.buffer[:CONTENT_LIMIT])


def pass_payload(feed: Feed, layout: Layout, *, checksum: bool) -> PassedPayload:
    """Takes the event that comes next out of a feed; its checksum is computed on the way."""
    position = feed.position
    size = int.from_bytes(content(feed)[9:13], "little")
    pieces = feed.pass_through(size)
    event = LargeEvent(bytes(pieces[0]), Mark(position, 0), layout, checksum=checksum)
    for piece in pieces[1:]:
        event.feed(piece)
    missing = None
    if not event.whole:
        reason = f"it has {size} bytes, of which {sum(map(len, pieces))} are there"
        missing = TruncatedError(reason, position=position, event_type=event.header.name)
    frames = event.frames
    frames.table[VALID] = event.valid
    body = list(cut(pieces, 0, size - CHECKSUM_LENGTH * checksum))
    return PassedPayload(position, event.buffer, frames, body, missing)
