"""What a segment holds, counted from its headers: events by type, transactions, GTIDs, times."""

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
from decoder.events.gtid_set import GtidSet, GtidSource
from decoder.events.header import EventHeader
from decoder.events.registry import parse
from decoder.segments.framer import Window

_GTID_TYPES = (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED)
_UUID, _GNO = 1, 17
_SEQUENCE, _DOMAIN = 0, 8
_SERVER = 5 - HEADER_LENGTH
"""In the header, which is before the body."""
_SECOND = 1_000_000
Numbers = npt.NDArray[np.int64]


@dataclass(slots=True)
class Tally:
    """Adds up windows. Times are microseconds since 1970, of the commit where the log has it.

    A transaction is counted where it ends, its GTID and time where it starts.
    """

    transactions: int = 0
    first_committed_at: int | None = None
    last_committed_at: int | None = None
    _counts: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(256, np.int64))
    _numbers: dict[tuple[str, str], list[Numbers]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _positions: dict[tuple[int, int], int] = field(default_factory=dict)

    def add(self, windows: Iterable[Window], description: FormatDescriptionEvent) -> None:
        """Count the events of these windows; `description` says how they are laid out."""
        for window in windows:
            self._counts += np.bincount(window.frames.type, minlength=256)
            self.transactions += int(np.count_nonzero(window.marks.ends))
            self._add_gtids(window)
            self._add_tagged(window, description)
            self._add_mariadb(window)
            starts = np.flatnonzero(window.marks.starts)
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
        """The GTIDs of MySQL's transactions; of MariaDB's the last of every domain and server."""
        last = (f"{domain}-{server}-{n}" for (domain, server), n in sorted(self._positions.items()))
        return ",".join(filter(None, [str(self.gtids), *last]))

    @property
    def gtids(self) -> GtidSet:
        """The GTIDs of MySQL's transactions."""
        return GtidSet(
            tuple(
                GtidSource(uuid, tag, _intervals(np.concatenate(numbers)))
                for (uuid, tag), numbers in sorted(self._numbers.items())
            )
        )

    def _add_gtids(self, window: Window) -> None:
        """An untagged GTID stands at a fixed place: all of a window are read at once."""
        at = np.flatnonzero(window.frames.type == EventType.GTID)
        if not len(at):
            return
        uuids = window.bytes_at(at, _UUID, 16)
        numbers = window.bytes_at(at, _GNO, 8).view("<i8").reshape(-1)
        keys = uuids.view("V16").reshape(-1)
        for key in np.unique(keys):
            uuid = str(UUID(bytes=key.tobytes()))
            self._numbers[uuid, ""].append(numbers[keys == key])

    def _add_mariadb(self, window: Window) -> None:
        """MariaDB's GTID stands at a fixed place, but for its server, which is in the header."""
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

    def _add_tagged(self, window: Window, description: FormatDescriptionEvent) -> None:
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


def _gtid(window: Window, index: int, description: FormatDescriptionEvent) -> GtidEvent | None:
    """The GTID event, or None for what silver will find malformed: here it is only counted."""
    content = memoryview(window.event(index))
    header = EventHeader.parse(content, 0, int(window.ends[index]) - len(content))
    body = content[HEADER_LENGTH : len(content) - description.checksum_length]
    try:
        event = parse(body, header, description)
    except BinlogError:
        return None
    return event if isinstance(event, GtidEvent) else None


def _committed_at(window: Window, index: int, description: FormatDescriptionEvent) -> int:
    if window.frames.type[index] in _GTID_TYPES:
        event = _gtid(window, index, description)
        if event is not None and event.immediate_commit_timestamp:
            return event.immediate_commit_timestamp
    return int(window.frames.timestamp[index]) * _SECOND
