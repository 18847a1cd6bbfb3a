"""The timeline's input besides table maps: logged statements and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from decoder import TypeOptions
from pipeline.schema_history.alter.items import Position
from pipeline.schema_history.ddl.conversion_mode import ConversionMode
from pipeline.settings.time_zone import zone
from pipeline.source.server.version import server_number


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A QUERY event, as far as definitions depend on it; `server_version` is MySQL's number.

    `server_charset` is that of the session's collation_server, the default of a new schema;
    `explicit_timestamps` is the session's explicit_defaults_for_timestamp. `charset` is the
    client's, in which the statement is, `connection_charset` that of its strings; None: not logged.
    `temporary`: it used temporary tables of its connection, which hide permanent tables of the same
    name.
    """

    lsn: int
    pos: int
    query: str
    schema: str | None = None
    sql_mode: int = 0
    time_zone: str | None = None
    charset: str | None = None
    connection_charset: str | None = None
    server_charset: str | None = None
    executed_at: datetime | None = None
    ddl_xid: int | None = None
    explicit_timestamps: bool | None = None
    server_version: int | None = None
    mariadb: bool = False
    temporary: bool = False

    @classmethod
    def read(
        cls, place: Position, row: Mapping[str, Any], executed_at: datetime | None, server: str
    ) -> LoggedStatement:
        """Return the statement of a row of `decoder.schemas.STATEMENTS`.

        `server` is the server's version.
        """
        number, mariadb = server_number(server)
        same = ("query", "schema", "time_zone", "charset", "connection_charset", "server_charset")
        return cls(
            *place,
            **{name: row[name] for name in same},
            sql_mode=row["sql_mode"] or 0,
            executed_at=executed_at,
            ddl_xid=row["ddl_xid"],
            explicit_timestamps=row["explicit_defaults_for_timestamp"],
            temporary=bool(row["thread_specific"]),
            server_version=number,
            mariadb=mariadb,
        )

    @property
    def position(self) -> Position:
        """The position in the log."""
        return self.lsn, self.pos

    def later(self, steps: int) -> LoggedStatement:
        """Return it some positions later: gold applies each of its changes at its own position."""
        return replace(self, pos=self.pos + steps)

    @property
    def mysql_version(self) -> int:
        """MySQL's version number; 0 if unknown, or for another server."""
        return 0 if self.mariadb else self.server_version or 0


@dataclass(frozen=True, slots=True)
class TimelineOptions:
    """The settings: which tables are replicated, their types, and the server's time zone.

    `from_start`: the lake has the server's log from its first file on. `lower_case_table_names` is
    the server's: with 1 and 2 the log has lower-case table names, but DDL as it was typed.
    `default_charset` is that of text whose DDL names none.
    """

    wanted: Callable[[str, str], bool] = field(default=lambda _schema, _table: True)
    types: TypeOptions = field(default_factory=TypeOptions)
    system_time_zone: str = "UTC"
    from_start: bool = False
    default_charset: str | None = None
    lower_case_table_names: Literal[0, 1, 2] | None = None

    @property
    def folds_names(self) -> bool:
        """True if schema and table names are case-insensitive."""
        return self.lower_case_table_names in (1, 2)

    def _time_zone(self, statement: LoggedStatement) -> str:
        """Return the session's time zone, with SYSTEM resolved to the server's."""
        named = statement.time_zone not in (None, "", "SYSTEM")
        return str(statement.time_zone) if named else self.system_time_zone

    def _utc_offset(self, statement: LoggedStatement) -> int | None:
        """Return the session's UTC offset in minutes; None if its zone is not logged or varies.

        The server only logs the time zone of statements that use it.
        """
        if not statement.time_zone:
            return None
        try:
            offset = zone(self._time_zone(statement)).utcoffset(None)
        except ValueError:
            return None
        return None if offset is None else offset // timedelta(minutes=1)

    def conversion_mode(
        self, statement: LoggedStatement, *, ignore: bool = False, shown: bool = False
    ) -> ConversionMode:
        """Return what the conversion of a column's values, or of a DEFAULT, depends on."""
        return ConversionMode(
            sql_mode=statement.sql_mode,
            options=self.types,
            ignore=ignore,
            shown=shown,
            mariadb=statement.mariadb,
            explicit_timestamps=statement.explicit_timestamps,
            utc_offset=self._utc_offset(statement),
            executed_at=statement.executed_at,
            time_zone=self._time_zone(statement),
            client_charset=statement.charset or "utf8mb4",
            connection_charset=statement.connection_charset or statement.charset or "utf8mb4",
        )
