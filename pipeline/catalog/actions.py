"""What one ALTER TABLE does to its table's columns and keys: the actions that a statement names.

Actions that change no column, key or row (indexes that are not unique, comments, ALGORITHM, …) are
not here: the reader passes them over.
"""

from __future__ import annotations

from dataclasses import dataclass

from decoder.definition import ColumnDefinition
from pipeline.catalog.keys import Key
from pipeline.catalog.lexer import Kind, Token
from pipeline.catalog.partitions import Partition, Partitioning


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that a statement declares.

    `default` is its DEFAULT as tokens (empty: none); `says_null`: it says that it may be NULL.
    `charset` is the one that it names, in lower case, itself or by its collation. `place` is None
    for the end, "" for FIRST, else the column that it stands after. `computed` tells why its values
    in existing rows are not its DEFAULT (a generated column, AUTO_INCREMENT), or is empty.
    `unique`: it is a key by itself, but not the primary one. `expression` is what it is generated
    by, `stored` tells whether its values are kept.
    """

    definition: ColumnDefinition
    default: tuple[Token, ...] = ()
    place: str | None = None
    computed: str = ""
    primary: bool = False
    says_null: bool = False
    charset: str | None = None
    unique: bool = False
    expression: tuple[Token, ...] = ()
    stored: bool = False

    @property
    def sources(self) -> frozenset[str]:
        """The names in its expression, without regard to case."""
        names = (t for t in self.expression if t.kind in (Kind.WORD, Kind.NAME))
        return frozenset(token.text.casefold() for token in names)


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
    """CHANGE and MODIFY COLUMN: `old` is declared anew, completely, as `column`."""

    old: str
    column: NewColumn
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeDefault:
    """ALTER COLUMN … SET and DROP DEFAULT: what inserts give the column (empty: no DEFAULT)."""

    name: str
    default: tuple[Token, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ChangeKeys:
    """The primary key or a unique one may be another: the next table map tells, if it has keys.

    One key is `added`, or one that may be of this name is `dropped` or (old name, new name)
    `renamed`; with nothing of these, what became of the keys is not known.
    """

    added: Key | None = None
    dropped: str | None = None
    renamed: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ConvertCharset:
    """CONVERT TO CHARACTER SET: every column of text is in `charset` (None: the default) then."""

    charset: str | None


@dataclass(frozen=True, slots=True)
class SetCharset:
    """[DEFAULT] CHARACTER SET or COLLATE: columns that are declared from here on have it."""

    charset: str


@dataclass(frozen=True, slots=True)
class DropPartitions:
    """DROP PARTITION: the rows in them go; `if_exists`: of those that there are."""

    names: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class TruncatePartitions:
    """TRUNCATE PARTITION: the rows in them go (None: in all)."""

    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class AddPartitions:
    """ADD PARTITION; `if_not_exists`: nothing, where there is one of these names."""

    partitions: tuple[Partition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class ReorganizePartitions:
    """REORGANIZE PARTITION: other partitions for the same rows."""

    names: tuple[str, ...]
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Repartition:
    """PARTITION BY and REMOVE PARTITIONING; None: what is where is not told from here on."""

    partitioning: Partitioning | None


@dataclass(frozen=True, slots=True)
class RowsNotLogged:
    """The table stays what it is, but its rows become others, which the log does not tell."""

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """An action that is not applied, and why; `left_out`: such a table is none to replicate."""

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
    | ConvertCharset
    | PartitionAction
    | RowsNotLogged
    | SetCharset
    | Refused
)
