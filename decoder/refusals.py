"""Why bytes at hand are not events, as errors."""

from __future__ import annotations

from decoder.constants import HEADER_LENGTH, MAGIC, MAGIC_ENCRYPTED, EventType, event_name
from decoder.errors import (
    BinlogError,
    EncryptedError,
    MalformedError,
    NotABinlogError,
    TruncatedError,
    UnsupportedError,
)
from decoder.faults import CONTENT_LIMIT
from decoder.feed import LARGEST_EVENT, Feed
from decoder.memory import load_u32


def content(feed: Feed) -> bytes:
    """The bytes at fault, or the first of them."""
    return bytes(feed.buffer[feed.start : min(feed.end, feed.start + CONTENT_LIMIT)])


def head_error(feed: Feed) -> BinlogError | None:
    """What is wrong with the start of a file or segment that needs a FORMAT_DESCRIPTION."""
    head = content(feed)[: HEADER_LENGTH + 1]
    if head.startswith(MAGIC):
        return None
    if head.startswith(MAGIC_ENCRYPTED):
        return EncryptedError("the log is encrypted, and no key was given", position=feed.position)
    if len(head) > HEADER_LENGTH and head[4] == EventType.FORMAT_DESCRIPTION:
        return None
    if not head:
        return NotABinlogError("it is empty", position=feed.position)
    return NotABinlogError(
        f"it starts with {head[:4].hex(' ')}, not with a binary log's fe 62 69 6e",
        position=feed.position,
    )


def stop_error(feed: Feed) -> BinlogError:
    """Why framing stopped before bytes that are there."""
    size = load_u32(feed.buffer, feed.start + 9)
    return MalformedError(
        f"its header says {size} bytes, and what follows them is no event",
        position=feed.position,
        event_type=event_name(int(feed.buffer[feed.start + 4])),
    )


def end_error(feed: Feed) -> BinlogError:
    """Why no event could be framed out of all that is left."""
    if feed.left < HEADER_LENGTH:
        return TruncatedError(f"{feed.left} bytes are left, no event", position=feed.position)
    size = load_u32(feed.buffer, feed.start + 9)
    kind = UnsupportedError if feed.left >= LARGEST_EVENT else TruncatedError
    return kind(
        f"it has {size} bytes, of which {feed.left} are there",
        position=feed.position,
        event_type=event_name(int(feed.buffer[feed.start + 4])),
    )
