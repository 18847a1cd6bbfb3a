"""Errors for input that is not a sequence of events."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from decoder.constants import HEADER_LENGTH, MAGIC, event_name
from decoder.errors import BinlogError, TruncatedError, UnsupportedError
from decoder.events.format_descriptor import descriptor_of, log_start
from decoder.framing.sliding_buffer import LARGEST_EVENT, Feed
from decoder.kernels.memory import load_u32
from decoder.transactions.faults import CONTENT_LIMIT
from decoder.transactions.records import COUNT_ROWS, COUNT_TRANSACTION
from decoder.transactions.state import ROLLED_BACK, START


def unread_bytes(feed: Feed) -> bytes:
    """Return the first unconsumed bytes, up to the limit for faults."""
    return bytes(feed.buffer[feed.start : min(feed.end, feed.start + CONTENT_LIMIT)])


def head_error(feed: Feed) -> BinlogError | None:
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


def end_error(feed: Feed) -> BinlogError:
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


def old_rollbacks(
    transactions: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], current: int
) -> Iterator[tuple[int, BinlogError]]:
    """Yield the ended transactions that were rolled back but have rows in the log, with an error.

    Before MySQL 5.5 the log does not show whether such rows were kept.
    """
    used = (counts[:, COUNT_ROWS] > 0) & (counts[:, COUNT_TRANSACTION] >= 0)
    owners = counts[used, COUNT_TRANSACTION]
    for index in np.unique(owners).tolist():
        if index != current and transactions[index, ROLLED_BACK]:
            error = UnsupportedError(
                "rows were logged before a ROLLBACK; they were kept in tables of engines without"
                " transactions, which a log from before MySQL 5.5 does not identify"
            )
            yield index, error.at(position=int(transactions[index, START]))
