"""Session activity besides rows: settings, noise, temporary tables."""

from __future__ import annotations

import random

from tests.support.history import statements
from tests.support.history.model import Feature, Session, Table, World

STRICT = "'STRICT_TRANS_TABLES,NO_ZERO_DATE'"
SQL_MODES = (STRICT, "''", "'ANSI_QUOTES,STRICT_ALL_TABLES'", "'NO_BACKSLASH_ESCAPES'")
TIME_ZONES = ("'+00:00'", "'+05:30'", "'-11:00'")
ROW_IMAGES = ("FULL", "MINIMAL", "NOBLOB")


def create_schema(schema: str) -> str:
    """CREATE DATABASE."""
    return f"CREATE DATABASE `{schema}` CHARACTER SET utf8mb4"


def setting(world: World, session: Session) -> None:
    """Change a setting between transactions, one that the features allow."""
    rng, features = world.rng, world.features
    choices = []
    if Feature.SESSIONS in features:
        choices += [
            f"SET SESSION sql_mode = {rng.choice(SQL_MODES)}",
            f"SET SESSION time_zone = {rng.choice(TIME_ZONES)}",
            f"SET SESSION foreign_key_checks = {rng.choice((0, 1, 1))}",
        ]
    if Feature.SESSIONS in features and not world.mariadb:
        choices += 3 * [f"SET SESSION binlog_transaction_compression = {rng.choice(('ON', 'OFF'))}"]
        choices += [f"SET SESSION gtid_next = 'AUTOMATIC{rng.choice(('', ':tag', ':other'))}'"]
    if Feature.IMAGES in features:
        choices += 3 * [image(rng)]
        if not world.mariadb:
            choices += 3 * [value_options(rng)]
    world.take(session, rng.choice(choices))


def image(rng: random.Random) -> str:
    """SET binlog_row_image."""
    return f"SET SESSION binlog_row_image = {rng.choice(ROW_IMAGES)}"


def value_options(rng: random.Random) -> str:
    """SET binlog_row_value_options, which enables partial JSON updates."""
    value = rng.choice(("''", "'PARTIAL_JSON'", "'PARTIAL_JSON'"))
    return f"SET SESSION binlog_row_value_options = {value}"


def noise(world: World, session: Session) -> None:
    """Statements that change no replicated column; each reverts what would affect later steps."""
    rng, schema, number = world.rng, world.schema, world.next_number()
    user, view = f"'u{number}'@'localhost'", f"`{schema}`.`view {number}`"
    routine = f"`{schema}`.`routine {number}`"
    choices = [
        [f"CREATE USER {user}", f"GRANT SELECT ON `{schema}`.* TO {user}", f"DROP USER {user}"],
        [
            f"CREATE FUNCTION {routine} (a INT) RETURNS INT DETERMINISTIC RETURN a + 1",
            f"DROP FUNCTION {routine}",
        ],
        [f"CREATE VIEW {view} AS SELECT 1 AS one", f"DROP VIEW {view}"],
        [f"DROP TABLE IF EXISTS `{schema}`.`never there`"],
        ["FLUSH STATUS"],
        ["FLUSH BINARY LOGS"],
    ]
    if free := world.free():
        choices += _on_table(rng.choice(free), view, number)
    for sql in rng.choice(choices):
        world.take(session, sql)


def _on_table(table: Table, view: str, number: int) -> list[list[str]]:
    index, column = f"`index {number}`", table.key[0].sql
    return [
        [f"ANALYZE TABLE {table.sql}"],
        [f"ALTER TABLE {table.sql} COMMENT = 'number {number}; it''s'"],
        [f"CREATE VIEW {view} AS SELECT * FROM {table.sql}", f"DROP VIEW {view}"],
        [f"CREATE INDEX {index} ON {table.sql} ({column})", f"DROP INDEX {index} ON {table.sql}"],
        [
            f"ALTER TABLE {table.sql} ADD INDEX {index} ({column} DESC)",
            f"ALTER TABLE {table.sql} RENAME INDEX {index} TO `other`",
            f"ALTER TABLE {table.sql} DROP INDEX `other`",
        ],
        [f"CREATE TABLE IF NOT EXISTS {table.sql} (nothing INT)"],
    ]


def temporary(world: World, session: Session) -> None:
    """Create or drop a temporary table that transactions write to."""
    if world.rng.random() < 0.4:
        _hiding(world, session)
    elif session.temporary is None:
        session.temporary = f"`{world.schema}`.`temporary {session.name[-1]}`"
        world.take(session, f"CREATE TEMPORARY TABLE {session.temporary} (n INT)")
    else:
        world.take(session, f"DROP TEMPORARY TABLE {session.temporary}")
        session.temporary = None


def _hiding(world: World, session: Session) -> None:
    """Create a temporary table that hides a table of the same name, logged if possible."""
    if session.temporary is not None or not world.tables:
        return
    table = world.rng.choice(world.tables)
    name, formats, relatives = table.sql, ["ROW", "MIXED"], []
    if world.mariadb and Feature.STATEMENTS not in world.features:
        formats = ["ROW"]  # under MIXED, changes of the hiding table are logged as statements
    elif world.mariadb:
        relatives = _held_by_statements(world, table)
    altered = (
        f"ALTER TABLE {name} ADD other INT DEFAULT 5",
        f"TRUNCATE TABLE {name}",
        f"ALTER TABLE {name} DROP COLUMN m",
        f"ALTER TABLE {name} MODIFY n BIGINT FIRST",
    )
    for sql in (
        f"SET SESSION binlog_format = {world.rng.choice(formats)}",
        f"CREATE TEMPORARY TABLE {name} (n INT, m INT)",
        f"INSERT INTO {name} (n) VALUES (1), (2)",
        world.rng.choice(altered),
        f"DELETE FROM {name} WHERE n = 1",
        f"DROP TEMPORARY TABLE {name}",
        "SET SESSION binlog_format = ROW",
    ):
        world.take(session, sql, *relatives)


def _held_by_statements(world: World, table: Table) -> list[Table]:
    """Return the tables that statements on this one may hold."""
    relatives = [other for other in world.tables if other.family == table.family]
    for relative in relatives:
        relative.features.add(Feature.STATEMENTS)
    return relatives


def statement_format(world: World, session: Session) -> None:
    """Change rows in a way that is logged as a statement."""
    free = world.free()
    if not free or session.temporary is not None:
        return
    table = world.rng.choice(free)
    relatives = _held_by_statements(world, table)
    world.take(session, "SET SESSION binlog_format = STATEMENT")
    for sql in statements.rows(world.rng, table):
        world.take(session, sql, *relatives)
    world.take(session, "SET SESSION binlog_format = ROW")
