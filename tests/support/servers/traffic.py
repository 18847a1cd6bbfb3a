"""A mixed workload against a real server: many small transactions over tables with keys of several
kinds, reproducible from its seed.

Every statement succeeds whatever the random numbers are: IGNORE skips duplicates where a key may
exist.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

SCHEMA = "traffic"

TABLES = (
    f"CREATE DATABASE IF NOT EXISTS {SCHEMA} CHARACTER SET utf8mb4",
    f"""CREATE TABLE {SCHEMA}.account (
        id BIGINT UNSIGNED NOT NULL PRIMARY KEY,
        email VARCHAR(120) CHARACTER SET utf8mb4 NOT NULL,
        balance DECIMAL(18,4) NOT NULL DEFAULT 0,
        flags SET('new','vip','blocked','staff') NOT NULL DEFAULT '',
        level ENUM('bronze','silver','gold') NULL,
        note TEXT CHARACTER SET latin1,
        settings JSON,
        born DATE, seen DATETIME(6), changed TIMESTAMP(3) NULL,
        spent TIME(2), score DOUBLE, ratio FLOAT, active BIT(1), mask BIT(12),
        photo VARBINARY(64))""",
    f"""CREATE TABLE {SCHEMA}.line (
        order_no INT UNSIGNED NOT NULL, line_no SMALLINT NOT NULL,
        sku CHAR(12) CHARACTER SET ascii NOT NULL, quantity MEDIUMINT NOT NULL,
        price DECIMAL(65,30), made YEAR, PRIMARY KEY (order_no, line_no))""",
    f"""CREATE TABLE {SCHEMA}.word (
        word VARCHAR(60) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        uses INT NOT NULL, first_seen DATETIME NOT NULL)""",
    f"""CREATE TABLE {SCHEMA}.digest (
        hash BINARY(8) NOT NULL PRIMARY KEY, size TINYINT UNSIGNED, body MEDIUMBLOB)""",
)

WORDS = (
    "pear",
    "Pear",
    "grün",
    "日本",
    "naïve",
    "кот",
    "😀 smile",
    "o'neil",
    'dou"ble',
    "back\\slash",
)


def transactions(count: int, *, seed: int) -> Iterator[list[tuple[str, tuple[Any, ...]]]]:
    """Return `count` transactions, each a list of statements with their parameters."""
    rng = random.Random(seed)
    kinds = (
        _account_insert,
        _account_update,
        _account_rekey,
        _account_delete,
        _lines,
        _word,
        _digest,
    )
    weights = (6, 8, 1, 2, 4, 3, 2)
    for _ in range(count):
        chosen = rng.choices(kinds, weights, k=rng.choice((1, 1, 1, 2, 3, 5)))
        yield [statement for kind in chosen for statement in kind(rng)]


def run(connection: Any, count: int, *, seed: int, create: bool = True) -> None:
    """Run the workload; leave the connection with autocommit on."""
    with connection.cursor() as cursor:
        for statement in TABLES if create else ():
            cursor.execute(statement)
        connection.autocommit(False)
        for number, statements in enumerate(transactions(count, seed=seed)):
            for text, parameters in statements:
                cursor.execute(text, parameters)
            if number % 50 == 49:
                connection.rollback()
            else:
                connection.commit()
        connection.autocommit(True)


def _id(rng: random.Random) -> int:
    return rng.choice((rng.randrange(1, 800), rng.randrange(1, 800), 2**64 - 1 - rng.randrange(20)))


def _document(rng: random.Random) -> str | None:
    if rng.random() < 0.1:
        return None
    return json.dumps(
        {
            "n": rng.randrange(-(2**40), 2**40),
            "x": rng.random() * 10 ** rng.randrange(-8, 9),
            "tags": rng.sample(WORDS, rng.randrange(4)),
            "deep": {"a": [None, True, {"b": rng.choice(WORDS)}], "empty": {}},
        }
    )


def _account_insert(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        (
            f"INSERT IGNORE INTO {SCHEMA}.account VALUES ({', '.join(['%s'] * 16)})",
            (
                _id(rng),
                f"{rng.choice(WORDS)}{rng.randrange(10**6)}@example.org",
                f"{rng.randrange(-(10**17), 10**17)}e-4",
                rng.choice(("", "new", "new,vip", "vip,blocked,staff")),
                rng.choice((None, "bronze", "silver", "gold")),
                rng.choice((None, "", "fünf €", "x" * rng.randrange(400))),
                _document(rng),
                rng.choice((None, "1000-01-01", "9999-12-31", "2024-02-29")),
                rng.choice((None, "1000-01-01 00:00:00.000001", "2026-07-01 12:34:56.789012")),
                rng.choice((None, "1970-01-01 00:00:01.001", "2038-01-19 03:14:07.999")),
                rng.choice((None, "-838:59:59.00", "838:59:59.00", "-00:00:00.01", "12:00:00")),
                rng.choice((None, 0.0, -1.5e300, 0.1, 5e-324)),
                rng.choice((None, 0.1, -3.5, 16777216)),
                rng.randrange(2),
                rng.randrange(4096),
                rng.choice((None, b"", b"\x00\xff\x00", rng.randbytes(20))),
            ),
        )
    ]


def _account_update(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        (
            f"""UPDATE {SCHEMA}.account SET balance = balance + %s, settings = %s, seen = %s
                WHERE id BETWEEN %s AND %s""",
            (
                rng.randrange(1000),
                _document(rng),
                "2026-07-02 01:02:03.5",
                low := _id(rng),
                low + 2,
            ),
        )
    ]


def _account_rekey(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        (
            f"UPDATE IGNORE {SCHEMA}.account SET id = %s WHERE id = %s",
            (rng.randrange(1000, 2000), _id(rng)),
        )
    ]


def _account_delete(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [(f"DELETE FROM {SCHEMA}.account WHERE id = %s", (_id(rng),))]


def _lines(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    order = rng.randrange(1, 400)
    rows = [
        (
            f"REPLACE INTO {SCHEMA}.line VALUES (%s,%s,%s,%s,%s,%s)",
            (
                order,
                number,
                rng.choice(("A-1", "ZZ-99", "")),
                rng.randrange(-8388608, 8388608),
                rng.choice((None, "0." + "1" * 30, "-" + "9" * 35 + "." + "9" * 30)),
                rng.choice((None, 1901, 2155, 0)),
            ),
        )
        for number in range(rng.randrange(1, 6))
    ]
    return [*rows, (f"DELETE FROM {SCHEMA}.line WHERE order_no = %s", (rng.randrange(1, 400),))]


def _word(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        (
            f"INSERT INTO {SCHEMA}.word VALUES (%s, 1, %s) ON DUPLICATE KEY UPDATE uses = uses + 1",
            (rng.choice(WORDS) + rng.choice(("", " ", "x")), "2025-01-01 00:00:00"),
        ),
        (
            f"UPDATE IGNORE {SCHEMA}.word SET word = %s WHERE word = %s",
            (rng.choice(WORDS), rng.choice(WORDS) + "x"),
        ),
    ]


def _digest(rng: random.Random) -> list[tuple[str, tuple[Any, ...]]]:
    return [
        (
            f"REPLACE INTO {SCHEMA}.digest VALUES (%s,%s,%s)",
            (
                rng.choice((bytes([rng.randrange(40)]), bytes([rng.randrange(40)]) * 8)),
                rng.randrange(256),
                rng.randbytes(rng.randrange(300)),
            ),
        )
    ]
