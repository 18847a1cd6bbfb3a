"""What the generator of histories knows of the histories it makes: features, tables, sessions.

It does not know what rows there are: values come from small pools, so that keys are met again, and
statements are made so that they succeed whatever is in the tables.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

TABLE_NAMES = ("t{}", "T{}", "Table {}", "tä.ble {}", "a`b'c\"{}", "per%cent/{}")
COLUMN_NAMES = (
    *("c {}", "C{}", "Größe.{}", "back`tick{}", "per%cent'{}", 'a "quoted" {}', "日本 {}"),
    *("v{}", "p{}", "k{}9", "before", "order", "__op", "__base", "__life"),
    *("value", "after", "comment", "first", "date", "time", "status", "visible", "engine"),
)
"""Some are those of columns that gold's own work goes by, some are words of ALTER TABLE."""
_BARE = ("value", "after", "comment", "first", "date", "time", "status", "visible", "engine")
"""Words that may be names without quotes."""

Literal = Callable[[random.Random], str]
"""Draws a value, as SQL."""


class Feature(Enum):
    """What a history may hold besides rows of keyed tables and autocommit."""

    DEFINITIONS = auto()  # CREATE (LIKE, AS SELECT), ADD COLUMN, DROP, creation again
    TRANSACTIONS = auto()  # several statements, ROLLBACK, SAVEPOINT, implicit commits
    SESSIONS = auto()  # sql_mode, time zone, compression, tags of GTIDs
    NOISE = auto()  # what changes no replicated column: users, views, indexes, comments, files
    TEMPORARY = auto()  # temporary tables, also of a table's name, also logged
    XA = auto()
    BAGS = auto()  # tables without a key
    KEYS = auto()  # keys added, dropped and changed; UNIQUE ones that stand for a primary key
    IMAGES = auto()  # binlog_row_image, binlog_row_value_options
    DEFAULTS = auto()  # inserts that leave columns out
    SCHEMA_CHANGES = auto()  # ALTER TABLE in all its forms, TRUNCATE
    RENAMES = auto()  # RENAME TABLE, also of several; copies that take a table's place
    UNCERTAIN = auto()  # changes of which the log does not tell what became of the rows
    FOREIGN_KEYS = auto()  # ON DELETE and ON UPDATE CASCADE and SET NULL
    STATEMENTS = auto()  # binlog_format=STATEMENT


HELD: Mapping[Feature, str] = {
    Feature.UNCERTAIN: "not certain|not in the log",
    Feature.STATEMENTS: "logged as a statement|foreign key actions",
}
"""Features that gold does not apply (yet), and what the reason of a table held for one matches.

What is not here must not hold any table: when a feature is done, its line goes.
"""
APPLIED = frozenset(Feature) - frozenset(HELD)
"""Features after which every table must be equal."""


@dataclass(frozen=True, slots=True)
class Step:
    """One statement of one session; each of `features` may hold each of `tables` from here on."""

    session: str
    sql: str
    tables: tuple[str, ...] = ()
    features: frozenset[Feature] = frozenset()


def quoted(name: str) -> str:
    """A name as SQL, in quotes unless they may be left out."""
    if name in _BARE:
        return name
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Kind:
    """A type that columns have: its SQL, values, and a DEFAULT that they may have."""

    sql: str
    value: Literal
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `default` is its DEFAULT, `generated` the expression that its values are from.

    `numbered`: AUTO_INCREMENT; `refers`: it is of a foreign key, and stays as it is.
    """

    name: str
    kind: Kind
    nullable: bool = True
    default: str | None = None
    generated: str | None = None
    numbered: bool = False
    refers: bool = False

    @property
    def sql(self) -> str:
        """Its name, quoted."""
        return quoted(self.name)

    @property
    def declaration(self) -> str:
        """It as CREATE and ALTER TABLE declare it."""
        if self.generated is not None:
            return f"{self.sql} {self.kind.sql} {self.generated}"
        if self.numbered:
            return f"{self.sql} {self.kind.sql} NOT NULL AUTO_INCREMENT"
        null = "NULL" if self.nullable else "NOT NULL"
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f"{self.sql} {self.kind.sql} {null}{default}"


@dataclass(slots=True)
class Table:
    """A table that exists; `owner` is the session whose open transaction has locks in it.

    Tables of one `family`, joined by foreign keys, have one owner. `index` is how its `key` is
    declared: PRIMARY, UNIQUE, or not at all (a bag, whose rows are still found by these columns).
    """

    schema: str
    name: str
    key: tuple[Column, ...]
    columns: list[Column]
    index: str = "PRIMARY"
    owner: str | None = None
    family: str = ""
    references: str = ""
    """Its foreign key, as SQL."""
    referred: bool = False
    """Whether one of another table refers to its key."""
    features: set[Feature] = field(default_factory=set)
    """Those because of which it may be held from now on."""

    @property
    def bag(self) -> bool:
        """Whether it has no key."""
        return not self.index

    @property
    def sql(self) -> str:
        """Its name, quoted."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def all_columns(self) -> list[Column]:
        """Those of the key first."""
        return [*self.key, *self.columns]

    @property
    def given(self) -> list[Column]:
        """The columns that statements give values to."""
        return [column for column in self.all_columns if column.generated is None]

    @property
    def plain(self) -> list[Column]:
        """Those of them that are not of the key."""
        return [column for column in self.columns if column.generated is None]

    @property
    def column_names(self) -> set[str]:
        """Of all of them."""
        return {column.name for column in self.all_columns}

    @property
    def names(self) -> str:
        """Its key's columns, quoted."""
        return ", ".join(column.sql for column in self.key)

    def replace(self, old: Column, new: Column) -> None:
        """Put another column into a column's place."""
        self.key = tuple(new if column == old else column for column in self.key)
        self.columns = [new if column == old else column for column in self.columns]


@dataclass(slots=True)
class Session:
    """A connection: what of a transaction is open in it."""

    name: str
    in_transaction: bool = False
    savepoints: list[str] = field(default_factory=list)
    xa: str | None = None
    temporary: str | None = None


@dataclass(slots=True)
class World:
    """A schema while its history is made: what there is, and the steps so far.

    `names` are all that a table ever had; `prepared` the XA transactions that wait for their end,
    with the tables that they have locks in.
    """

    rng: random.Random
    features: frozenset[Feature]
    schema: str
    mariadb: bool
    sessions: Sequence[Session]
    steps: list[Step] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    prepared: dict[str, list[Table]] = field(default_factory=dict)
    number: int = 0

    def take(self, session: Session, sql: str, *tables: Table) -> None:
        """A step; what may be held for it is told by the tables' features.

        Names of tables are given without their schema in some: sessions have it as their default.
        """
        if self.rng.random() < 0.3 and "DATABASE" not in sql:
            sql = sql.replace(f"{quoted(self.schema)}.", "")
        features = {feature for table in tables for feature in table.features}
        names = tuple(table.name for table in tables)
        self.steps.append(Step(session.name, sql, names, frozenset(features & set(HELD))))

    def free(self) -> list[Table]:
        """The tables that no transaction has locks in."""
        return [table for table in self.tables if table.owner is None]

    def alone(self) -> list[Table]:
        """Those of them that no foreign key joins to others."""
        families = [table.family for table in self.tables]
        return [table for table in self.free() if families.count(table.family) == 1]

    def column_name(self, taken: Iterable[str]) -> str:
        """A name that no column of a table has."""
        folded = {name.casefold() for name in taken}
        while True:
            name = self.rng.choice(COLUMN_NAMES).format(self.rng.randrange(10))
            if name.casefold() not in folded:
                return name

    def next_number(self) -> int:
        """One that no name has."""
        self.number += 1
        return self.number

    def new_name(self) -> str:
        """A name that no table has now; one may have had it."""
        alive = {table.name for table in self.tables}
        gone = [name for name in self.names if name not in alive]
        if gone and self.rng.random() < 0.5:
            return self.rng.choice(gone)
        name = self.rng.choice(TABLE_NAMES).format(len(self.names))
        self.names.append(name)
        return name
