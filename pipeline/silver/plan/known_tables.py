"""Definitions, from the settings or a server, of tables whose columns the log does not name.

A server's definition, read between two positions, is valid back to the last earlier statement that
may have changed it, or else to the start of the batch; after it, the DDL in the log applies. One
that was changed between the two positions is not used, because it may have been read before or
after the change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipeline.bronze.executed_gtids import Following, follows
from pipeline.bronze.tables import FileRow
from pipeline.schema_history import TableName, Timeline
from pipeline.schema_history.ddl.effects import CreateTable, CreateTableLike, Effect
from pipeline.schema_history.ddl.schema_dump import DumpedStatement
from pipeline.schema_history.timeline.definitions_file import StartTable, TimelineStart, read_start
from pipeline.schema_history.timeline.logged_statement import LoggedStatement
from pipeline.schema_history.timeline.statements import SAVES_DDL_XID
from pipeline.schema_history.timeline.touched import EVERY_TABLE, covers, touched
from pipeline.settings import Settings
from pipeline.silver.decode.segment_refs import FilePosition, SegmentRef, log_number, lsn_of
from pipeline.silver.plan.survey import (
    Found,
    StartDefinitions,
    logged_statement,
    ordered,
    shown_name,
)
from pipeline.silver.plan.take_seeds import SilverReached
from pipeline.source.server.create_statements import TIME_ZONE, CreateStatements
from pipeline.source.server.version import server_number

Find = Callable[[Sequence[SegmentRef]], Sequence[Found]]
"""Surveys segments, like `pipeline.silver.plan.survey.find`."""


def beginning(
    settings: Settings,
    ordinals: Mapping[str, int],
    begin: FilePosition,
    end: FilePosition,
    *,
    first: bool,
) -> StartDefinitions | None:
    """Return the definitions to declare in the batch [`begin`, `end`), or None.

    They are declared in the log's `first` batch or, if the dump has a later position, in the batch
    that contains it. `ordinals` are those of the existing files, by name.
    """
    if settings.definitions is None:
        return None
    start = read_start(settings.definitions)
    place = _position(start, ordinals)
    if first and (place is None or place <= begin):
        return StartDefinitions(lsn_of(begin), start)
    if place is not None and begin < place <= end:
        return StartDefinitions(lsn_of(place), start)
    return None


def _position(start: TimelineStart, ordinals: Mapping[str, int]) -> FilePosition | None:
    """Return the dump's position; None if it is before all files, or not recorded."""
    if start.place is None or not ordinals:
        return None
    file, position = start.place
    if file in ordinals:
        return ordinals[file], position
    number = log_number(file)
    last = max(ordinals, key=lambda name: ordinals[name])
    offset = number - log_number(last)
    return None if offset < 0 else (ordinals[last] + offset, position)


@dataclass(frozen=True, slots=True)
class Located:
    """A reading, with its positions in the lake."""

    reading: CreateStatements
    first: FilePosition
    last: FilePosition


@dataclass(frozen=True, slots=True)
class Readings:
    """Readings that bronze has reached, in log order, and those that it will reach.

    `breaks` are positions before which statements may be missing from the log.
    """

    located: tuple[Located, ...] = ()
    to_come: tuple[CreateStatements, ...] = ()
    breaks: tuple[FilePosition, ...] = ()


def needed_readings(
    readings: Iterable[CreateStatements], timeline: Timeline
) -> list[CreateStatements]:
    """Return the readings that define tables which nothing else defines."""
    return [one for one in readings if any(map(timeline.lacks, _queries(one, timeline)))]


def locate(
    readings: Iterable[CreateStatements],
    reached: SilverReached,
    start: FilePosition,
    given_up: Collection[int] = (),
) -> Readings:
    """Return the readings with their positions, if they matter for the log from `start` on.

    `given_up` are files after which something may be missing (see `pipeline.bronze.continuity`).
    """
    located, to_come = [], []
    for reading in readings:
        first = reached.first_file(reading)
        last = reached.last_file(reading, first) if first else None
        if first and last and reached.has_passed(last, reading.last):
            begin = first.ordinal, reading.first.position
            # Statements before `start` are not read, so none may be between its positions.
            if begin >= start:
                located.append(Located(reading, begin, (last.ordinal, reading.last.position)))
        elif _is_to_come(reading, reached):
            to_come.append(reading)
    breaks = tuple(_breaks(reached.files, given_up))
    return Readings(tuple(sorted(located, key=lambda one: one.last)), tuple(to_come), breaks)


def _breaks(files: Sequence[FileRow], given_up: Collection[int]) -> Iterator[FilePosition]:
    """Yield the starts of files after an accepted gap or a RESET."""
    ordinals = {row.ordinal for row in files}
    for row, following in pairwise(files):
        reset = follows(row, following, ordinals) is Following.AFTER_RESET
        if reset or row.ordinal in given_up:
            yield following.ordinal, 0


def _is_to_come(reading: CreateStatements, reached: SilverReached) -> bool:
    """Return True if the current log is of the reading's server."""
    last = reached.files[-1] if reached.files else None
    return last is not None and last.server_id == reading.server_id and last.begun <= reading.at


def beginnings(
    readings: Readings,
    timeline: Timeline,
    start: FilePosition,
    rows: Iterable[Found],
    later: Sequence[SegmentRef] = (),
    find: Find = lambda _: (),
) -> list[StartDefinitions]:
    """Return the tables that only the readings define, by the LSN from which they are valid.

    `timeline` is at `start`; `rows` are what the survey found in the batch from there on. The
    segments `later` than the batch are surveyed only as far as needed.
    """
    known = [(one, _queries(one.reading, timeline)) for one in readings.located]
    names = {name for _, queries in known for name in queries if timeline.lacks(name)}
    if not names:
        return []
    upto = max(one.last for one in readings.located)
    ahead = [ref for ref in later if ref.place < upto]
    touches = _touches([*rows, *(find(ahead) if ahead else ())], timeline)
    touches[EVERY_TABLE] += [
        lsn_of(position) - 1 for position in readings.breaks if position > start
    ]
    found: dict[tuple[int, int], list[StartTable]] = defaultdict(list)
    for name in sorted(names):
        own = sorted({*touches[name], *touches[TableName(name.schema, "")], *touches[EVERY_TABLE]})
        for number, (one, queries) in enumerate(known):
            before = [lsn for lsn in own if lsn < lsn_of(one.last)]
            if name not in queries or (before and before[-1] >= lsn_of(one.first)):
                continue
            # Right after that statement, or before everything in the batch.
            since = before[-1] + 1 if before else lsn_of(start) - (start[1] > 0)
            if table := _table(one.reading, name, queries[name], timeline):
                found[since, number].append(table)
            break
    return [
        StartDefinitions(lsn, TimelineStart(tuple(tables)), readings.located[number].reading.server)
        for (lsn, number), tables in sorted(found.items())
    ]


def waits_for(
    to_come: Iterable[CreateStatements], rows: Iterable[Found], timeline: Timeline
) -> str | None:
    """Return why a lake's first batch should wait, or None.

    Tables in it get names only when the log reaches the position at which their server was read.
    `timeline` is at the end of the batch.
    """
    shown = {shown_name(row) for row in rows if row["kind"] == "definition"}
    for reading in to_come:
        queries = _queries(reading, timeline)
        held = sorted(name for name in queries if name in shown and timeline.lacks(name))
        if held:
            file, position = reading.last
            return (
                f"The log has no column names of {held[0]}{_and_more(held)}, and they were read"
                f" from the server at {file}:{position}, which the lake has not reached: nothing is"
                " decoded before that. Capture the log up to there, and run again."
            )
    return None


def _and_more(names: Sequence[TableName]) -> str:
    return f" and {len(names) - 1} more tables" if len(names) > 1 else ""


def _touches(rows: Iterable[Found], timeline: Timeline) -> defaultdict[TableName, list[int]]:
    """Return the LSNs that may have changed a definition, by the names that `touched` yields."""
    found: defaultdict[TableName, list[int]] = defaultdict(list)
    there: set[TableName] = set()
    for row in ordered(rows):
        if row["kind"] == "definition":
            there.add(shown_name(row))
            continue
        statement = logged_statement(row)
        done = [e for e in timeline.effects(statement) if not _did_nothing(e, statement, there)]
        for name in touched(done):
            found[name].append(row["lsn"])
            there = {other for other in there if not covers(name, other)}
    return found


def _did_nothing(effect: Effect, at: LoggedStatement, there: Collection[TableName]) -> bool:
    """Return True for a CREATE TABLE IF NOT EXISTS of an existing table.

    MySQL logs it without an XID; on other servers, tables exist (`there`) if they have shown rows.
    """
    if not isinstance(effect, (CreateTable, CreateTableLike)) or not effect.if_not_exists:
        return False
    if at.mysql_version >= SAVES_DDL_XID:
        return at.ddl_xid is None
    return effect.name in there


def _queries(reading: CreateStatements, timeline: Timeline) -> dict[TableName, str]:
    """Return the reading's statements, by table names as the log spells them."""
    return {timeline.name(table.schema, table.table): table.query for table in reading.tables}


def _table(
    reading: CreateStatements, name: TableName, query: str, timeline: Timeline
) -> StartTable | None:
    """Return the table of a reading; None if it is not replicated or cannot be parsed."""
    number, mariadb = server_number(reading.server)
    at = LoggedStatement(0, 0, query, name.schema, server_version=number, mariadb=mariadb)
    found = timeline.effects(at)
    effect = found[0] if len(found) == 1 else None
    if not isinstance(effect, CreateTable):
        return None
    return StartTable(DumpedStatement(query, name.schema, time_zone=TIME_ZONE), effect)
