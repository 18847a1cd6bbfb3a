"""How transactions begin and end, and the rows in them.

The steps of several sessions interleave as on a server where no session waits for another: a table
changed in an open transaction belongs to its session until the transaction ends.
"""

from __future__ import annotations

from tests.support.history import sessions, statements
from tests.support.history.model import Feature, Session, Table, World, quoted


def rows(world: World, session: Session) -> None:
    """Change rows of one table, or of one from another."""
    mine = [table for table in world.tables if table.owner in (None, session.name)]
    if not mine:
        return
    table = world.rng.choice(mine)
    if Feature.IMAGES in world.features and world.rng.random() < 0.2:
        world.take(session, sessions.image(world.rng))
    twins = [t for t in mine if t is not table and _alike(t, table)]
    if twins and world.rng.random() < 0.3:
        twin = world.rng.choice(twins)
        _own(world, session, twin)
        changes = [_copied(world, table, twin)]
    else:
        changes = statements.rows(world.rng, table)
    _own(world, session, table)
    for sql in changes:
        world.take(session, sql, table)


def _own(world: World, session: Session, table: Table) -> None:
    if session.in_transaction or session.xa:
        for relative in world.tables:
            if relative.family == table.family:
                relative.owner = session.name


def _alike(one: Table, other: Table) -> bool:
    """True if rows of one table fit into the other."""
    return [(c.name, c.kind.sql) for c in one.given] == [(c.name, c.kind.sql) for c in other.given]


def _copied(world: World, table: Table, source: Table) -> str:
    """Copy rows from one table to another, or update or delete rows by a join."""
    names = ", ".join(column.sql for column in table.given)
    joined = " AND ".join(f"a.{column.sql} = b.{column.sql}" for column in table.key)
    texts = [
        f"INSERT IGNORE INTO {table.sql} ({names}) SELECT {names} FROM {source.sql}",
        f"REPLACE INTO {table.sql} ({names}) SELECT {names} FROM {source.sql}",
        f"DELETE a FROM {table.sql} a JOIN {source.sql} b ON {joined}",
    ]
    if table.plain:
        column = table.plain[0].sql
        set_column = f"a.{column} = IFNULL(b.{column}, a.{column})"
        texts.append(f"UPDATE {table.sql} a JOIN {source.sql} b ON {joined} SET {set_column}")
    return world.rng.choice(texts)


def begin(world: World, session: Session) -> None:
    """BEGIN."""
    session.in_transaction = True
    world.take(session, "BEGIN")


def commit(world: World, session: Session) -> None:
    """COMMIT."""
    world.take(session, "COMMIT")
    ended(world, session)


def rollback(world: World, session: Session) -> None:
    """ROLLBACK."""
    world.take(session, "ROLLBACK")
    ended(world, session)


def savepoint(world: World, session: Session) -> None:
    """SAVEPOINT, perhaps reusing a name."""
    name = world.rng.choice(("a", "B", "save `point`"))
    session.savepoints = [s for s in session.savepoints if s.lower() != name.lower()] + [name]
    world.take(session, f"SAVEPOINT {quoted(name)}")
    if session.temporary and world.rng.random() < 0.5:
        world.take(session, f"INSERT INTO {session.temporary} VALUES (1)")


def rollback_to(world: World, session: Session) -> None:
    """ROLLBACK TO or RELEASE of an existing savepoint."""
    if not session.savepoints:
        return
    at = world.rng.randrange(len(session.savepoints))
    released = world.rng.random() < 0.15
    verb = "RELEASE SAVEPOINT" if released else "ROLLBACK TO"
    world.take(session, f"{verb} {quoted(session.savepoints[at])}")
    del session.savepoints[at if released else at + 1 :]


def ended(world: World, session: Session) -> None:
    """Clear the session's transaction."""
    session.in_transaction, session.savepoints, session.xa = False, [], None
    for table in world.tables:
        if table.owner == session.name:
            table.owner = None


def end(world: World, session: Session) -> None:
    """End the session's open transaction, if any."""
    if session.xa:
        xa_one_phase(world, session)
    elif session.in_transaction:
        commit(world, session)


def xa_start(world: World, session: Session) -> None:
    """XA START."""
    if session.temporary is not None or (world.mariadb and session.name in world.prepared):
        return
    # An id is reused once its transaction has ended: it is not unique in the log.
    free = [f"'{world.schema}',X'{n:02x}',{n}" for n in range(4)]
    free = [f"'{session.name}'"] if world.mariadb else free
    taken = {*world.prepared, *(other.xa for other in world.sessions)}
    if names := [name for name in free if name not in taken]:
        session.xa = world.rng.choice(names)
        world.take(session, f"XA START {session.xa}")


def xa_prepare(world: World, session: Session) -> None:
    """XA END and XA PREPARE; any session may then end the transaction."""
    xa = session.xa
    assert xa is not None
    for verb in ("END", "PREPARE"):
        world.take(session, f"XA {verb} {xa}")
    owned = [table for table in world.tables if table.owner == session.name]
    world.prepared[xa] = owned
    ended(world, session)
    for table in owned:
        table.owner = xa
    if world.mariadb:  # the session must do this first
        _end_prepared(world, session, xa)


def xa_one_phase(world: World, session: Session) -> None:
    """XA COMMIT … ONE PHASE, or XA ROLLBACK without XA PREPARE."""
    world.take(session, f"XA END {session.xa}")
    ways = ("COMMIT {} ONE PHASE", "COMMIT {} ONE PHASE", "ROLLBACK {}")
    world.take(session, "XA " + world.rng.choice(ways).format(session.xa))
    ended(world, session)


def xa_end_one(world: World, session: Session) -> None:
    """XA COMMIT or ROLLBACK of any prepared transaction."""
    if world.prepared:
        _end_prepared(world, session, world.rng.choice(list(world.prepared)))


def xa_end_all(world: World, session: Session) -> None:
    """XA COMMIT or ROLLBACK of all prepared transactions."""
    while world.prepared:
        xa_end_one(world, session)


def _end_prepared(world: World, session: Session, xa: str) -> None:
    verb = world.rng.choice(("COMMIT", "COMMIT", "ROLLBACK"))
    owned = world.prepared.pop(xa)
    world.take(session, f"XA {verb} {xa}", *owned)
    for table in owned:
        table.owner = None
