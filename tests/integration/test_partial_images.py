"""Row images that leave columns out, and JSON diffs: put together they are what SELECT gives."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

import decoder
from tests.support.partial_changes import Replica

if TYPE_CHECKING:
    from tests.support.mysql import MySQLServer

SCHEMA = "partial_images"
COLUMNS = ("id", "a", "b", "j", "k", "blurb", "flag")
CREATE = f"""
    CREATE TABLE {SCHEMA}.t (
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


def snapshot(cursor: Any) -> dict[int, dict[str, Any]]:
    cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM t")
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        for name in ("j", "k"):
            row[name] = None if row[name] is None else json.loads(row[name])
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_partial_images_put_together_are_what_select_gives(
    mysql: MySQLServer, *, compressed: bool
) -> None:
    chance = random.Random(4 + compressed)
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}; {CREATE}")
    mysql.flush_logs()
    log = mysql.binlogs()[-1]
    expected = []
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET binlog_transaction_compression = {'ON' if compressed else 'OFF'}")
        before = snapshot(cursor)
        for statement in statements(chance):
            cursor.execute(f"SET binlog_row_image = '{chance.choice(IMAGES)}'")
            options = chance.choice(("PARTIAL_JSON", "PARTIAL_JSON", ""))
            cursor.execute(f"SET binlog_row_value_options = '{options}'")
            cursor.execute(statement)
            after = snapshot(cursor)
            if after != before:  # what changes nothing is not logged
                expected.append(after)
            before = after
    mysql.flush_logs()

    changes = [
        row
        for batch in decoder.read(log.read_bytes(), file=log.name)
        if batch.schema == SCHEMA
        for row in batch.batch.to_pylist()
    ]
    changes.sort(key=lambda row: (row["__lsn"], row["__pos"], row["__row"]))
    assert any(row["__json_diff"] for row in changes)
    assert any(row["__absent_before"] for row in changes)
    replica = Replica("id", ("j", "k"), DEFAULTS)
    found = []
    for _, transaction in groupby(changes, key=lambda row: row["__lsn"]):
        for change in transaction:
            replica.apply(change)
        found.append({key: dict(row) for key, row in replica.rows.items()})
    assert len(found) == len(expected)
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        assert ours == theirs, f"after transaction {number}"
