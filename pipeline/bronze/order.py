"""A file's place in its source's log: the ordinal, which keeps increasing when names start anew.

ordinal = base + the number in the name. RESET makes the server begin at number 1 again: then the
base moves on behind every file so far. It shows by a name that was there before, or by a file that
is younger than the last and has a number from before the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.bronze.files import FileRow
from pipeline.bronze.listing import Binlog, split_name
from pipeline.errors import SettingsError


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


def place(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> Order:
    """Give every file its ordinal. `binlogs` is in order of numbers, `known` of ordinals.

    Raises SettingsError for a log of another name than the one that is known.
    """
    _same_log(binlogs, known)
    by_identity = {(row.file, row.incarnation): row for row in known}
    matches = [by_identity.get(_identity(binlog)) for binlog in binlogs]
    base, first, reset_at, faults = _epoch(binlogs, matches, known)
    placed: list[Placed] = []
    notes: list[str] = []
    wrong: list[str] = list(faults.values())
    for binlog, row in zip(binlogs, matches, strict=True):
        if row is not None:
            placed.append(Placed(binlog, row.ordinal, row))
        elif binlog.stored.name in faults:
            continue
        elif reset_at is not None and _begun(binlog) < _begun(binlogs[reset_at]):
            notes.append(_from_before_reset(binlog, binlogs[reset_at]))
        elif base + binlog.number < first:
            notes.append(_from_before_start(binlog, known))
        else:
            placed.append(Placed(binlog, base + binlog.number, None))
    return Order(tuple(sorted(placed, key=lambda p: p.ordinal)), tuple(wrong), tuple(notes))


def _epoch(
    binlogs: Sequence[Binlog], matches: Sequence[FileRow | None], known: Sequence[FileRow]
) -> tuple[int, int, int | None, Mapping[str, str]]:
    """(base, first ordinal, index of the first file after a RESET, faults by file name)."""
    if not known:
        return 0, 0, None, {}
    last = known[-1]
    base = last.ordinal - split_name(last.file)[1]
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


def _same_log(binlogs: Sequence[Binlog], known: Sequence[FileRow]) -> None:
    if not binlogs or not known:
        return
    before, now = split_name(known[-1].file)[0], binlogs[0].base
    if before != now:
        raise SettingsError(
            f"the log of {known[-1].source} is named {before}, and these files are of {now}.",
            key="source",
            remedy="Another server's log needs a source name of its own (--source).",
        )


def _identity(binlog: Binlog) -> tuple[str, str]:
    return binlog.stored.name, binlog.head.incarnation


def _begun(binlog: Binlog) -> int:
    return binlog.head.description.timestamp


def _stranger(binlog: Binlog) -> str:
    return (
        f"{binlog.stored.name}: another file of this name was ingested before, and the files before"
        " it are the same as then. It is left out. Is it of another server? Copy it again."
    )


def _from_before_start(binlog: Binlog, known: Sequence[FileRow]) -> str:
    return (
        f"{binlog.stored.name} is from before {known[0].file}, with which the source's log began"
        " in this lake: it is left out."
    )


def _from_before_reset(binlog: Binlog, first: Binlog) -> str:
    return (
        f"{binlog.stored.name} is older than {first.stored.name}, with which the server began its"
        " log anew: it is left out."
    )
