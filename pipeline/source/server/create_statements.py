"""The CREATE TABLE statements of a server's tables, read between two positions of its log.

A log with `binlog_row_metadata=MINIMAL` (MySQL's default) or NO_LOG (MariaDB's) does not name the
columns of a table that is older than it. The server does. A definition is read after the position
`first` and before `last`; together with the DDL in the log between and around them that tells from
where on it holds (see `pipeline.silver.plan.known_tables`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter

from pipeline.lake.sql_text import quoted
from pipeline.settings.settings import SYSTEM_SCHEMAS
from pipeline.source.server.connection import BROKEN_OFF
from pipeline.source.server.log_place import LogPlace, Places
from pipeline.source.server.version import ServerVersion

if TYPE_CHECKING:
    from pymysql.connections import Connection

FORMAT = 1
TIME_ZONE = "+00:00"
"""Of the session that reads them: a TIMESTAMP's DEFAULT is printed in it."""
LOCK_SECONDS = 5
"""The longest that a table is waited for which somebody has locked."""
_SESSION = (
    f"SET SESSION time_zone = '{TIME_ZONE}', sql_mode = '', lock_wait_timeout = {LOCK_SECONDS},"
    " sql_quote_show_create = 1"
)
_NEXT_NUMBER = re.compile(r" AUTO_INCREMENT=\d+")


class ServerTable(NamedTuple):
    """A table, and its CREATE TABLE."""

    schema: str
    table: str
    query: str


@dataclass(frozen=True, slots=True)
class CreateStatements:
    """Statements that the server gave between the positions `first` and `last` of its log.

    `server` is its version's text. `server_id` and `at` (seconds since 1970 by the server's clock)
    distinguish its log from others with files of the same names. `gtids`: the transactions that it
    had executed before the reading, if it has GTIDs.
    """

    server: str
    server_id: int
    at: int
    first: LogPlace
    last: LogPlace
    tables: tuple[ServerTable, ...]
    gtids: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The form of `from_dict`, for JSON."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> CreateStatements:
        """Read what `to_dict` gave. Raises ValueError, KeyError or TypeError for anything else."""
        if (found := fields["format"]) != FORMAT:
            raise ValueError(f"its format is {found}, and this release knows {FORMAT}")
        return _FORM.validate_python(fields)

    def to_json(self) -> str:
        """One JSON object."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> CreateStatements:
        """Read what `to_json` gave. Raises ValueError, KeyError or TypeError for anything else."""
        return cls.from_dict(json.loads(text))


_FORM = TypeAdapter(CreateStatements)


def read_create_statements(
    connection: Connection[Any],
    version: ServerVersion,
    places: Places,
    wanted: Callable[[str, str], bool],
    stopped: Callable[[], bool] = lambda: False,
) -> CreateStatements:
    """Read the statements of all wanted tables that the user may see, over a connection of its own.

    A table that cannot be shown (it is locked, or dropped meanwhile) is left out. `stopped` is
    asked before each table: what was read until then counts.
    Raises NoPlaceError, and what PyMySQL raises where the connection breaks.
    """
    with connection.cursor() as cursor:
        cursor.execute(_SESSION)
    gtids = places.executed()
    first = places.end()
    log = places.log_now()
    tables = []
    for schema, table in list(user_tables(connection, wanted)):
        if stopped():
            break
        if (query := _shown(connection, schema, table)) is not None:
            tables.append(ServerTable(schema, table, query))
    return CreateStatements(
        version.text, log["server_id"], log["at"], first, places.end(), tuple(tables), gtids
    )


def user_tables(
    connection: Connection[Any], wanted: Callable[[str, str], bool]
) -> Iterator[tuple[str, str]]:
    """Give schema and name of the server's tables that are wanted, but its own."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
            " WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2"
        )
        found = list(cursor.fetchall())
    for schema, table in found:
        if schema not in SYSTEM_SCHEMAS and wanted(schema, table):
            yield schema, table


def create_statement(connection: Connection[Any], schema: str, table: str) -> str:
    """Give a table's CREATE TABLE as it is now, without the number that the next row gets.

    Raises PyMySQL's errors.
    """
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW CREATE TABLE {quoted(schema)}.{quoted(table)}")
        query = str(cursor.fetchall()[0][1])
    columns, end, options = query.rpartition("\n)")
    return f"{columns}{end}{_NEXT_NUMBER.sub('', options, count=1)}"


def _shown(connection: Connection[Any], schema: str, table: str) -> str | None:
    import pymysql

    try:
        return create_statement(connection, schema, table)
    except pymysql.MySQLError as error:
        if not error.args or error.args[0] in BROKEN_OFF:
            raise
        return None
