"""Group files into the logs of servers: by base name and, with GTIDs, by server id and turn.

Servers mostly use the same base name: a replica's files are recognized by the server id in their
first event, those landed after a failover by their turn. Files of several logs can only be combined
with GTIDs: see `pipeline.bronze.order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from decoder import BinlogError
from decoder.constants import HEADER_LENGTH, EventType
from pipeline.errors import SettingsError
from pipeline.source.gtid_set import GtidSet
from pipeline.source.logs.listing import Binlog
from pipeline.source.logs.server_folders import turn_of
from pipeline.source.logs.storage import opened, read_windows

_LAST_EVENT = 1024
"""Bytes at the end that contain a ROTATE or STOP event, even with the longest name."""


@dataclass(frozen=True, slots=True)
class Log:
    """The files of one log, ordered by number."""

    base: str
    files: tuple[Binlog, ...]

    @property
    def servers(self) -> frozenset[int]:
        """Server ids in its files: one, unless an id was changed or GTIDs are not used."""
        return frozenset(file.head.description.server_id for file in self.files)

    @property
    def has_gtids(self) -> bool:
        """True if the first events of all files have GTIDs."""
        return all(map(has_gtids, self.files))

    @property
    def ends_with_gtids(self) -> bool:
        """True if the last file that is more than just created has GTIDs."""
        begun = [file for file in self.files if not is_only_begun(file)]
        return bool(begun) and has_gtids(max(begun, key=lambda file: file.number))

    @property
    def copied(self) -> bool:
        """True if the first transactions were copied from another server or an earlier log."""
        first = self.files[0].head.first
        return first is not None and first.copied

    @property
    def turn(self) -> int:
        """The turn of the capture that landed it; the first if none did."""
        return turn_of(self.files[0].stored.path)

    @property
    def rank(self) -> tuple[int, int, int, str, int]:
        """Sort key of logs: by turn, then by the number of transactions before the first file."""
        head = self.files[0].head
        seen = GtidSet.of(head.previous_gtids).size
        return self.turn, seen, head.description.timestamp, self.base, min(self.servers)


def logs_by_server(binlogs: Sequence[Binlog]) -> tuple[tuple[Log, ...], tuple[str, ...]]:
    """Return the logs among the files, and notes about duplicate files.

    Raises SettingsError if there are several logs whose order cannot be determined.
    """
    logs = []
    for (base, _), named in groupby(sorted(binlogs, key=_name), key=_name):
        whole = Log(base, tuple(named))
        logs += _by_server(whole) if whole.has_gtids else [whole]
    if len(logs) > 1:
        _require_gtids(logs)
    notes: list[str] = []
    ordered = [Log(log.base, tuple(_each_once(log, notes))) for log in logs]
    return tuple(sorted(ordered, key=lambda log: log.rank)), tuple(notes)


def _name(binlog: Binlog) -> tuple[str, int]:
    return binlog.base, turn_of(binlog.stored.path)


def _require_gtids(logs: Sequence[Log]) -> None:
    """Raise SettingsError if a log has no GTIDs.

    If a capture continued from the first turn's log, only the end of that log needs them: what was
    logged before GTIDs were enabled is in no later turn.
    """
    first = min(log.turn for log in logs)
    alone = [log.turn for log in logs].count(first) == 1
    without = [
        log
        for log in logs
        if not (log.ends_with_gtids if alone and log.turn == first else log.has_gtids)
    ]
    if without:
        bases = sorted({log.base for log in logs})
        last = max(without[0].files, key=lambda file: (not has_gtids(file), file.number))
        raise SettingsError(
            f"files of several logs: {', '.join(bases[:4])}. Their order cannot be determined, as"
            f" {last.stored.path} has no GTIDs.",
            key="binlogs",
            remedy=f"Give the files of one log, such as {bases[0]}.*; use a source for each log.",
        )


def _by_server(log: Log) -> list[Log]:
    def server(binlog: Binlog) -> int:
        return binlog.head.description.server_id

    grouped = groupby(sorted(log.files, key=server), key=server)
    return [Log(log.base, tuple(files)) for _, files in grouped]


def has_gtids(binlog: Binlog) -> bool:
    """Return True if a file's first events have GTIDs: previous GTIDs, and no anonymous one."""
    head = binlog.head
    anonymous = head.first is not None and head.first.gtid is None
    return head.previous_gtids is not None and not head.relay and not anonymous


def is_only_begun(binlog: Binlog) -> bool:
    """Return True if a file ends before its previous GTIDs and its first transaction."""
    return binlog.head.previous_gtids is None and binlog.head.first is None


def _each_once(log: Log, notes: list[str]) -> list[Binlog]:
    """Return the log's files in order, of copies only the best one."""
    kept: list[Binlog] = []
    for _, copies in groupby(sorted(log.files, key=lambda b: b.number), key=lambda b: b.number):
        best, *others = _best_first(list(copies))
        kept.append(best)
        for other in others:
            if other.head.incarnation != best.head.incarnation:
                raise SettingsError(
                    f"{best.stored.path} and {other.stored.path} have the same number.",
                    key="binlogs",
                    remedy="Give the files of one log only.",
                )
            notes.append(f"{other.stored.path} is skipped: it is a copy of {best.stored.path}.")
    return kept


def _best_first(copies: Sequence[Binlog]) -> list[Binlog]:
    """Order copies of a log file by preference: the longest uncompressed one first.

    The length of a compressed copy is unknown. It is preferred only if there is no other, or if the
    uncompressed copy is not closed and the compressed one is longer: made later, or of a better
    copy.
    """
    plain = sorted(
        (copy for copy in copies if copy.codec is None),
        key=lambda copy: (-copy.stored.size, copy.stored.path),
    )
    packed = sorted(
        (copy for copy in copies if copy.codec is not None),
        key=lambda copy: (_in_use(copy), -copy.stored.size, copy.stored.path),
    )
    return (
        [*packed, *plain]
        if plain and packed and _is_better(packed[0], plain[0])
        else [*plain, *packed]
    )


def _is_better(packed: Binlog, plain: Binlog) -> bool:
    if _in_use(packed):
        return False  # while a log is in use, its plain copy is newer, or is the log itself
    return _in_use(plain) or (not is_closed(plain) and _is_longer(packed, plain.stored.size))


def _in_use(binlog: Binlog) -> bool:
    return binlog.head.description.in_use


def is_closed(plain: Binlog) -> bool:
    """Return True if an uncompressed log ends with the server's ROTATE or STOP event."""
    size = plain.stored.size
    length = min(size, _LAST_EVENT)
    try:
        with opened(plain.stored.path, plain.cipher, ahead=_LAST_EVENT) as log:
            log.seek(size - length)
            tail = b"".join(read_windows(log, length))
    except (OSError, BinlogError):
        return False
    return any(_ends_with_event(tail, at, size) for at in range(len(tail) - HEADER_LENGTH + 1))


def _is_longer(packed: Binlog, length: int) -> bool:
    """Return True if the log in a compressed file has more than `length` bytes.

    False if it cannot be read that far.
    """
    try:
        with opened(packed.stored.path, packed.cipher, packed.codec) as log:
            return sum(map(len, read_windows(log, length + 1))) > length
    except (OSError, BinlogError):
        return False


def _ends_with_event(tail: bytes, at: int, size: int) -> bool:
    """Return True if the header there is that of a ROTATE or STOP which is the log's last event."""
    kind = tail[at + 4]
    length, end = (int.from_bytes(tail[at + n : at + n + 4], "little") for n in (9, 13))
    last = length == len(tail) - at and end == size % (1 << 32)
    return last and kind in (EventType.ROTATE, EventType.STOP)
