"""A table of thousands of random rows (see `type_zoo`), the same in every run."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from tests.support.zoo.type_zoo import SESSION, Table, fixed_point, literal, random_document, table

COLUMNS = {
    "u64": "BIGINT UNSIGNED", "i24": "MEDIUMINT", "d": "DOUBLE", "d10": "DECIMAL(10,2)",
    "d38": "DECIMAL(38,10)", "d65": "DECIMAL(65,30)", "dt": "DATETIME(6)",
    "ts": "TIMESTAMP(6) NULL", "t": "TIME(6)", "s": "VARCHAR(100)", "b": "VARBINARY(300)",
    "j": "JSON", "e": "ENUM('x', 'yy', 'zzz')", "st": "SET('x', 'yy', 'zzz')", "b40": "BIT(40)",
    "i": "INT", "f": "FLOAT", "dt3": "DATETIME(3)", "ts1": "TIMESTAMP(1) NULL", "t4": "TIME(4)",
    "da": "DATE", "y": "YEAR", "l1": "CHAR(60) CHARACTER SET latin1", "mt": "MEDIUMTEXT",
}  # fmt: skip


class Chance:
    """Random values as SQL."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def some(self, value: Any) -> str:
        """Return the value, or sometimes NULL."""
        return "NULL" if self._random.random() < 0.1 else str(value)

    def decimal(self, precision: int, scale: int) -> str:
        """Return a DECIMAL of any number of digits."""
        limit = 10 ** self._random.randint(1, precision) - 1
        return fixed_point(self._random.randint(-limit, limit), scale)

    def clock(self) -> str:
        """Return mm:ss.ffffff."""
        minute, second = self._random.randint(0, 59), self._random.randint(0, 59)
        return f"{minute:02}:{second:02}.{self._random.randint(0, 999999):06}"

    def moment(self, first: int, last: int) -> str:
        """Return a date and time between the years first and last."""
        year, month = self._random.randint(first, last), self._random.randint(1, 12)
        day, hour = self._random.randint(1, 28), self._random.randint(0, 23)
        return f"'{year:04}-{month:02}-{day:02} {hour:02}:{self.clock()}'"

    def text(self) -> str:
        """Return characters of one to four bytes, including those that SQL and JSON escape."""
        letters = "abc é日😀ß\\'\"\t"
        return "".join(self._random.choices(letters, k=self._random.randint(0, 60)))

    def row(self) -> list[str]:
        """Return a value for each of COLUMNS."""
        chance = self._random
        return [
            self.some(chance.getrandbits(64)),
            self.some(chance.randint(-(1 << 23), (1 << 23) - 1)),
            self.some(repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300))),
            self.some(self.decimal(10, 2)),
            self.some(self.decimal(38, 10)),
            self.some(self.decimal(65, 30)),
            self.some(self.moment(1, 9998)),
            self.some(self.moment(1971, 2036)),
            self.some(f"'{chance.randint(-837, 837)}:{self.clock()}'"),
            self.some(literal(self.text())),
            self.some(literal(self.text().encode())),
            self.some(literal(random_document(chance))),
            self.some(chance.randint(0, 3)),
            self.some(chance.randint(0, 7)),
            self.some(chance.getrandbits(40)),
            self.some(chance.randint(-(1 << 31), (1 << 31) - 1)),
            self.some(repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-37, 37))),
            self.some(self.moment(1, 9998)),
            self.some(self.moment(1971, 2036)),
            self.some(f"'{chance.randint(-837, 837)}:{self.clock()}'"),
            self.some(self.moment(1, 9998)[:11] + "'"),
            self.some(chance.choice((0, chance.randint(1901, 2155)))),
            self.some(literal("".join(chance.choices("abc éÿ€", k=chance.randint(0, 60))))),
            self.some(f"REPEAT({literal(self.text())}, {chance.randint(0, 9)})"),
        ]


@cache
def random_table(rows: int) -> Table:
    """`random_rows`, inserted in one transaction."""
    chance = Chance(99)
    create, statements = table("random_rows", COLUMNS, (chance.row() for _ in range(rows)))
    return create, [SESSION[0], "SET sql_mode = ''", "BEGIN", *statements[2:], "COMMIT"]
