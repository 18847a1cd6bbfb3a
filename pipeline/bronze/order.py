"""Ordinals: a file's place in its source's log, which keeps increasing when names start over.

ordinal = base + the number in the name. After RESET the server starts again at number 1: then the
base becomes the last ordinal. A RESET is detected by a name that was used before, or by a file that
is newer than the last one but has a lower number than the first.

With GTIDs, the files of another server, or of the same one under other names, continue the log as
well: they are a log with a base of its own, after all earlier files, and silver determines which
of its transactions the lake already has. Ordinals in between are left free, which distinguishes
such a log from one after RESET: missing files of the previous log may get them until silver has
passed them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.bronze.executed_gtids import log_base
from pipeline.bronze.log_origin import Committed, Origin, foreign, origin, unknown_origin
from pipeline.bronze.tables import FileRow
from pipeline.errors import SettingsError
from pipeline.source import GtidSet
from pipeline.source.logs.listing import Binlog, split_name
from pipeline.source.logs.server_folders import turn_of
from pipeline.source.logs.server_logs import Log, has_gtids, logs_by_server

ROOM = 4096
"""Ordinals between two logs. An LSN has 23 bits for ordinals: eight million."""
_SECOND_LAKE = (
    "If the lake lacks its transactions, they can only be used in a second lake that starts with"
    " the oldest file."
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A binary log with its ordinal, and its row in bronze if it is known."""

    binlog: Binlog
    ordinal: int
    row: FileRow | None


@dataclass(frozen=True, slots=True)
class Order:
    """The files with an ordinal; `faults` and `notes`: sentences about the skipped ones."""

    placed: tuple[Placed, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]


def place(
    binlogs: Sequence[Binlog],
    known: Sequence[FileRow],
    reached: int = 0,
    committed: Committed = lambda gtid: None,
    removed_until: int = 0,
) -> Order:
    """Assign an ordinal to every file.

    `known` is in order of ordinals; `reached`: the ordinal of the last file that silver has
    reached; `committed` looks up transactions of the lake (`removed_until`: see `log_origin`).

    Raises SettingsError for files of several logs, or of another log than the known one, if they
    have no GTIDs to determine their order.
    """
    logs, notes = logs_by_server(binlogs)
    orders = [Order((), (), notes)]
    last = known[-1].ordinal if known else None
    origins = [(log, _origin(log, known, committed, removed_until)) for log in logs]
    for log, whose in sorted(origins, key=lambda pair: pair[1] is not Origin.OWN):
        if whose is Origin.UNKNOWN:
            order = Order((), (unknown_origin(log, known),), ())
        elif last is None or whose is Origin.OWN:
            order = _continued(log.files, known)
        else:
            _require_gtids(log, known)
            order = _joined(log, known, after=last, reached=reached)
        orders.append(order)
        last = max([last or 0, *(file.ordinal for file in order.placed)])
    placed = [file for order in orders for file in order.placed]
    return Order(
        tuple(sorted(placed, key=lambda file: file.ordinal)),
        tuple(fault for order in orders for fault in order.faults),
        tuple(note for order in orders for note in order.notes),
    )


def _origin(log: Log, known: Sequence[FileRow], committed: Committed, removed_until: int) -> Origin:
    """Return a log's origin: OWN for the log of the last known file, also after RESET."""
    if not known:
        return Origin.OTHER
    last = known[-1]
    if log.base != split_name(last.file)[0] or log.turn != turn_of(last.path):
        return Origin.OTHER
    if not log.has_gtids:
        return Origin.OWN
    bases = {log_base(row) for row in _matches(log.files, known) if row is not None}
    if bases:
        return Origin.OWN if log_base(last) in bases else Origin.OTHER
    incarnations = {row.incarnation for row in known}
    renamed = any(file.head.incarnation in incarnations for file in log.files)
    if renamed or last.server_id not in log.servers:
        return Origin.OTHER
    return origin(log, known, committed, removed_until)


def _matches(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> list[FileRow | None]:
    """Return the row of each file; None for unknown files."""
    by_identity = {(row.file, row.incarnation): row for row in known}
    return [by_identity.get((b.stored.name, b.head.incarnation)) for b in binlogs]


# --- the current log ------------------------------------------------------------------------------


def _continued(found: Sequence[Binlog], known: Sequence[FileRow]) -> Order:
    new = [b for b, row in zip(found, _matches(found, known), strict=True) if row is None]
    foreign_faults = foreign(new, known)
    binlogs = [binlog for binlog in found if binlog.stored.path not in foreign_faults]
    matches = _matches(binlogs, known)
    base, first, reset_at, faults = _epoch(binlogs, matches, known)
    placed: list[Placed] = []
    notes: list[str] = []
    skipped: list[str] = [*foreign_faults.values(), *faults.values()]
    for binlog, row in zip(binlogs, matches, strict=True):
        if row is not None:
            placed.append(Placed(binlog, row.ordinal, row))
        elif binlog.stored.name in faults:
            continue
        elif reset_at is not None and _begun(binlog) < _begun(binlogs[reset_at]):
            notes.append(_from_before_reset(binlog, binlogs[reset_at]))
        elif base + binlog.number < first:
            notes.append(_from_before_start(binlog, known[0]))
        else:
            placed.append(Placed(binlog, base + binlog.number, None))
    return Order(tuple(placed), tuple(skipped), tuple(notes))


def _epoch(
    binlogs: Sequence[Binlog], matches: Sequence[FileRow | None], known: Sequence[FileRow]
) -> tuple[int, int, int | None, Mapping[str, str]]:
    """Return (base, first ordinal, index of the first file after a RESET, faults by file name)."""
    if not known:
        return 0, 0, None, {}
    last = known[-1]
    base = log_base(last)
    names = {row.file for row in known if row.ordinal > base}
    first = min(row.ordinal for row in known if row.ordinal > base)
    conflicting = [
        index
        for index, (binlog, row) in enumerate(zip(binlogs, matches, strict=True))
        if row is None
        and (
            binlog.stored.name in names
            or (base + binlog.number < first and _begun(binlog) > last.begun)
        )
    ]
    if not conflicting:
        return base, first, None, {}
    continues = any(row is not None and row.ordinal > base for row in matches[: conflicting[0]])
    if continues:
        return (
            base,
            first,
            None,
            {binlogs[i].stored.name: _name_conflict(binlogs[i]) for i in conflicting},
        )
    return last.ordinal, last.ordinal, conflicting[0], {}


# --- other logs -----------------------------------------------------------------------------------


def _joined(log: Log, known: Sequence[FileRow], *, after: int, reached: int) -> Order:
    """Return the places of a log other than the current one: known, free or new ordinals."""
    runs = list(_runs(log, known))
    placed: list[Placed] = []
    notes: list[str] = []
    faults: list[str] = []
    for binlog, row in zip(log.files, _matches(log.files, known), strict=True):
        if row is not None:
            placed.append(Placed(binlog, row.ordinal, row))
        elif (free := _free_place(binlog, runs, known, reached)) is not None:
            placed.append(Placed(binlog, free, None))
        elif runs and _is_before(binlog, runs[0][0]):
            notes.append(_from_before_start(binlog, runs[0][0]))
        elif (waiting := _waits_for(binlog, runs, known, reached)) is not None:
            faults.append(_no_room(binlog, waiting))
        else:
            placed.append(Placed(binlog, after + ROOM + binlog.number, None))
    return Order(tuple(placed), tuple(faults), tuple(notes))


def _runs(log: Log, known: Sequence[FileRow]) -> Iterator[list[FileRow]]:
    """Yield the known rows of the log's files, grouped by base."""
    by_base: dict[int, list[FileRow]] = {}
    for row in known:
        of_its_turn = turn_of(row.path) == log.turn
        if of_its_turn and split_name(row.file)[0] == log.base and row.server_id in log.servers:
            by_base.setdefault(log_base(row), []).append(row)
    yield from by_base.values()


def _free_place(
    binlog: Binlog, runs: Sequence[Sequence[FileRow]], known: Sequence[FileRow], reached: int
) -> int | None:
    """Return a free ordinal for the file in a run of its log, or None.

    It is where the file is missing, or after the run's last file if nothing later was decoded.
    """
    taken = {row.ordinal for row in known}
    for rows in runs:
        first, last = rows[0], rows[-1]
        ordinal = log_base(first) + binlog.number
        following = min((log_base(r) for r in known if r.ordinal > last.ordinal), default=ordinal)
        in_time = first.begun <= _begun(binlog)
        if ordinal <= first.ordinal or ordinal in taken or not in_time:
            continue
        if ordinal < last.ordinal and _begun(binlog) <= last.begun:
            return ordinal
        if last.ordinal < ordinal < following and reached <= last.ordinal:
            return ordinal
    return None


def _waits_for(
    binlog: Binlog, runs: Sequence[Sequence[FileRow]], known: Sequence[FileRow], reached: int
) -> FileRow | None:
    """Return the file after one of the log's runs that waits for this one's first transaction,
    or None. If this one were placed after that file, it would never be read.
    """
    first = binlog.head.first
    for rows in runs:
        last = rows[-1]
        following = next((row for row in known if row.ordinal > last.ordinal), None)
        if following is None or reached > last.ordinal or first is None or first.gtid is None:
            continue
        full = log_base(last) + binlog.number >= log_base(following)
        if full and first.gtid in GtidSet.of(following.previous_gtids):
            return following
    return None


def _is_before(binlog: Binlog, first: FileRow) -> bool:
    return binlog.number < split_name(first.file)[1] and _begun(binlog) <= first.begun


def _require_gtids(log: Log, known: Sequence[FileRow]) -> None:
    with_gtids = not known or any(row.gtids or row.previous_gtids for row in known)
    places = zip(log.files, _matches(log.files, known), strict=True)
    # Known files have their ordinals: they may date from before GTIDs were enabled.
    if with_gtids and all(has_gtids(binlog) for binlog, row in places if row is None):
        return
    raise SettingsError(
        f"the log of {known[-1].source} is named {split_name(known[-1].file)[0]}, but these files"
        f" belong to {log.base}.",
        key="source",
        remedy="Without GTIDs, another server's log needs its own source name (--source).",
    )


def _begun(binlog: Binlog) -> int:
    return binlog.head.description.timestamp


def _name_conflict(binlog: Binlog) -> str:
    return (
        f"{binlog.stored.name} is skipped: bronze has another file of this name or in its place,"
        " and the files before it are unchanged, so this is not a RESET. Bronze stays as it is. If"
        " the file is from the same server, copy it again."
    )


def _no_room(binlog: Binlog, waiting: FileRow) -> str:
    return (
        f"{binlog.stored.name} is skipped: {waiting.file} waits for it, but its number is too far"
        f" from the last ingested file of its log for the {ROOM} ordinals reserved there. Ingest"
        " all files into a new lake, starting with the first one."
    )


def _from_before_start(binlog: Binlog, first: FileRow) -> str:
    return (
        f"{binlog.stored.name} is older than {first.file}, the first file of this log in the lake:"
        f" it is skipped. {_SECOND_LAKE}"
    )


def _from_before_reset(binlog: Binlog, first: Binlog) -> str:
    return (
        f"{binlog.stored.name} is older than {first.stored.name}, the first file after the server's"
        f" log was reset (RESET): it is skipped. {_SECOND_LAKE}"
    )
