"""Why bytes at hand are not events, as errors."""

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


def old_rollbacks(
    transactions: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], current: int
) -> Iterator[tuple[int, BinlogError]]:
    """The transactions but the open one that were rolled back with rows in the log, and why that
    is a fault before MySQL 5.5."""
    used = (counts[:, COUNT_ROWS] > 0) & (counts[:, COUNT_TRANSACTION] >= 0)
    owners = counts[used, COUNT_TRANSACTION]
    for index in np.unique(owners).tolist():
        if index != current and transactions[index, ROLLED_BACK]:
            error = UnsupportedError(
                "rows before a ROLLBACK stayed if their table's engine has no transactions, which"
                " a log of before MySQL 5.5 does not tell"
            )
            yield index, error.at(position=int(transactions[index, START]))
