"""What a statement does to tables, as far as replication cares: the results of reading DDL."""

from __future__ import annotations

from dataclasses import dataclass

from decoder.definition import ColumnDefinition, TableDefinition
from pipeline.catalog.lexer import Token


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table with its schema."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that a statement declares.

    `default` is its DEFAULT as tokens (empty: none); `says_null`: it says that it may be NULL.
    `charset` is the one that it names, in lower case, itself or by its collation. `place` is None
    for the end, "" for FIRST, else the column that it stands after. `computed` tells why its values
    in existing rows are not its DEFAULT (a generated column, AUTO_INCREMENT), or is empty.
    """

    definition: ColumnDefinition
    default: tuple[Token, ...] = ()
    place: str | None = None
    computed: str = ""
    primary: bool = False
    says_null: bool = False
    charset: str | None = None


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table begins, empty. `cascades` names foreign key actions that InnoDB does by itself."""

    name: TableName
    definition: TableDefinition
    if_not_exists: bool = False
    cascades: str = ""


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """A table begins, empty, with the definition of another."""

    name: TableName
    model: TableName
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddColumns:
    """Columns are added, in this order."""

    name: TableName
    columns: tuple[NewColumn, ...]


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table ends."""

    name: TableName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A schema begins: what is created in it from here was not there before."""

    schema: str
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropSchema:
    """A schema ends, with every table in it."""

    schema: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A table changes in a way that is not replicated (yet); `creates` when it begins with it."""

    name: TableName
    reason: str
    creates: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A statement that changes a table, but which one cannot be read from it."""

    reason: str


Effect = (
    CreateTable
    | CreateTableLike
    | AddColumns
    | DropTable
    | CreateSchema
    | DropSchema
    | Unsupported
    | Unreadable
)
