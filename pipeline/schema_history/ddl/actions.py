"""The actions of an ALTER TABLE on its table's columns, keys and rows.

Actions that change none of these (non-unique indexes, comments, ALGORITHM, …) are not represented:
the parser skips them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.charsets import UNKNOWN_COLLATION
from pipeline.schema_history.ddl.column_types import with_charset
from pipeline.schema_history.ddl.elements import Period
from pipeline.schema_history.ddl.foreign_key_clause import ForeignKey
from pipeline.schema_history.ddl.keys import PRIMARY, ChangeKeys, Key
from pipeline.schema_history.ddl.lexer import Kind, Token
from pipeline.schema_history.ddl.partitions import Partition, Partitioning


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that a statement declares.

    `default` are the tokens of its DEFAULT (empty: none); `explicit_null`: declared NULL. `charset`
    is the one it names, in lower case, directly or by its collation. `place` is None for the end,
    "" for FIRST, else the column before it. `computed` is the reason why existing rows do not get
    its DEFAULT (a generated column, AUTO_INCREMENT), or empty. `unique`: it is a key by itself, but
    not the primary one. `references` is the foreign key in its declaration. `expression` generates
    it; `stored`: its values are stored.
    """

    definition: ColumnDefinition
    default: tuple[Token, ...] = ()
    place: str | None = None
    computed: str = ""
    primary: bool = False
    explicit_null: bool = False
    charset: str | None = None
    unique: bool = False
    references: ForeignKey | None = None
    expression: tuple[Token, ...] = ()
    stored: bool = False

    @property
    def sources(self) -> frozenset[str]:
        """The names in its expression, case-folded."""
        names = (t for t in self.expression if t.kind in (Kind.WORD, Kind.NAME))
        return frozenset(token.text.casefold() for token in names)

    @property
    def is_generated(self) -> bool:
        """True if it is a generated column."""
        return bool(self.computed) and self.computed != "AUTO_INCREMENT"

    @property
    def key(self) -> Key | None:
        """The key that the declaration makes of the column, if any."""
        name = PRIMARY if self.primary else None
        return Key(name, (self.definition.name,), (0,)) if self.primary or self.unique else None

    def in_charset(self, charset: str | None) -> NewColumn:
        """Return the column in the table's charset, if its declaration names none."""
        if self.charset is not None or self.definition.collation != UNKNOWN_COLLATION:
            return self
        return replace(self, definition=with_charset(self.definition, charset))


@dataclass(frozen=True, slots=True)
class AddColumn:
    """ADD COLUMN; `if_not_exists` is MariaDB's."""

    column: NewColumn
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropColumn:
    """DROP COLUMN; `if_exists` is MariaDB's."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn:
    """RENAME COLUMN; `if_exists` is MariaDB's."""

    old: str
    new: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeColumn:
    """CHANGE and MODIFY COLUMN: `column` is the new, complete declaration of `old`."""

    old: str
    column: NewColumn
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeDefault:
    """ALTER COLUMN … SET and DROP DEFAULT: the new default of later inserts (empty: none)."""

    name: str
    default: tuple[Token, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AddPeriod:
    """ADD PERIOD FOR an application-time period: its two columns become NOT NULL.

    In every sql_mode the statement fails if one of them holds a NULL.
    """

    period: Period


@dataclass(frozen=True, slots=True)
class AddForeignKey:
    """ADD FOREIGN KEY; `if_not_exists` is MariaDB's."""

    key: ForeignKey
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropForeignKey:
    """DROP FOREIGN KEY; `may_be_another`: DROP CONSTRAINT, which may name another constraint.

    `if_exists` is MariaDB's.
    """

    name: str
    if_exists: bool = False
    may_be_another: bool = False


@dataclass(frozen=True, slots=True)
class SetEngine:
    """ENGINE = name, in capitals."""

    engine: str


@dataclass(frozen=True, slots=True)
class ConvertCharset:
    """CONVERT TO CHARACTER SET: converts every text column to `charset` (None: the default)."""

    charset: str | None


@dataclass(frozen=True, slots=True)
class SetCharset:
    """[DEFAULT] CHARACTER SET or COLLATE: the default of columns declared later."""

    charset: str


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """DROP PARTITION, which deletes the rows in them; `if_exists`: skip missing ones."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncatePartitions:
    """TRUNCATE PARTITION, which deletes the rows in them (None: in all)."""

    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """ADD PARTITION; `if_not_exists`: a no-op if one of these names exists."""

    partitions: tuple[Partition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ReorganizePartitions:
    """REORGANIZE PARTITION: replaces `names` by `partitions`, with the same rows."""

    names: tuple[str, ...]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Repartition:
    """PARTITION BY and REMOVE PARTITIONING; None: the rows of partitions are unknown after it."""

    partitioning: Partitioning | None


@dataclass(frozen=True, slots=True)
class RowsNotLogged:
    """The definition stays, but rows change without being logged."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An action that is not applied, and why; `left_out`: the table is no longer replicated."""

    reason: str
    left_out: bool = False


PartitionAction = (
    DropPartitions | TruncatePartitions | AddPartitions | ReorganizePartitions | Repartition
)
Action = (
    AddColumn
    | DropColumn
    | RenameColumn
    | ChangeColumn
    | ChangeDefault
    | ChangeKeys
    | AddPeriod
    | AddForeignKey
    | DropForeignKey
    | SetEngine
    | ConvertCharset
    | PartitionAction
    | RowsNotLogged
    | SetCharset
    | Refused
)
