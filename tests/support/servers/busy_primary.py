"""A primary under load: thousands of small transactions a second, at a fixed rate, run in stored
procedures so that clients cost next to nothing.

Each writer has its own rows (`id % WRITERS`), so that none waits for another one's locks, and an
increasing number by which a transaction picks its rows.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.servers.server import Server

SCHEMA = "busy"
WRITERS = 4
ROWS = 200_000
"""Rows of `account` before the log begins."""
AT_ONCE = 50
"""Transactions per call; the rate is kept across calls."""

DIGITS = f"(SELECT 0 AS n{' UNION ALL SELECT '.join(['', *map(str, range(1, 10))])})"
TABLES = f"""
    DROP DATABASE IF EXISTS {SCHEMA}; CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4;
    USE {SCHEMA};
    CREATE TABLE account (
        id BIGINT UNSIGNED PRIMARY KEY, balance DECIMAL(18,4) NOT NULL, note VARCHAR(80),
        changed TIMESTAMP(6) NOT NULL
    );
    CREATE TABLE entry (
        account BIGINT UNSIGNED, n INT UNSIGNED, amount DECIMAL(9,2), made DATETIME(6),
        PRIMARY KEY (account, n)
    );
    CREATE TABLE word (
        word VARCHAR(40) CHARACTER SET latin1 PRIMARY KEY, uses INT UNSIGNED NOT NULL
    );
    CREATE TABLE visit (account BIGINT UNSIGNED, `when seen` DATETIME(3), page CHAR(8));
    INSERT INTO account
        SELECT i, i / 8, REPEAT('ü', i % 40), NOW(6) FROM (
            SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n + 10000 * e.n + 100000 * f.n AS i
            FROM {DIGITS} a, {DIGITS} b, {DIGITS} c, {DIGITS} d, {DIGITS} e, {DIGITS} f
            WHERE f.n < {ROWS // 100_000}
        ) numbers;
    INSERT INTO entry SELECT id, id % 3, id / 100, NOW(6) FROM account;
    INSERT INTO word SELECT CONCAT('é', id), 1 FROM account WHERE id % 10 = 0;
    INSERT INTO visit SELECT id % 100, '2026-01-01', 'start' FROM account WHERE id < 20000;
"""
WORK = f"""
    CREATE PROCEDURE {SCHEMA}.work(writer INT, number BIGINT, many INT)
    BEGIN
        DECLARE beyond BIGINT DEFAULT number + many;
        DECLARE its, earlier BIGINT UNSIGNED;
        -- A deadlock's victim was rolled back: what is left of it goes on by itself.
        DECLARE CONTINUE HANDLER FOR 1213 BEGIN END;
        WHILE number < beyond DO
            SET its = writer + {WRITERS} * ((number * 7919) % {ROWS // WRITERS});
            SET earlier = GREATEST(number - 9, 0);
            SET earlier = writer + {WRITERS} * ((earlier * 7919) % {ROWS // WRITERS});
            START TRANSACTION;
            UPDATE account SET balance = balance - number / 16, changed = NOW(6) WHERE id = its;
            INSERT INTO entry VALUES (its, number + 10, number % 1000 / 4, NOW(6));
            CASE number % 8
                WHEN 0 THEN UPDATE account SET id = id + {2 * ROWS} WHERE id = its;
                WHEN 1 THEN UPDATE account SET id = earlier WHERE id = earlier + {2 * ROWS};
                WHEN 2 THEN DELETE FROM entry WHERE account = its AND n < 3;
                WHEN 3 THEN INSERT INTO word VALUES (CONCAT('w', writer, 'ß', number), 1);
                WHEN 4 THEN UPDATE word SET uses = uses + 1 WHERE word = CONCAT('é', its);
                WHEN 5 THEN INSERT INTO visit VALUES (its, NOW(3), 'page'), (its, NOW(3), 'page');
                WHEN 6 THEN DELETE FROM account WHERE id = its;
                ELSE INSERT IGNORE INTO account VALUES (earlier, number, NULL, NOW(6));
            END CASE;
            COMMIT;
            SET number = number + 1;
        END WHILE;
    END
"""


@dataclass
class Work:
    """Progress of the writers."""

    began: float = field(default_factory=time.monotonic)
    transactions: list[int] = field(default_factory=lambda: [0] * WRITERS)

    def rate(self) -> float:
        """Return transactions a second since the start."""
        return sum(self.transactions) / (time.monotonic() - self.began)


def made(server: Server) -> None:
    """Create the tables with their first rows, then reset the logs, so that they do not contain
    these.
    """
    server.execute(TABLES)
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute(WORK)
    server.reset_logs()


@contextmanager
def busy(server: Server, rate: float) -> Iterator[Work]:
    """Run writers that together commit `rate` transactions a second, or as many as they can."""
    work, done = Work(), threading.Event()

    def write(writer: int) -> None:
        pause = AT_ONCE * WRITERS / rate
        with server.connect(database=SCHEMA) as connection, connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            while not done.is_set():
                cursor.callproc("work", (writer, work.transactions[writer], AT_ONCE))
                while cursor.nextset():
                    pass
                work.transactions[writer] += AT_ONCE
                calls = work.transactions[writer] // AT_ONCE
                done.wait(max(0.0, work.began + calls * pause - time.monotonic()))

    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write, number) for number in range(WRITERS)]
        try:
            yield work
        finally:
            done.set()
            for writer in writers:
                writer.result()
