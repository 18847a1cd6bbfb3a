"""The lake's copies of what servers said of their tables: files in `LAKE/bronze/_statements`.

`binlake capture` keeps such readings beside the logs that it lands, and bronze takes them from
there; `binlake seed` puts its own here. Silver needs them where the log does not name columns, a
full refresh too, so they stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from logging import WARNING

from pipeline.lake import Lake, stores
from pipeline.observe import say
from pipeline.source.server.create_statements import CreateStatements, ServerTable

BESIDE_LOGS = ".binlake-tables.json"
"""The file of a capture's readings, in the folder that it lands in. Hidden: it is not a log."""


_PATTERN_SIGNS = frozenset("*?[")


def readings_in(content: bytes) -> list[CreateStatements]:
    """Read a file that a capture keeps. Raises ValueError for anything else."""
    try:
        return [CreateStatements.from_dict(one) for one in json.loads(content)]
    except (KeyError, TypeError) as error:
        raise ValueError(f"it lacks {error}") from error


def take_from_captures(
    lake: Lake, source: str, binlogs: str | Iterable[str], begun: int
) -> list[str]:
    """Copy what captures have kept beside the binlogs into the lake; return the problems.

    `begun`: when the lake's first file was begun, by the server's clock.
    """
    problems = []
    locations = [binlogs] if isinstance(binlogs, str) else binlogs
    for path in dict.fromkeys(_beside(locations)):
        content = _content(path)
        if content is None:
            continue
        try:
            readings = readings_in(content)
        except ValueError as error:
            problems.append(
                f"{path} cannot be read: {error}. The next binlake capture writes it again; tables"
                " whose columns the log does not name are held meanwhile."
            )
        else:
            keep(lake, source, readings, begun)
    return problems


def keep(lake: Lake, source: str, readings: Iterable[CreateStatements], begun: int) -> None:
    """Put readings into the lake: those of their tables that it has no earlier reading of which
    says the same.

    For that, an earlier reading counts if it is of the same server, not older than `begun`, where
    the lake's log begins, and of one place of the log: between two places a table may have been
    altered, and then only a later reading tells. Two readings of a text that lie apart are enough.
    """
    known = [one for one in kept(lake, source) if one.at >= begun]
    for reading in sorted(readings, key=_when):
        if new := tuple(table for table in reading.tables if not _is_told(table, reading, known)):
            content = replace(reading, tables=new).to_json().encode()
            name = f"{reading.at}-{hashlib.sha256(content).hexdigest()[:16]}.json"
            stores.write(f"{lake.create_statements(source)}/{name}", content)
        known += [reading] if reading.at >= begun else []


def _is_told(
    table: ServerTable, reading: CreateStatements, known: Iterable[CreateStatements]
) -> bool:
    same = [
        one
        for one in known
        if one.server_id == reading.server_id
        and _when(one) <= _when(reading)
        and table in one.tables
    ]
    return any(one.first == one.last or _when(one) == _when(reading) for one in same) or any(
        one.last <= other.first for one in same for other in same
    )


def _when(reading: CreateStatements) -> tuple[int, str, int]:
    return reading.at, *reading.last


def kept(lake: Lake, source: str) -> list[CreateStatements]:
    """Return all readings of a source, in the order of time.

    A file that cannot be read is reported and left out: what only it tells is not known.
    """
    folder = lake.create_statements(source)
    found = []
    for name in sorted(stores.names_in(folder)):
        if not name.endswith(".json"):
            continue
        content = stores.content(f"{folder}/{name}")
        try:
            found += [] if content is None else [CreateStatements.from_json(content.decode())]
        except (ValueError, KeyError, TypeError) as error:
            said = (
                f"{folder}/{name} cannot be read: {error}. Tables whose columns only it names are"
                " held. Remove it, and run binlake seed or binlake capture again."
            )
            say("statements_unreadable", said, level=WARNING)
    return sorted(found, key=lambda one: one.at)


def _beside(locations: Iterable[str]) -> Iterator[str]:
    """Where a capture that landed these may have put its file: in the folder that is meant, in that
    of a file, or above that of a turn (see `turns`)."""
    for location in locations:
        folder = location.rstrip("/")
        while _PATTERN_SIGNS.intersection(folder):
            folder = folder.rpartition("/")[0]
        for place in (folder, folder.rpartition("/")[0]):
            if place:
                yield f"{place}/{BESIDE_LOGS}"


def _content(path: str) -> bytes | None:
    try:
        return stores.content(path)
    except (NotADirectoryError, PermissionError):
        # The path of a file, or a store that says this of what is not there to who may not list it.
        return None
