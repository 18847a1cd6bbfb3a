"""The layout of a log's events: header and post-header lengths, by the log's version.

Logs of version 1 (MySQL 3.23) and 3 (4.0 and 4.1) start with START_V3 and use fixed lengths that
are not logged; version 4 (5.0 on) starts with FORMAT_DESCRIPTION, which contains them. Sources:
MySQL internals manual, "Determining the Binary Log Version"; MariaDB `sql/log_event.cc`,
`Format_description_log_event(uint8 binlog_ver, …)`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from decoder.constants import HEADER_LENGTH, EventType

HEADER_LENGTH_V1 = 13
"""Bytes of a version 1 header: timestamp 4, type 1, server id 4, size 4; no log_pos, no flags."""
START_LENGTH_V3 = HEADER_LENGTH + 56
"""Bytes of START_V3 in version 3; a shorter one belongs to version 1."""
LAST_TYPE_BEFORE_V4 = int(EventType.USER_VAR)

# Cells of a layout; from POST_HEADERS on, the post-header length of each event type.
VERSION, RENUMBERED, ENCRYPTED, POST_HEADERS = range(4)

_T = EventType
_LENGTHS_V3 = {
    _T.START_V3: 56,
    _T.QUERY: 11,
    _T.ROTATE: 8,
    _T.LOAD: 18,
    _T.CREATE_FILE: 4,
    _T.APPEND_BLOCK: 4,
    _T.EXEC_LOAD: 4,
    _T.DELETE_FILE: 4,
    _T.NEW_LOAD: 18,
}
_BEFORE_V4 = {1: {**_LENGTHS_V3, _T.ROTATE: 0}, 3: _LENGTHS_V3}
_LENGTHS_V4 = {
    **_LENGTHS_V3,
    _T.QUERY: 13,
    _T.MARIADB_QUERY_COMPRESSED: 13,
    _T.EXECUTE_LOAD_QUERY: 26,
    _T.TABLE_MAP: 8,
    **dict.fromkeys((_T.WRITE_ROWS, _T.UPDATE_ROWS, _T.DELETE_ROWS, _T.PARTIAL_UPDATE_ROWS), 10),
}
"""Used where no FORMAT_DESCRIPTION applies: inside a TRANSACTION_PAYLOAD."""


def header_length(version: int) -> int:
    """Return the bytes of an event header in a version of the format."""
    return HEADER_LENGTH_V1 if version == 1 else HEADER_LENGTH


def post_header_lengths(version: int) -> bytes:
    """Return a byte for each event type of version 1 or 3, from type 1 on."""
    lengths = _BEFORE_V4[version]
    return bytes(lengths.get(_T(code), 0) for code in range(1, LAST_TYPE_BEFORE_V4 + 1))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The layout of the next events; `cells` is for kernels, which modify copies of it."""

    cells: npt.NDArray[np.int64]

    @classmethod
    def of_version(cls, version: int) -> Layout:
        """Return the layout of a log of version 1, 3 or 4."""
        cells = np.zeros(POST_HEADERS + 256, np.int64)
        cells[VERSION] = version
        for code, length in _BEFORE_V4.get(version, _LENGTHS_V4).items():
            cells[POST_HEADERS + code] = length
        return cls(cells)

    @property
    def version(self) -> int:
        """Version of the format: 1, 3 or 4."""
        return int(self.cells[VERSION])

    @property
    def header_length(self) -> int:
        """Bytes of an event's header."""
        return header_length(self.version)

    @property
    def encrypted(self) -> bool:
        """True after a START_ENCRYPTION: the next events are encrypted and cannot be framed."""
        return bool(self.cells[ENCRYPTED])


V4 = Layout.of_version(4)


def first_layout(log: bytes | memoryview) -> Layout:
    """Return a log's layout by the header of its first event; `log` starts after the magic number.

    A log that starts with neither START_V3 nor FORMAT_DESCRIPTION has version 3: MySQL 4.0 wrote a
    START_V3 only when the server started. In that version, however, `log_pos` is the start of an
    event; if it is the end, the log has version 4, whatever the event's type byte is.
    """
    if len(log) < HEADER_LENGTH:
        return V4
    size = int.from_bytes(log[9:13], "little")
    if log[4] == _T.START_V3:
        return Layout.of_version(1 if size < START_LENGTH_V3 else 3)
    log_pos = int.from_bytes(log[13:17], "little")
    if not 0 < log[4] <= LAST_TYPE_BEFORE_V4 or log_pos == _FIRST_POSITION + size:
        return V4
    return Layout.of_version(3)


_FIRST_POSITION = 4
