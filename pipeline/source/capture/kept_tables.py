"""The definitions of the captured server's tables, kept beside its landed logs.

They are read each time a capture connects for the first time, and after another server has taken
over, before the server is asked where its log ends: so a capture that catches up has landed the log
up to that place. `pipeline.source.logs.kept_statements` brings them into the lake.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from logging import WARNING
from pathlib import Path

from pipeline.observe import say
from pipeline.source.capture.source import Identity
from pipeline.source.capture.state import sync_folder
from pipeline.source.logs.kept_statements import BESIDE_LOGS, readings_in
from pipeline.source.server.connection import asked, connect
from pipeline.source.server.create_statements import CreateStatements, read_create_statements
from pipeline.source.server.errors import ServerError
from pipeline.source.server.log_place import Places
from pipeline.source.server.login import Login
from pipeline.source.server.opening import Stop
from pipeline.source.server.version import server_version

KEPT = 16
"""Readings that are kept: the first, and the last ones that differ."""

Wanted = Callable[[str, str], bool]


class KeptTables:
    """Keeps what the server that `login` leads to says of the tables that are `wanted`."""

    def __init__(self, login: Login, folder: Path, wanted: Wanted | None = None) -> None:
        self._login = login
        self._folder = folder
        self._wanted = wanted or (lambda _schema, _table: True)
        self._read: Identity | None = None

    def keep(self, server: Identity, stop: Stop) -> None:
        """Read the definitions, once for each server, and put them into the folder, durably.

        A user who may see none of the tables, a server that does not answer, or a damaged file,
        whose readings are lost, is a warning: the log is landed all the same. Raises OSError.
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
            _put(self._folder / BESIDE_LOGS, reading)
        elif not full:
            say("tables_not_seen", _NOT_SEEN.format(user=self._login.user), level=WARNING)


_NOT_SEEN = (
    "The user {user} can see none of the tables that are replicated, and the log does not name the"
    " columns of tables that are older than it (binlog_row_metadata is not FULL): such tables are"
    " held until binlake seed has read them. Grant SELECT on them, or set binlog_row_metadata=FULL:"
    " see binlake check."
)


def _read(login: Login, wanted: Wanted, stop: Stop) -> tuple[CreateStatements, bool]:
    """The reading, and whether the log names all columns. Raises ServerError."""
    with connect(login, stop=stop) as connection, asked(login):
        version = server_version(connection)
        places = Places(connection, version, address=login.address, user=login.user)
        with connection.cursor() as cursor:
            cursor.execute("SHOW GLOBAL VARIABLES LIKE 'binlog_row_metadata'")
            full = any(str(value).upper() == "FULL" for _, value in cursor.fetchall())
        return read_create_statements(
            connection, version, places, wanted, lambda: stop.wanted
        ), full


def _put(path: Path, reading: CreateStatements) -> None:
    readings = with_reading(_known(path), reading)
    under_way = path.with_name(f"{path.name}.new")
    with under_way.open("w") as file:
        json.dump([one.to_dict() for one in readings], file, ensure_ascii=False)
        file.flush()
        os.fsync(file.fileno())
    under_way.replace(path)
    sync_folder(path.parent)


def _known(path: Path) -> list[CreateStatements]:
    try:
        return readings_in(path.read_bytes()) if path.exists() else []
    except ValueError as error:
        told = f"{path} is damaged and is written anew, without the earlier definitions: {error}"
        say("tables_damaged", told, level=WARNING)
        return []


def with_reading(
    known: Sequence[CreateStatements], reading: CreateStatements
) -> list[CreateStatements]:
    """Add a reading; of several in a row that say the same, the first and the last are kept."""
    found = list(known)
    if len(found) > 1 and all(_same(one, reading) for one in found[-2:]):
        found.pop()
    found.append(reading)
    return found if len(found) <= KEPT else [found[0], *found[1 - KEPT :]]


def _same(one: CreateStatements, other: CreateStatements) -> bool:
    return (one.server_id, one.tables) == (other.server_id, other.tables)
