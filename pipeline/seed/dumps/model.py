"""The content of a dump, whichever program wrote it: a log position, and tables in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder.constants import INSTANT_TYPES
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.seed.errors import DumpError

UTC = "+00:00"
_CHARSETS = ("utf8mb4", "binary")
"""Supported charsets of a dump's text; `binary`: each column's text is in its own charset."""
_WITHOUT_CHARSET = "it was dumped with the charset {0}, which may have lost characters"


@dataclass(frozen=True)
class Chunk(ABC):
    """A part of a table's rows that can be pickled and read independently on another machine.

    `name` is the same whenever the dump is opened. `size`: bytes of the dump.
    """

    name: str
    path: str
    size: int

    @abstractmethod
    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield cell arrays (see `pipeline.seed.values`) of these columns, in batches of at most
        64k rows and about 16 MiB. Raises DumpError."""


@dataclass(frozen=True)
class DumpedTable:
    """A table of a dump.

    `statement`: its CREATE TABLE, to be parsed with `sql_mode`. `columns`: the columns in the dump,
    in their order (None: all columns of the table). `time_zone`: of the session that printed its
    TIMESTAMPs. `charset`: of its text.
    """

    schema: str
    table: str
    statement: str
    sql_mode: int = 0
    time_zone: str | None = None
    charset: str = "utf8mb4"
    columns: tuple[str, ...] | None = None
    chunks: Sequence[Chunk] = field(default=(), repr=False)
    path: str = ""

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"

    def lacks(self, columns: Sequence[ColumnDefinition]) -> tuple[str, ...]:
        """Return the columns that are missing from the dump: mostly generated ones."""
        if self.columns is None or not self.chunks:
            return ()
        held = {name.casefold() for name in self.columns}
        return tuple(column.name for column in columns if column.name.casefold() not in held)

    def require_readable(self, columns: Sequence[ColumnDefinition]) -> None:
        """Raise DumpError if these columns' values cannot be determined from the dump."""
        if not self.chunks:
            return
        if lacks := self.lacks(columns):
            raise lacking(self.path, str(self), lacks)
        instants = [column.name for column in columns if column.type in INSTANT_TYPES]
        if instants and self.time_zone != UTC:
            raise DumpError(
                self.path,
                f"column {instants[0]} is a TIMESTAMP printed in the dumping session's time zone"
                " (--skip-tz-utc), which the dump does not record",
                table=str(self),
                remedy="Dump it again with --tz-utc, the default.",
            )
        if self.charset not in _CHARSETS:
            raise DumpError(
                self.path,
                _WITHOUT_CHARSET.format(self.charset),
                table=str(self),
                remedy="Dump it again with --default-character-set=utf8mb4.",
            )


@dataclass(frozen=True)
class Dump:
    """A dump that has been opened.

    `place`: the log file and position of the rows. `gtids`: the executed GTID set, as the server
    prints it. Each is None if the dump does not record it. `server`: the server's version string,
    empty if not recorded.
    """

    place: tuple[str, int] | None
    gtids: str | None
    server: str
    tables: Sequence[DumpedTable]


def lacking(path: str, table: str, names: Sequence[str]) -> DumpError:
    """Return the error for a dump that lacks some of a table's columns."""
    return DumpError(
        path,
        f"it lacks the columns {', '.join(names)}; dumps leave out generated columns",
        table=table,
        remedy="Seed this table from the server, or from CSV or Parquet with all its columns.",
    )


def created(statement: str, schema: str, sql_mode: int = 0) -> CreateTable | None:
    """Parse a CREATE TABLE; None if it is another statement, or cannot be parsed."""
    found = effects(statement, StatementContext(schema, sql_mode))
    return found[0] if len(found) == 1 and isinstance(found[0], CreateTable) else None
