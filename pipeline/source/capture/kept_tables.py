"""The definitions of the captured server's tables, kept beside its landed logs.

They are read when a capture first connects and after a failover, before the server's log end is
queried: so a capture that has caught up has landed the log up to that position.
`pipeline.source.logs.kept_statements` copies them into the lake.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from logging import WARNING
from pathlib import Path

from decoder.model import TableFilter
from pipeline.observe import say
from pipeline.source.capture.source import Identity
from pipeline.source.capture.state import write_durably
from pipeline.source.logs.kept_statements import READINGS_FILE, parse_readings
from pipeline.source.server.connect_timeout import StopOpening
from pipeline.source.server.connection import connect, explained_errors, queried
from pipeline.source.server.create_statements import CreateStatements, read_create_statements
from pipeline.source.server.errors import ServerError
from pipeline.source.server.login import Login

KEPT = 16
"""Number of readings kept: the first, and the last ones that differ."""


class KeptTables:
    """Kept definitions of the `wanted` tables of the server at `login`."""

    def __init__(self, login: Login, folder: Path, wanted: TableFilter | None = None) -> None:
        self._login = login
        self._folder = folder
        self._wanted = wanted or (lambda _schema, _table: True)
        self._read: Identity | None = None

    def keep(self, server: Identity, stop: StopOpening) -> None:
        """Read the definitions, once per server, and write them durably into the folder.

        Logs a warning, and lets the capture continue, if the user can see none of the tables, the
        server does not answer, or the existing file is damaged (its readings are lost). Raises
        OSError.
        """
        if server == self._read:
            return
        try:
            reading, full = _read(self._login, self._wanted, stop)
        except ServerError as error:
            if stop.wanted:
                return
            say("tables_not_read", f"Tables' definitions were not read: {error}", level=WARNING)
            return
        if stop.wanted:
            return
        self._read = server
        if reading.tables:
            path = self._folder / READINGS_FILE
            readings = [one.to_dict() for one in with_reading(_known(path), reading)]
            write_durably(path, json.dumps(readings, ensure_ascii=False))
        elif not full:
            say("tables_not_seen", _NOT_SEEN.format(user=self._login.user), level=WARNING)


_NOT_SEEN = (
    "The user {user} can see none of the replicated tables, and the log does not name the columns"
    " of tables created before it (binlog_row_metadata is not FULL): such tables are held until"
    " binlake seed has read them. Grant SELECT on them, or set binlog_row_metadata=FULL; see"
    " binlake check."
)


def _read(login: Login, wanted: TableFilter, stop: StopOpening) -> tuple[CreateStatements, bool]:
    """Return the reading, and True if the log names all columns. Raises ServerError."""
    with connect(login, stop=stop) as connection, explained_errors(login):
        metadata = queried(connection, "SHOW GLOBAL VARIABLES LIKE 'binlog_row_metadata'")
        full = any(str(value).upper() == "FULL" for _, value in metadata)
        return read_create_statements(connection, login, wanted, lambda: stop.wanted), full


def _known(path: Path) -> list[CreateStatements]:
    try:
        return parse_readings(path.read_bytes()) if path.exists() else []
    except ValueError as error:
        message = f"{path} is damaged; it is replaced without the earlier definitions: {error}"
        say("tables_damaged", message, level=WARNING)
        return []


def with_reading(
    known: Sequence[CreateStatements], reading: CreateStatements
) -> list[CreateStatements]:
    """Append a reading; of consecutive equal ones, only the first and the last are kept."""
    found = list(known)
    if len(found) > 1 and all(_same(one, reading) for one in found[-2:]):
        found.pop()
    found.append(reading)
    return found if len(found) <= KEPT else [found[0], *found[1 - KEPT :]]


def _same(one: CreateStatements, other: CreateStatements) -> bool:
    return (one.server_id, one.tables) == (other.server_id, other.tables)
