"""The lake's copies of servers' table definitions: files in `LAKE/bronze/_statements`.

`binlake capture` keeps its readings of the definitions beside the landed logs, and bronze copies
them from there; `binlake seed` writes its own here. Silver needs them if the log does not name
columns, also for a full refresh, so they are never removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from logging import WARNING

from pipeline.lake import Lake, stores
from pipeline.observe import say
from pipeline.source.server.create_statements import CreateStatements, TableStatement

READINGS_FILE = ".binlake-tables.json"
"""A capture's file of readings, in its folder. Hidden, since it is not a log."""


_PATTERN_SIGNS = frozenset("*?[")


def parse_readings(content: bytes) -> list[CreateStatements]:
    """Parse a capture's file of readings. Raises ValueError if it is malformed."""
    try:
        return [CreateStatements.from_dict(one) for one in json.loads(content)]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from error


def copy_captured_readings(
    lake: Lake, source: str, binlogs: str | Iterable[str], begun: int
) -> list[str]:
    """Copy the readings that captures keep beside the binlogs into the lake; return the problems.

    `begun`: the timestamp of the lake's first log file, by the server's clock.
    """
    problems = []
    locations = [binlogs] if isinstance(binlogs, str) else binlogs
    for path in dict.fromkeys(_files_beside(locations)):
        content = _content(path)
        if content is None:
            continue
        try:
            readings = parse_readings(content)
        except ValueError as error:
            problems.append(
                f"{path} cannot be read: {error}. Until the next binlake capture replaces it,"
                " tables whose columns the log does not name are held."
            )
        else:
            keep(lake, source, readings, begun)
    return problems


def keep(lake: Lake, source: str, readings: Iterable[CreateStatements], begun: int) -> None:
    """Write readings into the lake, without tables whose statement an earlier reading confirms.

    An earlier reading confirms a statement if it is of the same server, not older than `begun`,
    where the lake's log begins, and taken at a single log position: a table may have been altered
    between two positions, which only a later reading shows. Two readings of the same statement
    whose positions do not overlap also confirm it.
    """
    known = [one for one in kept(lake, source) if one.at >= begun]
    for reading in sorted(readings, key=_when):
        if new := tuple(t for t in reading.tables if not _is_confirmed(t, reading, known)):
            kept_reading = replace(reading, tables=new).to_dict()
            content = json.dumps(kept_reading, ensure_ascii=False).encode()
            name = f"{reading.at}-{hashlib.sha256(content).hexdigest()[:16]}.json"
            stores.write(f"{lake.create_statements(source)}/{name}", content)
        known += [reading] if reading.at >= begun else []


def _is_confirmed(
    table: TableStatement, reading: CreateStatements, known: Iterable[CreateStatements]
) -> bool:
    same = [
        one
        for one in known
        if one.server_id == reading.server_id
        and _when(one) <= _when(reading)
        and table in one.tables
    ]
    return any(one.first == one.last or _when(one) == _when(reading) for one in same) or any(
        one.last.rank <= other.first.rank for one in same for other in same
    )


def _when(reading: CreateStatements) -> tuple[int, int, int]:
    return reading.at, *reading.last.rank


def kept(lake: Lake, source: str) -> list[CreateStatements]:
    """Return all readings of a source, ordered by time; log and skip files that cannot be read."""
    folder = lake.create_statements(source)
    found = []
    for name in sorted(stores.names_in(folder)):
        if not name.endswith(".json"):
            continue
        content = stores.content(f"{folder}/{name}")
        try:
            found += [] if content is None else [CreateStatements.from_dict(json.loads(content))]
        except (ValueError, KeyError, TypeError) as error:
            message = (
                f"{folder}/{name} cannot be read: {error}. Tables whose columns only it names are"
                " held. Remove it, and run binlake seed or binlake capture again."
            )
            say("statements_unreadable", message, level=WARNING)
    return sorted(found, key=lambda one: one.at)


def _files_beside(locations: Iterable[str]) -> Iterator[str]:
    """Yield where the capture that landed these files may have put its file of readings.

    That is in the location itself if it is a folder, or in its parent: that of a file, or of a
    turn's folder (see `server_folders`).
    """
    for location in locations:
        folder = location.rstrip("/")
        while _PATTERN_SIGNS.intersection(folder):
            folder = folder.rpartition("/")[0]
        for place in (folder, folder.rpartition("/")[0]):
            if place:
                yield f"{place}/{READINGS_FILE}"


def _content(path: str) -> bytes | None:
    try:
        return stores.content(path)
    except (NotADirectoryError, PermissionError):
        # The path of a file, or a store that denies access to a missing object without list rights.
        return None
