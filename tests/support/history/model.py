"""The history generator's model: features, tables, sessions.

It does not track rows: values come from small pools, so that keys recur, and every statement
succeeds whatever the tables contain.
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
"""Some are names that gold uses internally, some are keywords of ALTER TABLE."""
_BARE = ("value", "after", "comment", "first", "date", "time", "status", "visible", "engine")
"""Keywords that may be names without quotes."""

Literal = Callable[[random.Random], str]
"""Draws a value, in SQL."""


class Feature(Enum):
    """A feature of histories, besides rows of keyed tables under autocommit."""

    DEFINITIONS = auto()  # CREATE (LIKE, AS SELECT), ADD COLUMN, DROP, creation again
    TRANSACTIONS = auto()  # several statements, ROLLBACK, SAVEPOINT, implicit commits
    SESSIONS = auto()  # sql_mode, time zone, compression, tags of GTIDs
    NOISE = (
        auto()
    )  # statements that change no replicated column: users, views, indexes, comments, files
    TEMPORARY = auto()  # temporary tables, including logged ones and ones that hide a table
    XA = auto()
    KEYLESS = auto()  # tables without a key
    KEYS = auto()  # keys added, dropped and changed; UNIQUE keys in place of a primary key
    IMAGES = auto()  # binlog_row_image, binlog_row_value_options
    DEFAULTS = auto()  # inserts that omit columns
    SCHEMA_CHANGES = auto()  # ALTER TABLE in all its forms, TRUNCATE
    RENAMES = auto()  # RENAME TABLE, also of several; copies that replace a table
    UNCERTAIN = auto()  # changes whose effect on the rows is not in the log
    FOREIGN_KEYS = auto()  # ON DELETE and ON UPDATE CASCADE and SET NULL
    STATEMENTS = auto()  # binlog_format=STATEMENT


HELD: Mapping[Feature, str] = {
    Feature.UNCERTAIN: "not certain|with certainty|not in the log",
    Feature.STATEMENTS: "logged as a statement|foreign key actions",
}
"""Features that gold does not apply yet, and a pattern for the reason of a table held for one.

Other features must not hold any table: once gold applies a feature, remove its line.
"""
APPLIED = frozenset(Feature) - frozenset(HELD)
"""Features for which every table must be equal."""


@dataclass(frozen=True, slots=True)
class Step:
    """A statement of one session; from here on, each of `features` may hold each of `tables`."""

    session: str
    sql: str
    tables: tuple[str, ...] = ()
    features: frozenset[Feature] = frozenset()


def quoted(name: str) -> str:
    """Return a name in SQL, sometimes without quotes if they are optional."""
    if name in _BARE:
        return name
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Kind:
    """A column type: its SQL, values, and possible DEFAULTs."""

    sql: str
    value: Literal
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column; `default` is its DEFAULT, `generated` the expression of a generated column.

    `numbered`: AUTO_INCREMENT; `refers`: part of a foreign key, and never changed.
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
        """Return the quoted name."""
        return quoted(self.name)

    @property
    def declaration(self) -> str:
        """Return the declaration for CREATE and ALTER TABLE."""
        if self.generated is not None:
            return f"{self.sql} {self.kind.sql} {self.generated}"
        if self.numbered:
            return f"{self.sql} {self.kind.sql} NOT NULL AUTO_INCREMENT"
        null = "NULL" if self.nullable else "NOT NULL"
        default = "" if self.default is None else f" DEFAULT {self.default}"
        return f"{self.sql} {self.kind.sql} {null}{default}"


@dataclass(slots=True)
class Table:
    """A table; `owner` is the session whose open transaction holds locks in it.

    Tables of one `family`, joined by foreign keys, have one owner. `index` is how `key` is
    declared: PRIMARY, UNIQUE, or not at all (a keyless table, whose rows are still found by these
    columns).
    """

    schema: str
    name: str
    key: tuple[Column, ...]
    columns: list[Column]
    index: str = "PRIMARY"
    owner: str | None = None
    family: str = ""
    references: str = ""
    """Its foreign key, in SQL."""
    referred: bool = False
    """True if a foreign key of another table refers to its key."""
    features: set[Feature] = field(default_factory=set)
    """The features because of which it may be held from now on."""

    @property
    def keyless(self) -> bool:
        """True if the table has no key."""
        return not self.index

    @property
    def sql(self) -> str:
        """Return the quoted name."""
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    @property
    def all_columns(self) -> list[Column]:
        """Return all columns, those of the key first."""
        return [*self.key, *self.columns]

    @property
    def given(self) -> list[Column]:
        """Return the columns that statements assign values to."""
        return [column for column in self.all_columns if column.generated is None]

    @property
    def plain(self) -> list[Column]:
        """Return the assigned columns outside of the key."""
        return [column for column in self.columns if column.generated is None]

    @property
    def column_names(self) -> set[str]:
        """Return the names of all columns."""
        return {column.name for column in self.all_columns}

    @property
    def names(self) -> str:
        """Return the quoted names of the key's columns."""
        return ", ".join(column.sql for column in self.key)

    def replace(self, old: Column, new: Column) -> None:
        """Replace a column by another one, at the same place."""
        self.key = tuple(new if column == old else column for column in self.key)
        self.columns = [new if column == old else column for column in self.columns]


@dataclass(slots=True)
class Session:
    """A connection and the state of its open transaction."""

    name: str
    in_transaction: bool = False
    savepoints: list[str] = field(default_factory=list)
    xa: str | None = None
    temporary: str | None = None


@dataclass(slots=True)
class World:
    """A schema while its history is generated: its current tables, and the steps so far.

    `names` are all names a table ever had; `prepared` the XA transactions waiting for COMMIT or
    ROLLBACK, with the tables they hold locks in.
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
        """Add a step; the features of its tables determine what may hold them.

        Some statements name tables without their schema, which is the sessions' default.
        """
        if self.rng.random() < 0.3 and "DATABASE" not in sql:
            sql = sql.replace(f"{quoted(self.schema)}.", "")
        features = {feature for table in tables for feature in table.features}
        names = tuple(table.name for table in tables)
        self.steps.append(Step(session.name, sql, names, frozenset(features & set(HELD))))

    def free(self) -> list[Table]:
        """Return the tables that no transaction holds locks in."""
        return [table for table in self.tables if table.owner is None]

    def alone(self) -> list[Table]:
        """Return the free tables that have no foreign keys to or from others."""
        families = [table.family for table in self.tables]
        return [table for table in self.free() if families.count(table.family) == 1]

    def column_name(self, taken: Iterable[str]) -> str:
        """Return a column name that is not taken."""
        folded = {name.casefold() for name in taken}
        while True:
            name = self.rng.choice(COLUMN_NAMES).format(self.rng.randrange(10))
            if name.casefold() not in folded:
                return name

    def next_number(self) -> int:
        """Return a number that no name contains."""
        self.number += 1
        return self.number

    def new_name(self) -> str:
        """Return a table name that is currently unused, possibly one of a dropped table."""
        alive = {table.name for table in self.tables}
        gone = [name for name in self.names if name not in alive]
        if gone and self.rng.random() < 0.5:
            return self.rng.choice(gone)
        name = self.rng.choice(TABLE_NAMES).format(len(self.names))
        self.names.append(name)
        return name
