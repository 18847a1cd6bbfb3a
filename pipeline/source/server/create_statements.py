"""The CREATE TABLE statements of a server's tables, read between two positions of its log.

With `binlog_row_metadata=MINIMAL` (MySQL's default) or NO_LOG (MariaDB's) the log does not name the
columns of a table that was created before the log begins; the server does. A definition is read
after the position `first` and before `last`: with the DDL logged around and between these, it is
known from which position it is valid (see `pipeline.silver.plan.known_tables`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter

from pipeline.lake.sql_text import quoted
from pipeline.settings.settings import SYSTEM_SCHEMAS
from pipeline.source.server.connection import LOST_CONNECTION_CODES, queried
from pipeline.source.server.log_position import LogPosition, LogPositions, number_of
from pipeline.source.server.login import Login
from pipeline.source.server.version import server_version

if TYPE_CHECKING:
    from pymysql.connections import Connection

FORMAT = 1
TIME_ZONE = "+00:00"
"""Time zone of the reading session, in which SHOW CREATE TABLE prints a TIMESTAMP's DEFAULT."""
LOCK_SECONDS = 5
"""Longest wait for a locked table."""
_SESSION = (
    f"SET SESSION time_zone = '{TIME_ZONE}', sql_mode = '', lock_wait_timeout = {LOCK_SECONDS},"
    " sql_quote_show_create = 1"
)
_NEXT_NUMBER = re.compile(r" AUTO_INCREMENT=\d+")


class TableStatement(NamedTuple):
    """A table and its CREATE TABLE statement."""

    schema: str
    table: str
    query: str


@dataclass(frozen=True, slots=True)
class CreateStatements:
    """CREATE TABLE statements read between the positions `first` and `last` of the server's log.

    `server` is the text of VERSION(). `server_id` and `at` (Unix time in seconds, by the server's
    clock) distinguish its log from others with the same file names. `gtids`: the transactions that
    it had executed before the reading, if it uses GTIDs.
    """

    server: str
    server_id: int
    at: int
    first: LogPosition
    last: LogPosition
    tables: tuple[TableStatement, ...]
    gtids: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the form that `from_dict` reads, for JSON."""
        return {"format": FORMAT, **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> CreateStatements:
        """Read the form of `to_dict`. Raises ValueError, KeyError or TypeError if malformed."""
        if (format_number := fields["format"]) != FORMAT:
            raise ValueError(f"its format is {format_number}, and this release reads only {FORMAT}")
        found = _FORM.validate_python(fields)
        for end in (found.first, found.last):
            number_of(end.file)
        return found


_FORM = TypeAdapter(CreateStatements)


def read_create_statements(
    connection: Connection[Any],
    login: Login,
    wanted: Callable[[str, str], bool],
    stopped: Callable[[], bool] = lambda: False,
) -> CreateStatements:
    """Read the statements of all `wanted` tables that the user may see, over `connection`.

    Tables that cannot be shown (locked, or dropped meanwhile) are left out. `stopped` is called
    before each table: if it returns True, the tables read so far are returned.
    Raises NoLogPositionError, and PyMySQL's errors if the connection is lost.
    """
    version = server_version(connection)
    places = LogPositions(connection, version, login)
    queried(connection, _SESSION)
    gtids = places.executed()
    first = places.end()
    log = places.log_identity()
    tables = []
    for schema, table in list(user_tables(connection, wanted)):
        if stopped():
            break
        if (query := _shown(connection, schema, table)) is not None:
            tables.append(TableStatement(schema, table, query))
    return CreateStatements(
        version.text, log["server_id"], log["at"], first, places.end(), tuple(tables), gtids
    )


def user_tables(
    connection: Connection[Any], wanted: Callable[[str, str], bool]
) -> Iterator[tuple[str, str]]:
    """Yield schema and name of the `wanted` tables, without the system schemas."""
    found = queried(
        connection,
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES"
        " WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY 1, 2",
    )
    for schema, table in found:
        if schema not in SYSTEM_SCHEMAS and wanted(schema, table):
            yield schema, table


def create_statement(connection: Connection[Any], schema: str, table: str) -> str:
    """Return a table's current CREATE TABLE, without its AUTO_INCREMENT counter.

    Raises PyMySQL's errors.
    """
    rows = queried(connection, f"SHOW CREATE TABLE {quoted(schema)}.{quoted(table)}")
    query = str(rows[0][1])
    columns, end, options = query.rpartition("\n)")
    return f"{columns}{end}{_NEXT_NUMBER.sub('', options, count=1)}"


def _shown(connection: Connection[Any], schema: str, table: str) -> str | None:
    import pymysql

    try:
        return create_statement(connection, schema, table)
    except pymysql.MySQLError as error:
        if not error.args or error.args[0] in LOST_CONNECTION_CODES:
            raise
        return None
