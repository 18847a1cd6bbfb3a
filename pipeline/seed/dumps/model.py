"""What a dump holds, whoever wrote it: the place in the log that it is of, and tables in chunks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder.constants import INSTANT_TYPES
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.ddl import Session, effects
from pipeline.catalog.ddl.effects import CreateTable
from pipeline.seed.errors import DumpError

UTC = "+00:00"
_CHARSETS = ("utf8mb4", "binary")
"""In which text is in a dump: as it is stored, where it is `binary`."""
_WITHOUT_CHARSET = "its text is in {0}, which may have lost characters of the table's"


@dataclass(frozen=True)
class Chunk(ABC):
    """A part of a table's rows, readable alone: it may be pickled, and read on another machine.

    `name` is the same whenever the dump is opened; `size` is in bytes of the dump.
    """

    name: str
    path: str
    size: int

    @abstractmethod
    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Cell arrays (see `pipeline.seed.values`) of these columns, some thousands of rows at a
        time: at most 64k, and about 16 MiB. Raises DumpError."""


@dataclass(frozen=True)
class DumpedTable:
    """A table of a dump.

    `statement` is its CREATE TABLE, read with `sql_mode`. `columns` are those that the rows hold,
    in their order (None: all of the table). `time_zone` is the session's that its TIMESTAMPs are
    printed in, `charset` the one that its text is in.
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
        """Those of the columns that the rows do not hold: generated ones, mostly."""
        if self.columns is None or not self.chunks:
            return ()
        held = {name.casefold() for name in self.columns}
        return tuple(column.name for column in columns if column.name.casefold() not in held)

    def require_readable(self, columns: Sequence[ColumnDefinition]) -> None:
        """DumpError where the rows do not tell these columns' values."""
        if not self.chunks:
            return
        if lacks := self.lacks(columns):
            raise lacking(self.path, str(self), lacks)
        instants = [column.name for column in columns if column.type in INSTANT_TYPES]
        if instants and self.time_zone != UTC:
            raise DumpError(
                self.path,
                f"column {instants[0]} is a TIMESTAMP in the time zone of whoever dumped it"
                " (--skip-tz-utc), of which nothing tells the instants",
                table=str(self),
                remedy="Dump it again with --tz-utc, which is the default.",
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

    `place` is the log's file and the position in it that the rows are of, `gtids` the set of
    transactions that they hold, as the server prints it; None where the dump does not tell.
    `server` is the version of whose dump it is, as it names itself.
    """

    place: tuple[str, int] | None
    gtids: str | None
    server: str
    tables: Sequence[DumpedTable]


def lacking(path: str, table: str, names: Sequence[str]) -> DumpError:
    """The error of a dump whose rows do not hold some columns."""
    return DumpError(
        path,
        f"its rows do not hold the columns {', '.join(names)}, which dumps leave out if they are"
        " generated",
        table=table,
        remedy="Seed this table from the server itself, or from CSV or Parquet of all its columns.",
    )


def created(statement: str, schema: str, sql_mode: int = 0) -> CreateTable | None:
    """What a CREATE TABLE creates; None where it is none, or one that is not understood."""
    found = effects(statement, Session(schema, sql_mode))
    return found[0] if len(found) == 1 and isinstance(found[0], CreateTable) else None
