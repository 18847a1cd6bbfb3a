"""Which of the files found are of one server's log: those of one name, and with GTIDs of one id.

Servers mostly give their logs the same name, so that a replica's are told by its id in their first
event, and what a capture landed of servers that took over by its turn. Only with GTIDs are files of
several logs of use together: see `order`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pipeline.errors import SettingsError
from pipeline.source.gtid_set import GtidSet
from pipeline.source.logs.copy_ends import is_closed, is_longer
from pipeline.source.logs.listing import Binlog
from pipeline.source.logs.server_folders import turn_of


@dataclass(frozen=True, slots=True)
class Log:
    """The files of one log, in order of their numbers. `servers`: the ids that they name."""

    base: str
    files: tuple[Binlog, ...]

    @property
    def servers(self) -> frozenset[int]:
        """The servers that wrote it: one, but where an id was changed or GTIDs are not used."""
        return frozenset(file.head.description.server_id for file in self.files)

    @property
    def has_gtids(self) -> bool:
        """Whether all that its first events tell of transactions has GTIDs."""
        return all(map(has_gtids, self.files))

    @property
    def ends_with_gtids(self) -> bool:
        """The same of the last file alone, or of the one before where that is only begun."""
        told = [file for file in self.files if not is_only_begun(file)]
        return bool(told) and has_gtids(max(told, key=lambda file: file.number))

    @property
    def copied(self) -> bool:
        """Whether its server has its first transactions from elsewhere, or from a log of before."""
        first = self.files[0].head.first
        return first is not None and first.copied

    @property
    def turn(self) -> int:
        """In which turn of a capture it was landed; the first where it was not."""
        return turn_of(self.files[0].stored.path)

    @property
    def rank(self) -> tuple[int, int, int, str, int]:
        """By what logs are ordered whose order is free: what has seen less comes first, unless they
        are of several turns."""
        head = self.files[0].head
        seen = GtidSet.of(head.previous_gtids).size
        return self.turn, seen, head.description.timestamp, self.base, min(self.servers)


def split_logs(binlogs: Sequence[Binlog]) -> tuple[tuple[Log, ...], tuple[str, ...]]:
    """The logs among the files, and notes about files that are there twice.

    Raises SettingsError for files of several logs whose order nothing tells.
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
    """Of all logs, but where a capture went on from the first turn's: what came before GTIDs were
    turned on is in no later turn, so that only its end must have them."""
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
            f"files of several logs: {', '.join(bases[:4])}. Their order is not known:"
            f" {last.stored.path} has no GTIDs.",
            key="binlogs",
            remedy="Give one log's files, such as " + f"{bases[0]}.*, and a source for each log.",
        )


def _by_server(log: Log) -> list[Log]:
    def server(binlog: Binlog) -> int:
        return binlog.head.description.server_id

    grouped = groupby(sorted(log.files, key=server), key=server)
    return [Log(log.base, tuple(files)) for _, files in grouped]


def has_gtids(binlog: Binlog) -> bool:
    """Whether all that a file's first events tell of transactions has GTIDs."""
    head = binlog.head
    anonymous = head.first is not None and head.first.gtid is None
    return head.previous_gtids is not None and not head.relay and not anonymous


def is_only_begun(binlog: Binlog) -> bool:
    """Whether a file ends before it tells what is before it, or has a transaction."""
    return binlog.head.previous_gtids is None and binlog.head.first is None


def _each_once(log: Log, notes: list[str]) -> list[Binlog]:
    """The log's files in order, of copies the best one."""
    kept: list[Binlog] = []
    for _, copies in groupby(sorted(log.files, key=lambda b: b.number), key=lambda b: b.number):
        best, *others = _best_first(list(copies))
        kept.append(best)
        for other in others:
            if other.head.incarnation != best.head.incarnation:
                raise SettingsError(
                    f"{best.stored.path} and {other.stored.path} have the same number.",
                    key="binlogs",
                    remedy="Give one log's files only.",
                )
            notes.append(f"{other.stored.path} is left out: {best.stored.path} is the same.")
    return kept


def _best_first(copies: Sequence[Binlog]) -> list[Binlog]:
    """Of copies of one log the longest. How long it is a compressed one does not tell.

    Such a one is taken where no other is there, or where that has no end, and the compressed one
    goes on behind it: it was made since, or of a better copy.
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
        return False  # of a log that goes on the plain copy is the newer one, if not the log itself
    return _in_use(plain) or (not is_closed(plain) and is_longer(packed, plain.stored.size))


def _in_use(binlog: Binlog) -> bool:
    return binlog.head.description.in_use
