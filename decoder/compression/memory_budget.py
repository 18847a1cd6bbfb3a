"""The memory budget for windows with compressed events.

Decompressed events are held until their window is done, because a transaction is returned as a
whole or not at all. So a window ends early, after the event with which the total announced size
exceeds `LIMIT`; the rest is left for the next window. Payloads larger than a window are streamed
and do not count.
"""

from __future__ import annotations

import numpy as np

from decoder.compression.compressed_rows import PLAIN
from decoder.compression.payload import INNER_WINDOW
from decoder.compression.payload_decoder import HEAD_FIELDS, UNCOMPRESSED, length_encoded, read_head
from decoder.constants import EventType
from decoder.events.layout import Layout
from decoder.framing.frames import BODY, END, OFFSET, POST_HEADER, SIZE, TYPE, VALID, Frames, frame
from decoder.kernels.memory import Array, Bytes, kernel, load_u8, load_u16
from decoder.rows.grouping import VERSION_2
from decoder.rows.walker import USUAL_POST_HEADERS

LIMIT = 1 << 26
"""Bytes that the compressed events of a window may announce, excluding the last event."""
_PAYLOAD = int(EventType.TRANSACTION_PAYLOAD)
_QUERY = int(EventType.MARIADB_QUERY_COMPRESSED)
_TWO_BITMAPS = (
    int(EventType.MARIADB_UPDATE_ROWS_COMPRESSED_V1),
    int(EventType.MARIADB_UPDATE_ROWS_COMPRESSED),
)
_ROWS = [int(kind) for kind in PLAIN]
_FIRST_ROWS, _LAST_ROWS = min(_ROWS), max(_ROWS)
_COMPRESSED = (_PAYLOAD, _QUERY, *_ROWS)
_USUAL = USUAL_POST_HEADERS.copy()
_USUAL[_ROWS] = _USUAL[[int(kind) for kind in PLAIN.values()]]
_USUAL[_QUERY] = 13


def frame_window(
    buffer: Bytes, start: int, limit: int, *, base: int, checksum: bool, layout: Layout
) -> Frames:
    """Frame events like `frame`, but only as far as the memory budget allows."""
    found = frame(buffer, start, limit, base=base, checksum=checksum, layout=layout)
    if not np.isin(found.table[TYPE], _COMPRESSED).any():
        return found
    room = np.zeros((1, HEAD_FIELDS), np.int64)
    last = last_within(buffer, found.table, room, _USUAL, LIMIT)
    if last == len(found) - 1:
        return found
    end = int(found.table[OFFSET, last] + found.table[SIZE, last])
    return frame(buffer, start, end, base=base, checksum=checksum, layout=layout)


@kernel
def last_within(buffer: Bytes, table: Array, room: Array, usual: Array, limit: int) -> int:
    """Return the event with which the total announced size exceeds the limit, else the last."""
    total = 0
    for event in range(table.shape[1]):
        kind = table[TYPE, event]
        if table[VALID, event] == 0:
            continue
        if kind == _PAYLOAD:
            room[0, UNCOMPRESSED] = 0
            read_head(buffer, table, event, room, 0)
            size = room[0, UNCOMPRESSED]
            total += size if size <= INNER_WINDOW else 0
        elif kind == _QUERY or _FIRST_ROWS <= kind <= _LAST_ROWS:
            total += _announced(buffer, _piece(buffer, table, event, usual), table[END, event])
        if total > limit:
            return event
    return int(table.shape[1]) - 1


@kernel
def _piece(buffer: Bytes, table: Array, event: int, usual: Array) -> int:
    """Return the offset of the compressed piece of a MariaDB event (see its event class)."""
    kind, body, end = table[TYPE, event], table[BODY, event], table[END, event]
    post_header = table[POST_HEADER, event] or usual[kind]
    position = body + post_header
    if position > end:
        return int(end)
    if kind == _QUERY:
        return int(position + load_u16(buffer, body + 11) + load_u8(buffer, body + 8) + 1)
    if post_header == VERSION_2:
        position += load_u16(buffer, body + 8) - 2
    columns, position = length_encoded(buffer, position, end)
    bitmaps = 2 if kind in _TWO_BITMAPS else 1
    return int(position + (columns + 7) // 8 * bitmaps)


@kernel
def _announced(buffer: Bytes, position: int, end: int) -> int:
    """Return the uncompressed length; 0 if it cannot be read."""
    if position < 0 or position >= end:
        return 0
    size = load_u8(buffer, position) & 7
    if size > 4 or position + 1 + size > end:
        return 0
    length = 0
    for byte in range(size):
        length = length << 8 | load_u8(buffer, position + 1 + byte)
    return length
