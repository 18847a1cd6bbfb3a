"""What a server says of itself, its tables and the user who asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.source.check.privileges import Privileges
from pipeline.source.server.version import ServerVersion


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that is there: `kind` is information_schema's TABLE_TYPE, `keyed` whether a PRIMARY
    KEY, or a UNIQUE key of whole columns that are all NOT NULL, tells its rows apart."""

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
    """A foreign key of a child table to its parent; both as schema and table."""

    child: tuple[str, str]
    parent: tuple[str, str]
    on_delete: str = "NO ACTION"
    on_update: str = "NO ACTION"


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Schemas whose changes alone are logged (`do`, all if empty), and those whose are not."""

    do: frozenset[str] = frozenset()
    ignore: frozenset[str] = frozenset()

    def leaves_out(self, schema: str) -> bool:
        """Whether changes in this schema are not in the log."""
        return schema in self.ignore or (bool(self.do) and schema not in self.do)


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """All that is looked at.

    `variables` are the global ones, by name; `user` is CURRENT_USER(), `name@host`; `utc_offset` is
    that of the server's SYSTEM time zone in seconds, `at` that time; `log_filter` is None where
    the user may not see it, or nothing is logged. Tables and foreign keys are those that the user
    may see.
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
        """Whether a variable is there and ON."""
        return self.variables.get(variable, "").upper() in {"ON", "1"}
