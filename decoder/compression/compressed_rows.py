"""Conversion of MariaDB's compressed rows events (`log_bin_compress=ON`) to plain ones.

Only the rows are compressed, in one piece. A window with such events becomes windows over new
buffers, in which these events have the plain type, decompressed rows and no checksum; everything
else is copied. File positions are in a separate array and do not change. A window is closed when it
is full; `memory_budget` limits how much is decompressed at a time.

Format: MariaDB `sql/log_event.cc`, `row_log_event_uncompress`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from decoder.columns.cells import HEAD_SLACK, SLACK
from decoder.compression.payload import INNER_WINDOW
from decoder.constants import EventType as T
from decoder.errors import BinlogError
from decoder.events.cursor import Cursor
from decoder.events.header import EventHeader
from decoder.events.mariadb_compression import uncompress
from decoder.framing.frames import BODY, END, OFFSET, POST_HEADER, SIZE, TYPE, VALID
from decoder.kernels.memory import Bytes
from decoder.rows.grouping import VERSION_2
from decoder.rows.walker import USUAL_POST_HEADERS
from decoder.transactions.event_window import Window
from decoder.transactions.faults import Fault, fault_of

PLAIN: dict[int, T] = {
    T.MARIADB_WRITE_ROWS_COMPRESSED_V1: T.WRITE_ROWS_V1,
    T.MARIADB_UPDATE_ROWS_COMPRESSED_V1: T.UPDATE_ROWS_V1,
    T.MARIADB_DELETE_ROWS_COMPRESSED_V1: T.DELETE_ROWS_V1,
    T.MARIADB_WRITE_ROWS_COMPRESSED: T.WRITE_ROWS,
    T.MARIADB_UPDATE_ROWS_COMPRESSED: T.UPDATE_ROWS,
    T.MARIADB_DELETE_ROWS_COMPRESSED: T.DELETE_ROWS,
}
_IS_COMPRESSED: npt.NDArray[np.bool_] = np.zeros(256, np.bool_)
_IS_COMPRESSED[list(PLAIN)] = True

_TWO_BITMAPS = (T.UPDATE_ROWS, T.UPDATE_ROWS_V1)
_EXTRA_LENGTH_BYTES = 2


def uncompressed(window: Window) -> Iterator[tuple[Window, list[Fault]]]:
    """Yield consecutive windows with the rows decompressed, or the window itself if none are.

    With each: the faults of its events that cannot be decompressed, which are left unchanged.
    """
    chosen = _IS_COMPRESSED[window.table[TYPE]] & (window.table[VALID] != 0)
    events = np.flatnonzero(chosen).tolist()
    if not events:
        yield window, []
        return
    first, size = 0, 0
    content: dict[int, bytes] = {}
    faults: list[Fault] = []
    for event in events:
        try:
            plain = _plain(window, event)
        except BinlogError as error:
            faults.append(fault_of(window, event, error, tables_are_known=True))
            continue
        if size + len(plain) > INNER_WINDOW and first < event:
            yield _rewritten(window, first, event, content), faults
            first, size, content, faults = event, 0, {}, []
        content[event] = plain
        size += len(plain)
    yield _rewritten(window, first, len(window), content), faults


def _plain(window: Window, event: int) -> bytes:
    """Return the event's bytes with the rows decompressed; the header is unchanged."""
    code, offset, body, end, post_header = window.table[
        [TYPE, OFFSET, BODY, END, POST_HEADER], event
    ].tolist()
    view = memoryview(window.buffer.data)
    header = EventHeader.parse(view, offset, int(window.position[event]))
    cursor = Cursor(view[body:end], header)
    cursor.skip(post_header or int(USUAL_POST_HEADERS[PLAIN[code]]))
    if post_header == VERSION_2:
        extra = int.from_bytes(view[body + post_header - 2 : body + post_header], "little")
        if extra < _EXTRA_LENGTH_BYTES:
            raise header.malformed(
                f"the length {extra} of its extra data is smaller than the length field itself"
            )
        cursor.skip(extra - _EXTRA_LENGTH_BYTES)
    columns = cursor.length_encoded()
    cursor.skip((columns + 7) // 8 * (2 if PLAIN[code] in _TWO_BITMAPS else 1))
    rows = body + cursor.offset
    return bytes(view[offset:rows]) + uncompress(view[rows:end])


def _rewritten(window: Window, first: int, stop: int, content: dict[int, bytes]) -> Window:
    """Return a window of the events from `first` to `stop`, some of them with new content."""
    table = window.table[:, first:stop].copy()
    for event, found in content.items():
        table[TYPE, event - first] = PLAIN[T(int(window.table[TYPE, event]))]
        table[SIZE, event - first] = len(found)
        table[END, event - first] = window.table[OFFSET, event] + len(found)
    offsets = HEAD_SLACK + np.concatenate(([0], np.cumsum(table[SIZE])))
    moved = offsets[:-1] - table[OFFSET]
    table[[OFFSET, END, BODY]] += moved
    listed = window.attention
    return replace(
        window,
        buffer=_buffer(window, first, stop, int(offsets[-1]), content),
        table=table,
        transaction=window.transaction[first:stop],
        position=window.position[first:stop],
        statement=window.statement[first:stop],
        ends=window.ends[first:stop],
        attention=listed[(listed >= first) & (listed < stop)] - first,
    )


def _buffer(window: Window, first: int, stop: int, end: int, content: dict[int, bytes]) -> Bytes:
    """Return a buffer with the unchanged events copied and the others' new content."""
    buffer = np.zeros(end + SLACK, np.uint8)
    starts = window.table[OFFSET].tolist()
    ends = (window.table[OFFSET] + window.table[SIZE]).tolist()
    at, source = HEAD_SLACK, starts[first]
    for event, found in content.items():
        length = starts[event] - source
        buffer[at : at + length] = window.buffer[source : starts[event]]
        at += length
        buffer[at : at + len(found)] = np.frombuffer(found, np.uint8)
        at += len(found)
        source = ends[event]
    buffer[at:end] = window.buffer[source : ends[stop - 1]]
    return buffer
