"""A table, and statements that log images with omitted columns and JSON diffs."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

COLUMNS = ("id", "a", "b", "j", "k", "blurb", "flag")
CREATE = """
    CREATE TABLE t (
        id INT NOT NULL PRIMARY KEY, a INT DEFAULT 7, b VARCHAR(300), j JSON, k JSON,
        blurb TEXT, flag TINYINT NOT NULL DEFAULT 1)
"""
DEFAULTS = {"a": 7, "b": None, "j": None, "k": None, "blurb": None, "flag": 1}
IMAGES = ("MINIMAL", "NOBLOB", "FULL")
DOCUMENT = {
    "name": "a name of some length, so that there is room",
    "list": [1, 2.5, "three", None, {"deep": [True, False]}],
    "a key": {'with "quotes"': 1, "dé.jà": "vu", "n": 12345678901234567890},
    "when": "2020-01-01",
}
JSON_CHANGES = (
    "JSON_SET({c}, '$.name', 'short')",
    "JSON_SET({c}, '$.list[4].deep[1]', CAST('[1, {{\"x\": 1e100}}]' AS JSON))",
    'JSON_REPLACE({c}, \'$."a key"."with \\\\"quotes\\\\""\', 1.25)',
    "JSON_REPLACE({c}, '$.\"a key\".\"dé.jà\"', CAST('12:30:00' AS TIME))",
    "JSON_REMOVE({c}, '$.list[0]', '$.when')",
    "JSON_SET({c}, '$.new', REPEAT('ü\"\\n', 70))",
    "JSON_SET({c}, '$.\"a key\".n', CAST(-1 AS SIGNED), '$.list[9]', 'behind the end')",
    "JSON_SET({c}, '$.name', REPEAT('long ', 100), '$.big', CAST(X'00ff' AS BINARY))",
    "JSON_SET({c}, '$.name', JSON_EXTRACT({c}, '$.name'))",
)


def statements(chance: random.Random) -> Iterator[str]:
    """Statements of every sort; some change nothing, some several rows, some the key."""
    for number in range(1, 9):
        document = json.dumps(DOCUMENT, ensure_ascii=False).replace("\\", "\\\\").replace("'", "''")
        yield (
            f"INSERT INTO t (id, j, k) VALUES ({number}, '{document}', '{document}')"
            if number % 3
            else f"INSERT INTO t (id, b, blurb, flag) VALUES ({number}, 'b', 'x', 0)"
        )
    for _ in range(150):
        row = chance.randint(1, 8)
        where = chance.choice((f"id % 100 = {row}", f"id % 100 >= {row}"))
        change = chance.choice(JSON_CHANGES)
        other = chance.choice(JSON_CHANGES).format(c="k")
        yield chance.choice(
            (
                f"UPDATE t SET j = {change.format(c='j')} WHERE {where}",
                f"UPDATE t SET k = {change.format(c='k')} WHERE {where}",
                f"UPDATE t SET j = {change.format(c='j')}, a = a + 1, k = {other} WHERE {where}",
                f"UPDATE t SET b = REPEAT('b', {chance.randint(0, 300)}) WHERE {where}",
                f"UPDATE t SET blurb = NULL, a = NULL, flag = 1 - flag WHERE {where}",
                f"UPDATE t SET id = id + 100, j = {change.format(c='j')} WHERE id % 100 = {row}",
                f"UPDATE t SET j = '{{}}', k = NULL WHERE id % 100 = {row} AND flag = 0",
                f"DELETE FROM t WHERE id = {row} AND flag = 0",
            )
        )


def settings(chance: random.Random) -> str:
    """Session variables for what the next statement logs."""
    options = chance.choice(("PARTIAL_JSON", "PARTIAL_JSON", ""))
    return (
        f"SET binlog_row_image = '{chance.choice(IMAGES)}', binlog_row_value_options = '{options}'"
    )
