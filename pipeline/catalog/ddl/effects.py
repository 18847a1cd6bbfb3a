"""What a statement does to tables, as far as replication cares: the results of reading DDL."""

from __future__ import annotations

from dataclasses import dataclass

from decoder import TableDefinition
from pipeline.catalog.ddl.actions import Action, NewColumn
from pipeline.catalog.ddl.foreign_key import ForeignKey
from pipeline.catalog.ddl.model import TableModel


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table with its schema."""

    schema: str
    table: str

    @classmethod
    def read(cls, text: str) -> TableName:
        """The table that `schema.table` names; a schema with a dot in its name cannot be told."""
        schema, _, table = text.partition(".")
        return cls(schema, table)

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table begins, empty. `foreign_keys` are as declared, without names that a server makes;
    `columns` are those of the definition, as they are declared."""

    name: TableName
    definition: TableDefinition
    if_not_exists: bool = False
    foreign_keys: tuple[ForeignKey, ...] = ()
    model: TableModel | None = None
    columns: tuple[NewColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """A table begins, empty, with the definition of another; None: of one that is not known."""

    name: TableName
    model: TableName | None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A table's columns or keys change, and then its name, if `renamed` is one."""

    name: TableName
    actions: tuple[Action, ...]
    renamed: TableName | None = None
    ignore: bool = False


@dataclass(frozen=True, slots=True)
class TruncateTable:
    """A table loses all its rows."""

    name: TableName


@dataclass(frozen=True, slots=True)
class RenameTables:
    """Tables get other names, pair by pair (old, new), from left to right."""

    pairs: tuple[tuple[TableName, TableName], ...]


@dataclass(frozen=True, slots=True)
class CreateTemporary:
    """A connection has a table of this name for itself."""

    name: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table ends."""

    name: TableName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A schema begins: what is created in it from here was not there before."""

    schema: str
    if_not_exists: bool = False
    charset: str | None = None


@dataclass(frozen=True, slots=True)
class AlterSchema:
    """Tables that are created in a schema from here on have another charset."""

    schema: str
    charset: str


@dataclass(frozen=True, slots=True)
class DropSchema:
    """A schema ends, with every table in it."""

    schema: str


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """A table's rows become others, which the log does not tell; it stays what it is."""

    name: TableName
    reason: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A table changes in a way that is not replicated (yet); `creates` when it begins with it.

    `left_out`: what it is then is none to replicate, and one created LIKE it is none either.
    """

    name: TableName
    reason: str
    creates: bool = False
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A statement that changes a table, but which one cannot be read from it."""

    reason: str


Effect = (
    CreateTable
    | CreateTableLike
    | AlterTable
    | TruncateTable
    | RenameTables
    | CreateTemporary
    | DropTable
    | CreateSchema
    | AlterSchema
    | DropSchema
    | RowsChanged
    | Unsupported
    | Unreadable
)
