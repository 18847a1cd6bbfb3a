"""Statistics of a segment: events by type, transactions, GTIDs and commit times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
import numpy.typing as npt

from decoder.constants import HEADER_LENGTH, EventType, event_name
from decoder.errors import BinlogError
from decoder.events.format_description import FormatDescriptionEvent
from decoder.events.gtid import GtidEvent
from decoder.events.gtid_set import GtidSource, LoggedGtidSet
from decoder.events.header import EventHeader
from decoder.events.registry import parse
from decoder.segments.log_windows import FramedWindow

_GTID_TYPES = (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED)
_UUID, _GNO = 1, 17
_SEQUENCE, _DOMAIN = 0, 8
_SERVER = 5 - HEADER_LENGTH
"""Offset of the server id, which is in the header, relative to the body."""
_SECOND = 1_000_000
Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class EventStatistics:
    """Totals of the events of windows.

    Times are microseconds since 1970: commit times, or the events' timestamps if the log has none.
    A transaction counts in the window where it ends; its GTID and time where it starts.
    """

    transactions: int = 0
    first_committed_at: int | None = None
    last_committed_at: int | None = None
    _counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, np.int64))
    _numbers: dict[tuple[str, str], list[Numbers]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _positions: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, windows: Iterable[FramedWindow], description: FormatDescriptionEvent) -> None:
        """Add the events of these windows; `description` is the FORMAT_DESCRIPTION for them."""
        for window in windows:
            self._counts += np.bincount(window.frames.type, minlength=256)
            self.transactions += int(np.count_nonzero(window.roles.ends))
            self._add_gtids(window)
            self._add_tagged(window, description)
            self._add_mariadb(window)
            starts = np.flatnonzero(window.roles.starts)
            if len(starts):
                first, last = int(starts[0]), int(starts[-1])
                if self.first_committed_at is None:
                    self.first_committed_at = _committed_at(window, first, description)
                self.last_committed_at = _committed_at(window, last, description)

    @property
    def events(self) -> dict[str, int]:
        """Number of events by the name of their type."""
        return {event_name(int(k)): int(self._counts[k]) for k in np.flatnonzero(self._counts)}

    @property
    def gtid_text(self) -> str:
        """The GTID set of MySQL transactions; for MariaDB the last GTID per domain and server."""
        last = (f"{domain}-{server}-{n}" for (domain, server), n in sorted(self._positions.items()))
        return ",".join(filter(None, [str(self.gtids), *last]))

    @property
    def gtids(self) -> LoggedGtidSet:
        """The GTIDs of MySQL transactions."""
        return LoggedGtidSet(
            tuple(
                GtidSource(uuid, tag, _intervals(np.concatenate(numbers)))
                for (uuid, tag), numbers in sorted(self._numbers.items())
            )
        )

    def _add_gtids(self, window: FramedWindow) -> None:
        """Add untagged GTIDs, which are at a fixed offset and read together for a window."""
        at = np.flatnonzero(window.frames.type == EventType.GTID)
        if not len(at):
            return
        uuids = window.bytes_at(at, _UUID, 16)
        numbers = window.bytes_at(at, _GNO, 8).view("<i8").reshape(-1)
        keys = uuids.view("V16").reshape(-1)
        for key in np.unique(keys):
            uuid = str(UUID(bytes=key.tobytes()))
            self._numbers[uuid, ""].append(numbers[keys == key])

    def _add_mariadb(self, window: FramedWindow) -> None:
        """Add MariaDB's GTIDs, which are at a fixed offset; the server id is in the header."""
        at = np.flatnonzero(window.frames.type == EventType.MARIADB_GTID)
        if not len(at):
            return
        numbers = window.bytes_at(at, _SEQUENCE, 8).view("<i8").reshape(-1)
        domains = window.bytes_at(at, _DOMAIN, 4).view("<u4").reshape(-1).astype(np.int64)
        servers = window.bytes_at(at, _SERVER, 4).view("<u4").reshape(-1).astype(np.int64)
        keys = domains << 32 | servers
        for key in np.unique(keys).tolist():
            place = key >> 32 & 0xFFFFFFFF, key & 0xFFFFFFFF
            last = int(numbers[keys == key].max())
            self._positions[place] = max(last, self._positions.get(place, 0))

    def _add_tagged(self, window: FramedWindow, description: FormatDescriptionEvent) -> None:
        for at in np.flatnonzero(window.frames.type == EventType.GTID_TAGGED):
            event = _gtid(window, int(at), description)
            if event is not None:
                self._numbers[event.uuid, event.tag].append(np.array([event.gno], np.int64))


def _intervals(numbers: Numbers) -> tuple[tuple[int, int], ...]:
    ordered = np.unique(numbers)
    breaks = np.flatnonzero(np.diff(ordered) != 1)
    firsts = ordered[np.concatenate([[0], breaks + 1])]
    lasts = ordered[np.concatenate([breaks, [len(ordered) - 1]])]
    return tuple(zip(firsts.tolist(), lasts.tolist(), strict=True))


def _gtid(
    window: FramedWindow, index: int, description: FormatDescriptionEvent
) -> GtidEvent | None:
    """Return the GTID event, or None if it is malformed, which silver reports."""
    content = memoryview(window.event(index))
    header = EventHeader.parse(content, 0, int(window.ends[index]) - len(content))
    body = content[HEADER_LENGTH : len(content) - description.checksum_length]
    try:
        event = parse(body, header, description)
    except BinlogError:
        return None
    return event if isinstance(event, GtidEvent) else None


def _committed_at(window: FramedWindow, index: int, description: FormatDescriptionEvent) -> int:
    if window.frames.type[index] in _GTID_TYPES:
        event = _gtid(window, index, description)
        if event is not None and event.immediate_commit_timestamp:
            return event.immediate_commit_timestamp
    return int(window.frames.timestamp[index]) * _SECOND
