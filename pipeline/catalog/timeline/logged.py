"""What the timeline takes in besides table maps: logged statements, and what conf says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from decoder import TypeOptions
from pipeline.catalog.alter.items import Position
from pipeline.catalog.ddl.conversion_mode import ConversionMode
from pipeline.catalog.ddl.default_context import DefaultContext
from pipeline.settings.time_zone import zone
from pipeline.source.server.version import server_number


@dataclass(frozen=True, slots=True)
class LoggedStatement:
    """A QUERY event, as far as definitions depend on it; `server_version` as MySQL's number.

    `server_charset`: of the session's collation_server, which a schema has that names none;
    `explicit_timestamps`: the session's explicit_defaults_for_timestamp, if it is logged.
    `charset` is that of the client, whose bytes the statement is, `connection_charset` that of its
    strings; None: not logged. `temporary`: it used temporary tables of its connection, whose names
    hide the others'.
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
        """From a row of `decoder.model.schemas.STATEMENTS` and its server's version."""
        number, mariadb = server_number(server)
        lsn, pos = place
        return cls(
            lsn=lsn,
            pos=pos,
            query=row["query"],
            schema=row["schema"],
            sql_mode=row["sql_mode"] or 0,
            time_zone=row["time_zone"],
            charset=row["charset"],
            connection_charset=row["connection_charset"],
            server_charset=row["server_charset"],
            executed_at=executed_at,
            ddl_xid=row["ddl_xid"],
            explicit_timestamps=row["explicit_defaults_for_timestamp"],
            temporary=bool(row["thread_specific"]),
            server_version=number,
            mariadb=mariadb,
        )

    @property
    def position(self) -> Position:
        """Where in the log."""
        return self.lsn, self.pos

    def later(self, steps: int) -> LoggedStatement:
        """What the statement does after that: gold takes each change at a position of its own."""
        return replace(self, pos=self.pos + steps)

    @property
    def mysql_version(self) -> int:
        """MySQL's number, 0 where it is not known or the server is another."""
        return 0 if self.mariadb else self.server_version or 0


@dataclass(frozen=True, slots=True)
class CatalogOptions:
    """What conf says: which tables count, their types, and the server's own time zone.

    `from_start`: the lake holds the server's log from its first file on. `lower_case_table_names`
    is the server's: with 1 and 2 the log has the names of tables in lower case, and DDL as it was
    typed. `default_charset`: that of text whose DDL names none.
    """

    wanted: Callable[[str, str], bool] = field(default=lambda _schema, _table: True)
    types: TypeOptions = field(default_factory=TypeOptions)
    system_time_zone: str = "UTC"
    from_start: bool = False
    default_charset: str | None = None
    lower_case_table_names: Literal[0, 1, 2] | None = None

    @property
    def folds_names(self) -> bool:
        """Whether names of schemas and tables are the same whatever their letters' case."""
        return self.lower_case_table_names in (1, 2)

    def _time_zone(self, statement: LoggedStatement) -> str:
        """The session's, with the server's own in the place of SYSTEM."""
        named = statement.time_zone not in (None, "", "SYSTEM")
        return str(statement.time_zone) if named else self.system_time_zone

    def _utc_offset(self, statement: LoggedStatement) -> int | None:
        """The server logs the zone of statements that have used it, and no other."""
        if not statement.time_zone:
            return None
        try:
            offset = zone(self._time_zone(statement)).utcoffset(None)
        except ValueError:
            return None
        return None if offset is None else offset // timedelta(minutes=1)

    def default_context(self, statement: LoggedStatement) -> DefaultContext:
        """What a DEFAULT's value depends on."""
        return DefaultContext(
            executed_at=statement.executed_at,
            time_zone=self._time_zone(statement),
            options=self.types,
            explicit_timestamps=statement.explicit_timestamps,
            sql_mode=statement.sql_mode,
            mariadb=statement.mariadb,
            client_charset=statement.charset or "utf8mb4",
            connection_charset=statement.connection_charset or statement.charset or "utf8mb4",
        )

    def conversion_mode(
        self, statement: LoggedStatement, *, ignore: bool, shown: bool = False
    ) -> ConversionMode:
        """What the conversion of a column's values depends on."""
        return ConversionMode(
            sql_mode=statement.sql_mode,
            options=self.types,
            ignore=ignore,
            shown=shown,
            mariadb=statement.mariadb,
            explicit_timestamps=statement.explicit_timestamps,
            utc_offset=self._utc_offset(statement),
        )
