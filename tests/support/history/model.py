"""What the generator of histories knows of the histories it makes: features, tables, sessions.

It does not know what rows there are: values come from small pools, so that keys are met again, and
statements are made so that they succeed whatever is in the tables.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

Literal = Callable[[random.Random], str]
"""Draws a value, as SQL."""


class Feature(Enum):
    """What a history may hold besides rows of keyed tables and autocommit."""

    DEFINITIONS = auto()  # CREATE, CREATE LIKE, ADD COLUMN, DROP, creation again
    TRANSACTIONS = auto()  # several statements, ROLLBACK, SAVEPOINT, implicit commits
    SESSIONS = auto()  # sql_mode, time zone, compression
    NOISE = auto()  # what changes no replicated column: users, views, routines, comments
    TEMPORARY = auto()  # temporary tables, written to in transactions, MIXED sessions
    XA = auto()
    BAGS = auto()  # tables without a key
    IMAGES = auto()  # binlog_row_image, binlog_row_value_options
    SCHEMA_CHANGES = auto()  # DROP, RENAME, MODIFY COLUMN, TRUNCATE, RENAME TABLE
    FOREIGN_KEYS = auto()  # ON DELETE CASCADE
    STATEMENTS = auto()  # binlog_format=STATEMENT


HELD: Mapping[Feature, str] = {
    Feature.BAGS: "no primary key",
    Feature.IMAGES: "leave columns out",
    Feature.SCHEMA_CHANGES: "not applied yet|renamed|changed without DDL",
    Feature.FOREIGN_KEYS: "foreign key",
    Feature.STATEMENTS: "logged as a statement",
}
"""Features that gold does not apply yet, and what the reason of a table held for one matches.

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


@dataclass(frozen=True, slots=True)
class Kind:
    """A type that columns have: its SQL, values, and a DEFAULT that ADD COLUMN gives."""

    sql: str
    value: Literal
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its kind."""

    name: str
    kind: Kind
    nullable: bool = True


@dataclass(slots=True)
class Table:
    """A table that exists; `owner` is the session whose open transaction has locks in it.

    Tables of one `family`, joined by foreign keys, have one owner.
    """

    schema: str
    name: str
    key: tuple[Column, ...]
    columns: list[Column]
    owner: str | None = None
    bag: bool = False
    family: str = ""
    references: str = ""
    """Its foreign key, as SQL."""
    features: set[Feature] = field(default_factory=set)
    """Those because of which it may be held from now on."""

    @property
    def sql(self) -> str:
        """Its name, quoted."""
        return f"`{self.schema}`.`{self.name}`"

    @property
    def all_columns(self) -> list[Column]:
        """Those of the key first."""
        return [*self.key, *self.columns]


@dataclass(slots=True)
class Session:
    """A connection: what of a transaction is open in it."""

    name: str
    in_transaction: bool = False
    savepoints: list[str] = field(default_factory=list)
    xa: str | None = None
    temporary: str | None = None


def pool(*values: str) -> Literal:
    """One of these values."""
    return lambda rng: rng.choice(values)


def _text(rng: random.Random) -> str:
    words = ("'pear'", "'Pear'", "'grün'", "'日本'", "'😀'", "'o''neil'", "''", "REPEAT('x', 300)")
    return rng.choice(words)


def _document(rng: random.Random) -> str:
    n = rng.randrange(1000)
    documents = (
        f'\'{{"n": {n}, "tags": ["a", null], "deep": {{"x": {n / 8}}}}}\'',
        f"'[{n}, {{}}, \"\"]'",
        "'null'",
        f"'{n}'",
    )
    return rng.choice(documents)


KEY_KINDS: tuple[Kind, ...] = (
    Kind("INT NOT NULL", lambda rng: str(rng.randrange(-5, 25))),
    Kind(
        "BIGINT UNSIGNED NOT NULL",
        lambda rng: str(rng.choice((rng.randrange(20), 2**64 - 1 - rng.randrange(4)))),
    ),
    Kind(
        "VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL",
        pool("'a'", "'A'", "'a '", "'ä'", "'日本'", "'😀'", "''", "'b'", "'c'"),
    ),
    Kind(
        "VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL",
        pool("'a'", "'A'", "'ä'", "'b'", "'B'", "'c'", "'D'", "'e'", "'long key'"),
    ),
    Kind("DECIMAL(20,5) NOT NULL", lambda rng: f"{rng.randrange(-9, 9)}.{rng.randrange(3)}0001"),
    Kind("BINARY(4) NOT NULL", lambda rng: f"X'{rng.randrange(12):02x}{rng.choice(('', '00ff'))}'"),
    Kind(
        "DATETIME(6) NOT NULL",
        lambda rng: f"'2026-03-{rng.randrange(1, 15):02d} 02:30:00.00000{rng.randrange(2)}'",
    ),
    Kind("ENUM('x','y','z','ü') NOT NULL", pool("'x'", "'y'", "'z'", "'ü'")),
    Kind("SMALLINT NOT NULL", lambda rng: str(rng.randrange(12))),
)

KINDS: tuple[Kind, ...] = (
    Kind("INT", lambda rng: str(rng.randrange(-(2**31), 2**31)), "-7"),
    Kind("TINYINT UNSIGNED", lambda rng: str(rng.randrange(256)), "200"),
    Kind("BIGINT", lambda rng: str(rng.randrange(-(2**63), 2**63))),
    Kind("VARCHAR(400) CHARACTER SET utf8mb4", _text, "'dé''fault'"),
    Kind("TEXT CHARACTER SET latin1", pool("'fünf €'", "''", "REPEAT('y', 200)")),
    Kind("DECIMAL(30,10)", lambda rng: f"{rng.randrange(-(10**19), 10**19)}.5", "1.5"),
    Kind("DOUBLE", pool("0", "-1.5e300", "0.1", "5e-324"), "0.25"),
    Kind("FLOAT", pool("0.1", "-3.5", "16777216")),
    Kind("DATE", pool("'1000-01-01'", "'9999-12-31'", "'2024-02-29'"), "'2000-01-01'"),
    Kind("DATETIME(3)", pool("'1000-01-01 00:00:00.001'", "'2026-07-01 12:34:56.789'")),
    Kind("TIMESTAMP(6) NULL", pool("'1999-01-01 00:00:01.000001'", "'2037-06-01 03:14:07'")),
    Kind("TIME(2)", pool("'-838:59:59'", "'838:59:59'", "'-00:00:00.01'", "'12:00'"), "'01:02:03'"),
    Kind("JSON", _document),
    Kind("VARBINARY(64)", lambda rng: f"X'{rng.randbytes(rng.randrange(1, 20)).hex()}'"),
    Kind("BIT(12)", lambda rng: f"b'{rng.randrange(4096):b}'"),
    Kind("SET('a','b','c')", pool("''", "'a'", "'a,c'", "'a,b,c'"), "'a,b'"),
    Kind("ENUM('one','two','ö')", pool("'one'", "'two'", "'ö'"), "'two'"),
    Kind("YEAR", pool("1901", "2155", "0")),
)
