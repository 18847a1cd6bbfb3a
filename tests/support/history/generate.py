"""Random histories of one schema: the steps of several sessions, reproducible from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.support.history import alterations, definitions, sessions, transactions
from tests.support.history.model import APPLIED, Feature, Session, Step, World

SESSIONS = 3
TABLES = 2
"""Number of tables that a history begins with."""

_Decision = Callable[[World, Session], None]
_Choices = tuple[tuple["Feature | None", _Decision, int], ...]
"""(required feature, decision, weight)."""

_DEFINITIONS: _Choices = (
    (Feature.DEFINITIONS, definitions.create, 2),
    (Feature.DEFINITIONS, alterations.add_columns, 3),
    (Feature.DEFINITIONS, definitions.drop, 1),
    (Feature.DEFINITIONS, definitions.like, 1),
    (Feature.DEFINITIONS, definitions.as_select, 1),
    (Feature.SCHEMA_CHANGES, alterations.alter_any, 8),
    (Feature.SCHEMA_CHANGES, alterations.truncate, 1),
    (Feature.RENAMES, definitions.rename, 2),
    (Feature.RENAMES, definitions.rebuild, 1),
    (Feature.KEYS, alterations.rekey, 2),
    (Feature.KEYS, alterations.widen_key, 1),
    (Feature.UNCERTAIN, alterations.uncertain, 1),
)


def _definition(world: World, session: Session) -> None:
    _decide(world, session, _DEFINITIONS)


def _implicit_commit(world: World, session: Session) -> None:
    """Run DDL within a transaction, which commits it implicitly."""
    transactions.ended(world, session)
    world.take(session, f"DROP TABLE IF EXISTS `{world.schema}`.`nor there`")
    _definition(world, session)


_OUTSIDE: _Choices = (
    (None, transactions.rows, 24),
    (Feature.TRANSACTIONS, transactions.begin, 20),
    (Feature.DEFINITIONS, _definition, 16),
    (Feature.DEFINITIONS, definitions.drop_schema, 1),
    (Feature.SESSIONS, sessions.setting, 8),
    (Feature.IMAGES, sessions.setting, 8),
    (Feature.NOISE, sessions.noise, 3),
    (Feature.TEMPORARY, sessions.temporary, 3),
    (Feature.XA, transactions.xa_start, 10),
    (Feature.XA, transactions.xa_end_one, 8),
    (Feature.STATEMENTS, sessions.statement_format, 2),
)
_INSIDE: _Choices = (
    (None, transactions.rows, 12),
    (None, transactions.savepoint, 3),
    (None, transactions.rollback_to, 2),
    (None, transactions.commit, 4),
    (None, transactions.rollback, 1),
    (Feature.DEFINITIONS, _implicit_commit, 1),
)
_INSIDE_XA: _Choices = (
    (None, transactions.rows, 10),
    (None, transactions.xa_prepare, 4),
    (None, transactions.xa_one_phase, 2),
)


def generate(
    seed: int,
    features: frozenset[Feature] = APPLIED,
    *,
    schema: str = "h1",
    length: int = 60,
    mariadb: bool = False,
) -> list[Step]:
    """Return one history of about `length` decisions; every transaction is ended."""
    users = [Session(f"{schema}/{n}") for n in range(SESSIONS)]
    world = World(random.Random(seed), features, schema, mariadb, users)
    first = users[0]
    world.take(first, sessions.create_schema(schema))
    for session in users:
        world.take(session, f"USE `{schema}`")
    for _ in range(TABLES):
        definitions.create(world, first)
    for _ in range(length):
        session = world.rng.choice(users)
        _decide(world, session, _possible(session))
    for session in users:
        transactions.end(world, session)
    transactions.xa_end_all(world, first)
    return world.steps


def _possible(session: Session) -> _Choices:
    if session.xa is not None:
        return _INSIDE_XA
    return _INSIDE if session.in_transaction else _OUTSIDE


def _decide(world: World, session: Session, choices: _Choices) -> None:
    """Take one decision that the features allow."""
    allowed = [
        (decision, weight)
        for feature, decision, weight in choices
        if feature is None or feature in world.features
    ]
    decisions, weights = zip(*allowed, strict=True)
    (decision,) = world.rng.choices(decisions, weights)
    decision(world, session)


def mixed(histories: Sequence[Sequence[Step]], seed: int) -> list[Step]:
    """Interleave the steps of several histories, each in its own order."""
    rng = random.Random(seed)
    left = [list(reversed(history)) for history in histories]
    result = []
    while left := [history for history in left if history]:
        history = rng.choice(left)
        result += [history.pop() for _ in range(min(len(history), rng.randrange(1, 6)))]
    return result
