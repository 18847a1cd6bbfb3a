"""The facts that checks judge: the server's variables, its tables and the user's privileges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.source.check.privileges import Privileges
from pipeline.source.server.version import ServerVersion


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of the server; `kind` is information_schema's TABLE_TYPE.

    `keyed`: True if it has a PRIMARY KEY, or a UNIQUE key of whole NOT NULL columns.
    """

    schema: str
    table: str
    engine: str = "InnoDB"
    kind: str = "BASE TABLE"
    keyed: bool = True

    @property
    def name(self) -> str:
        """`schema.table`."""
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class SourceForeignKey:
    """A foreign key from a child table to its parent, each as (schema, table)."""

    child: tuple[str, str]
    parent: tuple[str, str]
    on_delete: str = "NO ACTION"
    on_update: str = "NO ACTION"


@dataclass(frozen=True, slots=True)
class LogFilter:
    """The server's log filter: schemas that are logged (`do`; empty: all), and those that are not.

    See `binlog_do_db` and `binlog_ignore_db`.
    """

    do: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()

    def leaves_out(self, schema: str) -> bool:
        """True if changes in this schema are not logged."""
        return schema in self.ignore or (bool(self.do) and schema not in self.do)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The input of all checks.

    `variables` are the global ones, by lower-case name; `user` is CURRENT_USER(), `name@host`;
    `utc_offset` is the offset of the server's SYSTEM time zone in seconds at the time `at`;
    `log_filter` is None if the user may not see it, or nothing is logged. Tables and foreign keys
    are those visible to the user.
    """

    version: ServerVersion
    variables: Mapping[str, str]
    user: str
    privileges: Privileges
    at: datetime
    utc_offset: int = 0
    log_filter: LogFilter | None = None
    tables: tuple[SourceTable, ...] = field(default=())
    foreign_keys: tuple[SourceForeignKey, ...] = field(default=())

    def is_on(self, variable: str) -> bool:
        """True if the variable exists and is ON."""
        return self.variables.get(variable, "").upper() in {"ON", "1"}
