"""Tables that cover every width of a type (see `type_zoo`), which samples may miss."""

from __future__ import annotations

import random

from tests.support.zoo.type_zoo import NULL, Table, by_column, fixed_point, table

MAX_PRECISION = 65
MAX_SCALE = 30
"""MySQL's; MariaDB's is 38."""
MANY_LABELS = 2000
ROWS = 12


def every_decimal() -> Table:
    """DECIMAL of every precision, with fractions of no digits, less than a group of nine, one
    group, a group and a digit, and the maximum.
    """
    chance = random.Random(11)

    def samples(precision: int, scale: int) -> list[str]:
        largest = 10**precision - 1
        numbers = [largest, -largest, 0, 1, -1]
        numbers += [chance.randint(-(10**n), 10**n) for n in (precision, precision // 2)]
        numbers += [chance.randint(-largest, largest) for _ in range(4)]
        return [fixed_point(max(min(n, largest), -largest), scale) for n in numbers]

    shapes = sorted(
        (precision, scale)
        for precision in range(1, MAX_PRECISION + 1)
        for scale in {0, chance.randint(1, 8), 9, 10, min(precision, MAX_SCALE)}
        if scale <= precision
    )
    columns = {f"d_{p}_{s}": f"DECIMAL({p},{s})" for p, s in shapes}
    values = {f"d_{p}_{s}": samples(p, s) for p, s in shapes}
    return table("zoo_every_decimal", columns, by_column(values, ROWS))


def every_bit() -> Table:
    """BIT(1) to BIT(64): no bits, all bits, the highest bit, random bits."""
    chance = random.Random(12)
    values = {
        f"b{width}": [
            str(bits) for bits in (0, (1 << width) - 1, 1 << width - 1, chance.getrandbits(width))
        ]
        for width in range(1, 65)
    }
    columns = {f"b{width}": f"BIT({width})" for width in range(1, 65)}
    return table("zoo_every_bit", columns, by_column(values, ROWS))


def every_set() -> Table:
    """SET of 1 to 64 members, in every size it is stored in."""
    chance = random.Random(13)
    columns, values = {}, {}
    for size in range(1, 65):
        members = ", ".join(f"'{size}-{n}'" for n in range(size))
        columns[f"s{size}"] = f"SET({members})"
        values[f"s{size}"] = [
            str(bits) for bits in (0, (1 << size) - 1, 1 << size - 1, chance.getrandbits(size))
        ]
    return table("zoo_every_set", columns, by_column(values, ROWS))


def enum_of_two_bytes() -> Table:
    """ENUM of more labels than a byte can number."""
    labels = ",".join(f"'{n:x}'" for n in range(MANY_LABELS))
    indexes = [1, 2, 255, 256, 257, MANY_LABELS - 1, MANY_LABELS]
    rows = [[str(index)] for index in indexes] + [[NULL]]
    return table("zoo_enum_of_two_bytes", {"e": f"ENUM({labels})"}, rows)


def every_year() -> Table:
    """YEAR 0 and 1901 to 2155."""
    years = [0, *range(1901, 2156)]
    return table("zoo_every_year", {"y": "YEAR"}, [[str(year)] for year in years])


def every_length() -> Table:
    """CHAR and BINARY whose length exceeds a byte, and values around each length prefix."""
    lengths = [0, 1, 63, 64, 127, 128, 255]
    columns: dict[str, str] = {f"c{n}": f"CHAR({n}) CHARACTER SET utf8mb4" for n in lengths[1:]}
    columns |= {f"b{n}": f"BINARY({n})" for n in lengths[1:]}
    columns |= {f"v{n}": f"VARCHAR({n}) CHARACTER SET latin1" for n in (255, 256, 300)}
    values = {
        name: [f"REPEAT('x', {min(n, int(name[1:]))})" for n in (*lengths, 256, 300)]
        for name in columns
    }
    values |= {f"c{n}": [f"REPEAT('😀', {min(m, n)})" for m in lengths] for n in lengths[1:]}
    return table("zoo_every_length", columns, by_column(values))


TABLES: list[Table] = [
    every_decimal(), every_bit(), every_set(), enum_of_two_bytes(), every_year(), every_length(),
]  # fmt: skip
