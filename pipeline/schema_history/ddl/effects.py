"""The effects of a statement on tables: the results of parsing DDL."""

from __future__ import annotations

from dataclasses import dataclass, replace

from decoder import TableDefinition
from pipeline.schema_history.ddl.actions import Action, NewColumn
from pipeline.schema_history.ddl.charsets import UNKNOWN_COLLATION
from pipeline.schema_history.ddl.column_types import with_charset
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.model import TableModel


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """A table's name, qualified by its schema."""

    schema: str
    table: str

    @classmethod
    def read(cls, text: str) -> TableName:
        """Parse `schema.table`; a dot in the schema's name is not supported."""
        schema, _, table = text.partition(".")
        return cls(schema, table)

    def lower(self) -> TableName:
        """Return the name in lower case."""
        return TableName(self.schema.lower(), self.table.lower())

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}"


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A new, empty table.

    `foreign_keys` are as declared, before the server names them; `columns` are the definition's
    columns, as declared.
    """

    name: TableName
    definition: TableDefinition
    if_not_exists: bool
    foreign_keys: tuple[ForeignKey, ...]
    model: TableModel
    columns: tuple[NewColumn, ...]

    def in_charset(self, charset: str | None) -> CreateTable:
        """Return the table with its schema's charset, if it names none and that is known."""
        if self.model.charset is not None or charset is None:
            return self
        columns = tuple(
            with_charset(column, charset) if column.collation == UNKNOWN_COLLATION else column
            for column in self.definition.columns
        )
        model = replace(self.model, charset=charset)
        return replace(self, definition=replace(self.definition, columns=columns), model=model)


@dataclass(frozen=True, slots=True)
class CreateTableLike:
    """A new, empty table with the definition of another (`model`; None: an unknown one)."""

    name: TableName
    model: TableName | None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterTable:
    """A table's columns or keys change and, after that, its name (`renamed`, unless None)."""

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
    """Tables are renamed, pair by pair (old, new), from left to right."""

    pairs: tuple[tuple[TableName, TableName], ...]


@dataclass(frozen=True, slots=True)
class CreateTemporary:
    """A connection creates a temporary table of this name."""

    name: TableName


@dataclass(frozen=True, slots=True)
class DropTable:
    """A table is dropped."""

    name: TableName


@dataclass(frozen=True, slots=True)
class CreateSchema:
    """A schema is created: the tables created in it later have no earlier rows."""

    schema: str
    if_not_exists: bool = False
    charset: str | None = None


@dataclass(frozen=True, slots=True)
class AlterSchema:
    """The default charset of tables created later in a schema changes."""

    schema: str
    charset: str


@dataclass(frozen=True, slots=True)
class DropSchema:
    """A schema is dropped, with every table in it."""

    schema: str


@dataclass(frozen=True, slots=True)
class RowsChanged:
    """A table's rows change without being logged; its definition stays."""

    name: TableName
    reason: str


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A table changes in a way that is not replicated; `creates`: this statement creates it.

    `left_out`: the table is not replicated, nor any table created LIKE it.
    """

    name: TableName
    reason: str
    creates: bool = False
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A statement that changes an unknown table, because its name cannot be parsed."""

    reason: str


TableEffect = (
    CreateTable
    | CreateTableLike
    | AlterTable
    | TruncateTable
    | DropTable
    | RowsChanged
    | Unsupported
)
SchemaEffect = CreateSchema | AlterSchema | DropSchema
Effect = TableEffect | SchemaEffect | RenameTables | CreateTemporary | Unreadable
