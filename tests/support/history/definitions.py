"""Tables that are created, dropped and swapped."""

from __future__ import annotations

from dataclasses import replace

from tests.support.history import alterations, sessions
from tests.support.history.kinds import KEY_KINDS, KINDS
from tests.support.history.model import Column, Feature, Kind, Session, Table, World, quoted

MOST_TABLES = 5


def create(world: World, session: Session) -> None:
    """Create a table, possibly under the name of a dropped one."""
    if len(world.tables) >= MOST_TABLES:
        return
    rng = world.rng
    if Feature.FOREIGN_KEYS in world.features and rng.random() < 0.4 and _child(world, session):
        return
    index = "PRIMARY"
    if Feature.KEYLESS in world.features and rng.random() < 0.3:
        index = ""
    elif Feature.KEYS in world.features and rng.random() < 0.3:
        index = "UNIQUE"
    kinds = rng.sample(KEY_KINDS, rng.choice((1, 1, 2, 3)))
    key = tuple(
        Column(f"k{n}", kind, nullable=False, default=_default(world, kind))
        for n, kind in enumerate(kinds)
    )
    if index and kinds[0].sql in ("INT", "SMALLINT", "BIGINT UNSIGNED") and rng.random() < 0.4:
        key = (Column("k0", kinds[0], nullable=False, numbered=True),)
    table = Table(world.schema, world.new_name(), key, _columns(world), index)
    _begin(world, session, table, declared(table))


def declared(table: Table) -> str:
    """Return the table's CREATE TABLE."""
    parts = [column.declaration for column in table.all_columns]
    if table.index:
        parts.append(f"{alterations.key_clause(table)} ({table.names})")
        small = [c.sql for c in table.plain if c.nullable and c.kind.sql == "TINYINT UNSIGNED"]
        parts += [f"UNIQUE KEY `second` ({name})" for name in small[:1]]
    parts += [table.references] if table.references else []
    return f"CREATE TABLE {table.sql} ({', '.join(parts)})"


def _begin(world: World, session: Session, table: Table, sql: str) -> None:
    table.family = table.family or table.name
    # MariaDB logs a REPLACE as an update, without the columns that it omits.
    if Feature.DEFAULTS in world.features and not world.mariadb:
        table.features.add(Feature.DEFAULTS)
    world.tables.append(table)
    world.take(session, sql, table)


def _default(world: World, kind: Kind) -> str | None:
    return kind.default if world.rng.random() < 0.3 else None


def _columns(world: World) -> list[Column]:
    rng = world.rng
    columns: list[Column] = []
    for kind in rng.sample(KINDS, rng.choice((1, 4, 6))):
        name = world.column_name(column.name for column in columns)
        nullable = rng.random() < 0.8
        columns.append(Column(name, kind, nullable, _default(world, kind)))
    if Feature.SCHEMA_CHANGES in world.features and rng.random() < 0.15:
        kind = Kind("VARCHAR(80) CHARACTER SET utf8mb4", lambda rng: "''")
        stored = rng.choice(("STORED", "VIRTUAL"))
        expression = f"GENERATED ALWAYS AS (CONCAT('<', HEX({columns[0].sql}), '>')) {stored}"
        if columns[0].kind.sql in ("INT", "YEAR", "TINYINT UNSIGNED", "MEDIUMINT UNSIGNED"):
            columns.append(Column("computed", kind, generated=expression))
    return columns


def _child(world: World, session: Session) -> bool:
    """Create a table with a cascading foreign key to a suitable parent, if one exists.

    Its key begins with the parent's, or it has separate columns for the foreign key, or it is its
    own parent. No text columns: which row refers to which would depend on collations.
    """
    rng = world.rng
    free = [t for t in world.free() if t.index == "PRIMARY" and not any(map(_is_text, t.key))]
    if free and rng.random() < 0.4:
        parent = rng.choice([table for table in free if len(table.key) == 1] or free)
        child = Column(f"child {len(parent.key)}", KEY_KINDS[-1], nullable=False)
        key = tuple(replace(column, numbered=False) for column in parent.key)
        table = Table(world.schema, world.new_name(), (*key, child), _columns(world))
        names, actions = parent.names, ["CASCADE"]
    else:
        keyless = free and Feature.KEYLESS in world.features and rng.random() < 0.2
        index = "" if keyless else "PRIMARY"
        kind = rng.choice([kind for kind in KEY_KINDS if not _is_text(Column("", kind))])
        own = (Column("k0", kind, nullable=False),)
        table = Table(world.schema, world.new_name(), own, _columns(world), index)
        parent = rng.choice([*free, *([] if keyless else [table])])
        up = [Column(f"up{n}", c.kind, refers=True) for n, c in enumerate(parent.key)]
        table.columns += up
        names, actions = ", ".join(column.sql for column in up), ["CASCADE", "SET NULL"]
    parent.referred = True
    table.family = parent.family
    table.references = (
        f"FOREIGN KEY ({names}) REFERENCES {parent.sql} ({parent.names})"
        f" ON DELETE {rng.choice(actions)} ON UPDATE {rng.choice((*actions, 'NO ACTION'))}"
    )
    _begin(world, session, table, declared(table))
    return True


def _is_text(column: Column) -> bool:
    return "CHAR" in column.kind.sql


def drop(world: World, session: Session) -> None:
    """DROP TABLE of one or two tables."""
    alone = world.alone()
    most = min(len(alone), len(world.tables) - 1, world.rng.choice((1, 1, 2)))
    gone = world.rng.sample(alone, max(most, 0))
    if gone:
        world.take(session, f"DROP TABLE {', '.join(table.sql for table in gone)}", *gone)
        world.tables = [table for table in world.tables if table not in gone]


def drop_schema(world: World, session: Session) -> None:
    """DROP DATABASE; its tables start from scratch."""
    others = any(other.temporary for other in world.sessions)
    if others or len(world.free()) < len(world.tables):
        return
    world.take(session, f"DROP DATABASE `{world.schema}`", *world.tables)
    world.tables = []
    world.take(session, sessions.create_schema(world.schema))
    world.take(session, f"USE {quoted(world.schema)}")
    create(world, session)


def like(world: World, session: Session) -> None:
    """CREATE TABLE … LIKE."""
    models = world.free()
    if models and len(world.tables) < MOST_TABLES:
        _like(world, session, world.rng.choice(models))


def _like(world: World, session: Session, model: Table) -> Table:
    columns = [replace(column, refers=False) for column in model.columns]
    table = Table(world.schema, world.new_name(), model.key, columns, model.index)
    table.features = set(model.features)
    _begin(world, session, table, f"CREATE TABLE {table.sql} LIKE {model.sql}")
    return table


def as_select(world: World, session: Session) -> None:
    """CREATE TABLE … AS SELECT, with or without a key."""
    models = world.free()
    if not models or len(world.tables) >= MOST_TABLES:
        return
    model = world.rng.choice(models)
    # A generated column becomes an ordinary one, whose values may be assigned.
    columns = [replace(column, generated=None, refers=False) for column in model.columns]
    key = tuple(replace(column, numbered=False) for column in model.key)
    table = Table(world.schema, world.new_name(), key, columns, model.index)
    table.features = set(model.features)
    if Feature.KEYLESS in world.features and world.rng.random() < 0.4:
        table.index = ""
    index = f" ({alterations.key_clause(table)} ({table.names}))" if table.index else ""
    _begin(world, session, table, f"CREATE TABLE {table.sql}{index} AS SELECT * FROM {model.sql}")


def rename(world: World, session: Session) -> None:
    """Rename a table, or swap the names of two."""
    alone = world.alone()
    if not alone:
        return
    if len(alone) > 1 and world.rng.random() < 0.6:
        first, second = world.rng.sample(alone, 2)
        exchange(world, session, first, second)
        return
    (table,) = world.rng.sample(alone, 1)
    old = replace(table)
    table.name = table.family = world.new_name()
    world.take(session, f"RENAME TABLE {old.sql} TO {table.sql}", old, table)


def exchange(world: World, session: Session, first: Table, second: Table) -> None:
    """Swap the names of two tables; whatever may hold one of them may then hold both."""
    between = f"{quoted(world.schema)}.`between {world.next_number()}`"
    pairs = ((first.sql, between), (second.sql, first.sql), (between, second.sql))
    first.features = second.features = first.features | second.features
    first.features, second.features = set(first.features), set(second.features)
    sql = f"RENAME TABLE {', '.join(f'{old} TO {new}' for old, new in pairs)}"
    world.take(session, sql, first, second)
    first.name, second.name = second.name, first.name
    first.family, second.family = first.name, second.name


def rebuild(world: World, session: Session) -> None:
    """Replace a table by a copy, as tools for online schema changes do."""
    models = world.alone()
    if not models or len(world.tables) >= MOST_TABLES:
        return
    model = world.rng.choice(models)
    table = _like(world, session, model)
    if Feature.SCHEMA_CHANGES in world.features and world.rng.random() < 0.6:
        alterations.alter(world, session, table)
    shared = {column.name for column in table.given} & {column.name for column in model.given}
    names = ", ".join(map(quoted, sorted(shared)))
    if {column.name for column in table.key} <= shared:
        copied = f"INSERT IGNORE INTO {table.sql} ({names}) SELECT {names} FROM {model.sql}"
        world.take(session, copied, table)
    exchange(world, session, model, table)
