"""Partial row images and JSON diffs: applied one after the other, they equal SELECT."""

from __future__ import annotations

import json
import random
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

import decoder
from tests.support.gold.partial_changes import Replica
from tests.support.zoo.partial_history import COLUMNS, CREATE, DEFAULTS, settings, statements

if TYPE_CHECKING:
    from tests.support.servers.mysql import MySQLServer

SCHEMA = "partial_images"


def snapshot(cursor: Any) -> dict[int, dict[str, Any]]:
    cursor.execute(f"SELECT {', '.join(COLUMNS)} FROM t")
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        for name in ("j", "k"):
            row[name] = None if row[name] is None else json.loads(row[name])
    return {row["id"]: row for row in rows}


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_applied_partial_images_equal_select(mysql: MySQLServer, *, compressed: bool) -> None:
    chance = random.Random(4 + compressed)
    mysql.execute(f"DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA}")
    mysql.flush_logs()
    log = mysql.binlogs()[-1]
    expected = []
    with mysql.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
        cursor.execute(f"SET binlog_transaction_compression = {'ON' if compressed else 'OFF'}")
        cursor.execute(CREATE)
        before = snapshot(cursor)
        for statement in statements(chance):
            cursor.execute(settings(chance))
            cursor.execute(statement)
            after = snapshot(cursor)
            if after != before:  # updates that change nothing are not logged
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
