"""What sessions do besides rows: their settings, how transactions begin and end, and noise."""

from __future__ import annotations

import random

from tests.support.history.model import Feature

SQL_MODES = (
    "'STRICT_TRANS_TABLES,NO_ZERO_DATE'",
    "''",
    "'ANSI_QUOTES,STRICT_ALL_TABLES'",
    "'NO_BACKSLASH_ESCAPES'",
)
TIME_ZONES = ("'+00:00'", "'+05:30'", "'-11:00'")


def setting(rng: random.Random, features: frozenset[Feature], *, mariadb: bool) -> str:
    """A SET that may stand between transactions, of those that the features allow."""
    choices = (
        []
        if Feature.SESSIONS not in features
        else [
            f"SET SESSION sql_mode = {rng.choice(SQL_MODES)}",
            f"SET SESSION time_zone = {rng.choice(TIME_ZONES)}",
            f"SET SESSION foreign_key_checks = {rng.choice((0, 1, 1))}",
        ]
    )
    if Feature.SESSIONS in features and not mariadb:
        choices += 3 * [f"SET SESSION binlog_transaction_compression = {rng.choice(('ON', 'OFF'))}"]
    if Feature.IMAGES in features:
        image = rng.choice(("FULL", "MINIMAL", "NOBLOB"))
        choices += 3 * [f"SET SESSION binlog_row_image = {image}"]
        if not mariadb:
            value = rng.choice(("''", "'PARTIAL_JSON'"))
            choices += 2 * [f"SET SESSION binlog_row_value_options = {value}"]
    return rng.choice(choices)


def noise(rng: random.Random, schema: str, table: str | None, number: int) -> list[str]:
    """Statements that change no replicated column; each undoes what would be in the way later."""
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
    ]
    if table is not None:
        choices += [
            [f"ANALYZE TABLE {table}"],
            [f"ALTER TABLE {table} COMMENT = 'number {number}; it''s'"],
            [f"CREATE VIEW {view} AS SELECT * FROM {table}", f"DROP VIEW {view}"],
        ]
    return rng.choice(choices)
