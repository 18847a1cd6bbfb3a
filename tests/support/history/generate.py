"""Random histories of one schema: the steps that sessions take, from a seed.

The steps of several sessions are mixed as a server could mix them without one waiting for another:
a table that an open transaction has changed belongs to its session until that ends.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.support.history import sessions, statements
from tests.support.history.model import (
    APPLIED,
    HELD,
    KEY_KINDS,
    KINDS,
    Column,
    Feature,
    Session,
    Step,
    Table,
)

SESSIONS = 3
TABLES = 2
"""That a history begins with."""
MOST_TABLES = 4


def generate(
    seed: int,
    features: frozenset[Feature] = APPLIED,
    *,
    schema: str = "h1",
    length: int = 60,
    mariadb: bool = False,
) -> list[Step]:
    """One history: about `length` decisions, then every transaction is ended."""
    return _Generator(random.Random(seed), features, schema, mariadb=mariadb).history(length)


def mixed(histories: Sequence[Sequence[Step]], seed: int) -> list[Step]:
    """Several histories, each in its order, the steps of all of them mixed."""
    rng = random.Random(seed)
    left = [list(reversed(history)) for history in histories]
    result = []
    while left := [history for history in left if history]:
        history = rng.choice(left)
        result += [history.pop() for _ in range(min(len(history), rng.randrange(1, 6)))]
    return result


class _Generator:
    def __init__(
        self, rng: random.Random, features: frozenset[Feature], schema: str, *, mariadb: bool
    ) -> None:
        self.rng = rng
        self.features = features
        self.schema = schema
        self.mariadb = mariadb
        self.steps: list[Step] = []
        self.tables: list[Table] = []
        self.names: list[str] = []
        """Every name that a table ever had."""
        self.prepared: dict[str, list[Table]] = {}
        """XA transactions that wait for their end, with the tables that they have locks in."""
        self.sessions = [Session(f"{schema}/{n}") for n in range(SESSIONS)]
        self.number = 0
        self.images = False
        """Whether any session may log images that are not complete."""

    def history(self, length: int) -> list[Step]:
        first = self.sessions[0]
        self._step(first, f"CREATE DATABASE `{self.schema}` CHARACTER SET utf8mb4")
        for _ in range(TABLES):
            self._create(first)
        for _ in range(length):
            self._decide(self.rng.choice(self.sessions))
        for session in self.sessions:
            self._end(session)
        for xa in list(self.prepared):
            self._end_prepared(first, xa)
        return self.steps

    def _decide(self, session: Session) -> None:
        """One thing that a session may do now."""
        if session.xa is not None:
            choices = self._inside_xa()
        elif session.in_transaction:
            choices = self._inside()
        else:
            choices = self._outside()
        actions, weights = zip(*choices, strict=True)
        (action,) = self.rng.choices(actions, weights)
        action(session)

    # --- what may be done -------------------------------------------------------------------------

    def _outside(self) -> list[tuple[Callable[[Session], None], int]]:
        of_features = {
            Feature.TRANSACTIONS: [(self._begin, 8)],
            Feature.DEFINITIONS: [(self._definition, 3)],
            Feature.SESSIONS: [(self._setting, 3)],
            Feature.IMAGES: [(self._setting, 2)],
            Feature.NOISE: [(self._noise, 1)],
            Feature.TEMPORARY: [(self._temporary, 1)],
            Feature.XA: [(self._xa_start, 4), (self._xa_end_one, 3)],
            Feature.SCHEMA_CHANGES: [(self._schema_change, 1)],
            Feature.STATEMENTS: [(self._statement_format, 1)],
        }
        found: list[tuple[Callable[[Session], None], int]] = [(self._rows, 8)]
        for feature, choices in of_features.items():
            found += choices if feature in self.features else []
        return found

    def _inside(self) -> list[tuple[Callable[[Session], None], int]]:
        found: list[tuple[Callable[[Session], None], int]] = [
            *((self._rows, 12), (self._savepoint, 3), (self._rollback_to, 2)),
            *((self._commit, 4), (self._rollback, 1)),
        ]
        if Feature.DEFINITIONS in self.features:
            found.append((self._implicit_commit, 1))
        return found

    def _inside_xa(self) -> list[tuple[Callable[[Session], None], int]]:
        return [(self._rows, 10), (self._xa_prepare, 4), (self._xa_one_phase, 2)]

    # --- rows and transactions --------------------------------------------------------------------

    def _rows(self, session: Session) -> None:
        free = [table for table in self.tables if table.owner in (None, session.name)]
        if not free:
            return
        table = self.rng.choice(free)
        if session.in_transaction or session.xa:
            for relative in self.tables:
                if relative.family == table.family:
                    relative.owner = session.name
        for sql in statements.rows(self.rng, table):
            self._step(session, sql, table)

    def _begin(self, session: Session) -> None:
        session.in_transaction = True
        self._step(session, "BEGIN")

    def _commit(self, session: Session) -> None:
        self._step(session, "COMMIT")
        self._ended(session)

    def _rollback(self, session: Session) -> None:
        self._step(session, "ROLLBACK")
        self._ended(session)

    def _implicit_commit(self, session: Session) -> None:
        self._ended(session)
        self._definition(session)

    def _savepoint(self, session: Session) -> None:
        name = self.rng.choice(("a", "B", "save `point`"))
        session.savepoints = [s for s in session.savepoints if s.lower() != name.lower()] + [name]
        self._step(session, f"SAVEPOINT {_quoted(name)}")
        if session.temporary and self.rng.random() < 0.5:
            self._step(session, f"INSERT INTO {session.temporary} VALUES (1)")

    def _rollback_to(self, session: Session) -> None:
        if not session.savepoints:
            return
        at = self.rng.randrange(len(session.savepoints))
        self._step(session, f"ROLLBACK TO {_quoted(session.savepoints[at])}")
        del session.savepoints[at + 1 :]

    def _ended(self, session: Session) -> None:
        session.in_transaction, session.savepoints, session.xa = False, [], None
        for table in self.tables:
            if table.owner == session.name:
                table.owner = None

    def _end(self, session: Session) -> None:
        if session.xa:
            self._xa_one_phase(session)
        elif session.in_transaction:
            self._commit(session)

    # --- XA ---------------------------------------------------------------------------------------

    def _xa_start(self, session: Session) -> None:
        if session.temporary is not None or (self.mariadb and session.name in self.prepared):
            return
        # An id comes back once its transaction is done: in the log it is not unique.
        free = [f"'{self.schema}',X'{n:02x}',{n}" for n in range(4)]
        free = [f"'{session.name}'"] if self.mariadb else free
        taken = {*self.prepared, *(other.xa for other in self.sessions)}
        if names := [name for name in free if name not in taken]:
            session.xa = self.rng.choice(names)
            self._step(session, f"XA START {session.xa}")

    def _xa_prepare(self, session: Session) -> None:
        assert session.xa is not None
        for verb in ("END", "PREPARE"):
            self._step(session, f"XA {verb} {session.xa}")
        owned = [table for table in self.tables if table.owner == session.name]
        self.prepared[session.xa] = owned
        xa = session.xa
        self._ended(session)
        for table in owned:
            table.owner = xa
        if self.mariadb:  # its session can do nothing else before it
            self._end_prepared(session, xa)

    def _xa_one_phase(self, session: Session) -> None:
        self._step(session, f"XA END {session.xa}")
        ways = ("COMMIT {} ONE PHASE", "COMMIT {} ONE PHASE", "ROLLBACK {}")
        self._step(session, "XA " + self.rng.choice(ways).format(session.xa))
        self._ended(session)

    def _xa_end_one(self, session: Session) -> None:
        if self.prepared:
            self._end_prepared(session, self.rng.choice(list(self.prepared)))

    def _end_prepared(self, session: Session, xa: str) -> None:
        verb = self.rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
        owned = self.prepared.pop(xa)
        self._step(session, f"XA {verb} {xa}", *owned)
        for table in owned:
            table.owner = None

    # --- definitions ------------------------------------------------------------------------------

    def _definition(self, session: Session) -> None:
        free = [table for table in self.tables if table.owner is None]
        kinds = ["create", *(3 * ["add"] + ["drop", "like"] if free else [])]
        kind = self.rng.choice(kinds)
        if kind == "create" or not free:
            self._create(session)
            return
        table = self.rng.choice(free)
        if kind == "add":
            self.number += 1
            self._step(session, statements.add_column(self.rng, table, self.number), table)
        elif kind == "drop" and len(self.tables) > 1 and not self._has_relatives(table):
            self._step(session, f"DROP TABLE {table.sql}", table)
            self.tables.remove(table)
        elif kind == "like" and len(self.tables) < MOST_TABLES:
            self._like(session, table)

    def _create(self, session: Session) -> None:
        """A new table, or one under the name of a table that was dropped."""
        if len(self.tables) >= MOST_TABLES:
            return
        rng = self.rng
        if Feature.FOREIGN_KEYS in self.features and rng.random() < 0.4 and self._child(session):
            return
        bag = Feature.BAGS in self.features and rng.random() < 0.5
        key = rng.sample(KEY_KINDS, rng.choice((1, 1, 2)))
        table = Table(
            self.schema,
            self._name(),
            tuple(Column(f"k{n}", kind, nullable=False) for n, kind in enumerate(key)),
            self._columns(),
            bag=bag,
            features={Feature.BAGS} if bag else set(),
        )
        table.family = table.name
        self.tables.append(table)
        self._step(session, statements.create(table), table)

    def _columns(self) -> list[Column]:
        kinds = self.rng.sample(KINDS, self.rng.choice((1, 4)))
        return [Column(f"c {n}", kind) for n, kind in enumerate(kinds)]

    def _child(self, session: Session) -> bool:
        """A new table with a foreign key to one that is there, if one can be."""
        free = [table for table in self.tables if table.owner is None and not table.bag]
        if not free:
            return False
        parent = self.rng.choice([table for table in free if len(table.key) == 1] or free)
        table = statements.child(parent, self._name(), self._columns())
        table.features = {Feature.FOREIGN_KEYS}
        self.tables.append(table)
        self._step(session, statements.create(table), table)
        return True

    def _has_relatives(self, table: Table) -> bool:
        return sum(other.family == table.family for other in self.tables) > 1

    def _like(self, session: Session, model: Table) -> None:
        table = Table(
            *(self.schema, self._name(), model.key, list(model.columns)),
            bag=model.bag,
            features=set(model.features),
        )
        table.family = table.name
        self._step(session, f"CREATE TABLE {table.sql} LIKE {model.sql}", table)
        self.tables.append(table)

    def _name(self) -> str:
        alive = {table.name for table in self.tables}
        dropped = [name for name in self.names if name not in alive]
        if dropped and self.rng.random() < 0.5:
            return self.rng.choice(dropped)
        name = self.rng.choice(("t{}", "Table {}", "tä.ble {}")).format(len(self.names))
        self.names.append(name)
        return name

    def _schema_change(self, session: Session) -> None:
        free = [table for table in self.tables if table.owner is None]
        free = [t for t in free if len(t.columns) > 1 and not self._has_relatives(t)]
        if not free:
            return
        table = self.rng.choice(free)
        column = self.rng.choice(table.columns)
        table.features.add(Feature.SCHEMA_CHANGES)
        kind = self.rng.choice(("drop", "rename", "truncate"))
        if kind == "truncate":
            self._step(session, f"TRUNCATE TABLE {table.sql}", table)
            return
        place = table.columns.index(column)
        if kind == "drop":
            self._step(session, f"ALTER TABLE {table.sql} DROP COLUMN `{column.name}`", table)
            del table.columns[place]
            return
        self.number += 1
        new = Column(f"renamed {self.number}", column.kind, column.nullable)
        sql = f"ALTER TABLE {table.sql} RENAME COLUMN `{column.name}` TO `{new.name}`"
        self._step(session, sql, table)
        table.columns[place] = new

    # --- sessions ---------------------------------------------------------------------------------

    def _setting(self, session: Session) -> None:
        sql = sessions.setting(self.rng, self.features, mariadb=self.mariadb)
        self._step(session, sql)
        if "binlog_row_" in sql:
            self.images = True

    def _noise(self, session: Session) -> None:
        free = [table for table in self.tables if table.owner is None]
        table = self.rng.choice(free).sql if free else None
        self.number += 1
        for sql in sessions.noise(self.rng, self.schema, table, self.number):
            self._step(session, sql)

    def _temporary(self, session: Session) -> None:
        if session.temporary is None:
            session.temporary = f"`{self.schema}`.`temporary {session.name[-1]}`"
            self._step(session, f"CREATE TEMPORARY TABLE {session.temporary} (n INT)")
        else:
            self._step(session, f"DROP TEMPORARY TABLE {session.temporary}")
            session.temporary = None

    def _statement_format(self, session: Session) -> None:
        free = [table for table in self.tables if table.owner is None]
        if not free:
            return
        table = self.rng.choice(free)
        relatives = [other for other in self.tables if other.family == table.family]
        for relative in relatives:
            relative.features.add(Feature.STATEMENTS)
        self._step(session, "SET SESSION binlog_format = STATEMENT")
        key = statements.where(table, statements.key_values(self.rng, table))
        self._step(session, f"DELETE FROM {table.sql} WHERE {key}", *relatives)
        self._step(session, "SET SESSION binlog_format = ROW")

    def _step(self, session: Session, sql: str, *tables: Table) -> None:
        """Take a step; what may be held for it is told by the tables' features."""
        held = {feature for table in tables for feature in table.features}
        if self.images:
            held.add(Feature.IMAGES)
        names = tuple(table.name for table in tables)
        self.steps.append(Step(session.name, sql, names, frozenset(held & set(HELD))))


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
