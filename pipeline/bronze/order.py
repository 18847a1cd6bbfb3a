"""A file's place in its source's log: the ordinal, which keeps increasing when names start anew.

ordinal = base + the number in the name. RESET makes the server begin at number 1 again: then the
base moves on behind every file so far. It shows by a name that was there before, or by a file that
is younger than the last and has a number from before the first.

With GTIDs, the files of another server, or the same under other names, go on with the log too:
they are a log with a base of their own, behind every file so far, and what of them was there before
is told in silver. Between the two ordinals are left free, which tells them from a log begun anew:
files that the log before lacked may take them, as long as silver has not come further.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.bronze.copies import Committed, Origin, foreign, origin, untold
from pipeline.bronze.executed_gtids import log_base
from pipeline.bronze.files import FileRow
from pipeline.errors import SettingsError
from pipeline.source import GtidSet
from pipeline.source.logs.listing import Binlog, split_name
from pipeline.source.logs.server_folders import turn_of
from pipeline.source.logs.server_logs import Log, has_gtids, split_logs

ROOM = 4096
"""Ordinals between two logs. An LSN has 23 bits for ordinals: eight million."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A binary log with its ordinal, and its row in bronze if it is known."""

    binlog: Binlog
    ordinal: int
    row: FileRow | None


@dataclass(frozen=True, slots=True)
class Order:
    """The files that have a place; the others are in `faults` or `notes`, as sentences."""

    placed: tuple[Placed, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]


def place(
    binlogs: Sequence[Binlog],
    known: Sequence[FileRow],
    reached: int = 0,
    committed: Committed = lambda gtid: None,
    gone_until: int = 0,
) -> Order:
    """Give every file its ordinal. `known` is in order of ordinals; up to the file `reached` silver
    has gone on; `committed` looks up transactions of the lake (`gone_until`: see `copies`).

    Raises SettingsError for files of several logs, or of another than the known one, where GTIDs
    do not tell their order.
    """
    logs, notes = split_logs(binlogs)
    orders = [Order((), (), notes)]
    last = known[-1].ordinal if known else None
    origins = [(log, _origin(log, known, committed, gone_until)) for log in logs]
    for log, whose in sorted(origins, key=lambda pair: pair[1] is not Origin.OWN):
        if whose is Origin.UNKNOWN:
            order = Order((), (untold(log, known),), ())
        elif last is None or whose is Origin.OWN:
            order = _go_on(log.files, known)
        else:
            _require_gtids(log, known)
            order = _join(log, known, behind=last, reached=reached)
        orders.append(order)
        last = max([last or 0, *(file.ordinal for file in order.placed)])
    placed = [file for order in orders for file in order.placed]
    return Order(
        tuple(sorted(placed, key=lambda file: file.ordinal)),
        tuple(fault for order in orders for fault in order.faults),
        tuple(note for order in orders for note in order.notes),
    )


def _origin(log: Log, known: Sequence[FileRow], committed: Committed, gone_until: int) -> Origin:
    """Whether it is the log that the last known file is of, or that log begun anew."""
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
    return origin(log, known, committed, gone_until)


def _matches(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> list[FileRow | None]:
    """The rows of those that are known."""
    by_identity = {(row.file, row.incarnation): row for row in known}
    return [by_identity.get((b.stored.name, b.head.incarnation)) for b in binlogs]


# --- the log under way ----------------------------------------------------------------------------


def _go_on(found: Sequence[Binlog], known: Sequence[FileRow]) -> Order:
    new = [b for b, row in zip(found, _matches(found, known), strict=True) if row is None]
    strange = foreign(new, known)
    binlogs = [binlog for binlog in found if binlog.stored.path not in strange]
    matches = _matches(binlogs, known)
    base, first, reset_at, faults = _epoch(binlogs, matches, known)
    placed: list[Placed] = []
    notes: list[str] = []
    wrong: list[str] = [*strange.values(), *faults.values()]
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
    return Order(tuple(placed), tuple(wrong), tuple(notes))


def _epoch(
    binlogs: Sequence[Binlog], matches: Sequence[FileRow | None], known: Sequence[FileRow]
) -> tuple[int, int, int | None, Mapping[str, str]]:
    """(base, first ordinal, index of the first file after a RESET, faults by file name)."""
    if not known:
        return 0, 0, None, {}
    last = known[-1]
    base = log_base(last)
    names = {row.file for row in known if row.ordinal > base}
    first = min(row.ordinal for row in known if row.ordinal > base)
    strangers = [
        index
        for index, (binlog, row) in enumerate(zip(binlogs, matches, strict=True))
        if row is None
        and (
            binlog.stored.name in names
            or (base + binlog.number < first and _begun(binlog) > last.begun)
        )
    ]
    if not strangers:
        return base, first, None, {}
    continues = any(row is not None and row.ordinal > base for row in matches[: strangers[0]])
    if continues:
        return base, first, None, {binlogs[i].stored.name: _stranger(binlogs[i]) for i in strangers}
    return last.ordinal, last.ordinal, strangers[0], {}


# --- other logs -----------------------------------------------------------------------------------


def _join(log: Log, known: Sequence[FileRow], *, behind: int, reached: int) -> Order:
    """The places of a log that is not the one under way: known ones, free ones, or new ones."""
    stretches = list(_stretches(log, known))
    placed: list[Placed] = []
    notes: list[str] = []
    faults: list[str] = []
    for binlog, row in zip(log.files, _matches(log.files, known), strict=True):
        if row is not None:
            placed.append(Placed(binlog, row.ordinal, row))
        elif (free := _free_place(binlog, stretches, known, reached)) is not None:
            placed.append(Placed(binlog, free, None))
        elif stretches and _is_before(binlog, stretches[0][0]):
            notes.append(_from_before_start(binlog, stretches[0][0]))
        elif (waiting := _waits_for(binlog, stretches, known, reached)) is not None:
            faults.append(_no_room(binlog, waiting))
        else:
            placed.append(Placed(binlog, behind + ROOM + binlog.number, None))
    return Order(tuple(placed), tuple(faults), tuple(notes))


def _stretches(log: Log, known: Sequence[FileRow]) -> Iterator[list[FileRow]]:
    """The rows of the log's files, those of one base together."""
    by_base: dict[int, list[FileRow]] = {}
    for row in known:
        of_its_turn = turn_of(row.path) == log.turn
        if of_its_turn and split_name(row.file)[0] == log.base and row.server_id in log.servers:
            by_base.setdefault(log_base(row), []).append(row)
    yield from by_base.values()


def _free_place(
    binlog: Binlog, stretches: Sequence[Sequence[FileRow]], known: Sequence[FileRow], reached: int
) -> int | None:
    """The ordinal of the file in a stretch of its log: where it is missing, or behind the last one
    as long as nothing of what follows was decoded."""
    taken = {row.ordinal for row in known}
    for rows in stretches:
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
    binlog: Binlog, stretches: Sequence[Sequence[FileRow]], known: Sequence[FileRow], reached: int
) -> FileRow | None:
    """The file behind the log's that waits for what this one begins with, if there is one: behind
    that it would never be read."""
    first = binlog.head.first
    for rows in stretches:
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
    # What is known has its place: an earlier turn may be from before GTIDs were turned on.
    if with_gtids and all(has_gtids(binlog) for binlog, row in places if row is None):
        return
    raise SettingsError(
        f"the log of {known[-1].source} is named {split_name(known[-1].file)[0]}, and these files"
        f" are of {log.base}.",
        key="source",
        remedy="Without GTIDs, another server's log needs a source name of its own (--source).",
    )


def _begun(binlog: Binlog) -> int:
    return binlog.head.description.timestamp


def _stranger(binlog: Binlog) -> str:
    return (
        f"{binlog.stored.name}: another file of this name was ingested before, and the files before"
        " it are the same as then. It is left out. Is it of another server? Copy it again."
    )


def _no_room(binlog: Binlog, waiting: FileRow) -> str:
    return (
        f"{binlog.stored.name} belongs before {waiting.file}, which waits for it, and the {ROOM}"
        " places that were left free there are not enough: it is left out. Ingest the files anew"
        " into another lake, from the first one on."
    )


def _from_before_start(binlog: Binlog, first: FileRow) -> str:
    return (
        f"{binlog.stored.name} is from before {first.file}, with which the source's log began"
        " in this lake: it is left out."
    )


def _from_before_reset(binlog: Binlog, first: Binlog) -> str:
    return (
        f"{binlog.stored.name} is older than {first.stored.name}, with which the server began its"
        " log anew: it is left out."
    )
