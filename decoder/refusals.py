"""Why bytes at hand are not events, as errors."""

from __future__ import annotations

from decoder.constants import HEADER_LENGTH, MAGIC, event_name
from decoder.descriptor import descriptor_of, log_start
from decoder.errors import BinlogError, TruncatedError, UnsupportedError
from decoder.faults import CONTENT_LIMIT
from decoder.feed import LARGEST_EVENT, Feed
from decoder.memory import load_u32


def content(feed: Feed) -> bytes:
    """The bytes at fault, or the first of them."""
    return bytes(feed.buffer[feed.start : min(feed.end, feed.start + CONTENT_LIMIT)])


def head_error(feed: Feed) -> BinlogError | None:
    """What is wrong with the start of a file or segment that must tell how it is laid out."""
    head = content(feed)[: len(MAGIC) + HEADER_LENGTH]
    try:
        start = log_start(head)
        descriptor_of(head[start:], start)
    except TruncatedError:  # whoever reads on says where
        return None
    except BinlogError as error:
        return error
    return None


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
