"""The server to seed tables from: a connection, and the properties that decide how to read it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.seed.selection import SESSION
from pipeline.settings import Settings
from pipeline.source.server.connection import connect, explained_errors, queried
from pipeline.source.server.create_statements import CreateStatements, read_create_statements
from pipeline.source.server.log_position import LogPositions
from pipeline.source.server.login import Login, login
from pipeline.source.server.version import ServerVersion, server_version

if TYPE_CHECKING:
    from pymysql.connections import Connection

SILENT_SECONDS = 60 * 60
"""Read timeout of the connection: splitting a large table into chunks scans its whole key."""

IDLE_SECONDS = 7 * 24 * 60 * 60
"""`wait_timeout` of the session: the connection is idle while a table's chunks are read."""


@dataclass(frozen=True, slots=True)
class SourceServer:
    """A server and a connection to it.

    `id`: its server UUID, or its address and server id. `over_tls`: the connection uses TLS.
    `logs_whole_images`: row images have all columns. `logs_cascades`: changes that foreign keys
    make in child tables are logged.
    """

    login: Login
    connection: Connection[Any]
    version: ServerVersion
    id: str
    over_tls: bool
    logs_whole_images: bool
    logs_cascades: bool

    @property
    def places(self) -> LogPositions:
        """The reader of the server's log positions."""
        return LogPositions(self.connection, self.version, self.login)

    def create_statements(self, settings: Settings) -> CreateStatements:
        """Read the definitions of all replicated tables. Raises ServerError."""
        with connect(self.login) as connection, explained_errors(self.login):
            return read_create_statements(connection, self.login, settings.wanted)


@contextmanager
def source_server(settings: Settings) -> Iterator[SourceServer]:
    """Connect to the server of the settings. Raises ServerError and SettingsError."""
    who = login(settings)
    connection = connect(who, read_timeout=SILENT_SECONDS)
    with connection, explained_errors(who):
        queried(connection, f"{SESSION}, wait_timeout = {IDLE_SECONDS}")
        found = queried(connection, "SHOW GLOBAL VARIABLES")
        variables = {str(name).lower(): str(value) for name, value in found}
        if "information_schema_stats_expiry" in variables:
            # Otherwise AVG_ROW_LENGTH may be a day old.
            queried(connection, "SET SESSION information_schema_stats_expiry = 0")
        ciphers = queried(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        yield SourceServer(
            who,
            connection,
            server_version(connection),
            variables.get("server_uuid") or f"{who.address} {variables.get('server_id', '')}",
            any(cipher for _, cipher in ciphers),
            _logs_whole_images(variables),
            variables.get("innodb_native_foreign_keys") == "OFF",
        )


def _logs_whole_images(variables: dict[str, str]) -> bool:
    partial_json = "PARTIAL_JSON" in variables.get("binlog_row_value_options", "")
    return variables.get("binlog_row_image", "FULL").upper() == "FULL" and not partial_json
