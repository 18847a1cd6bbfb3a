"""GTID sets compared with MySQL's own functions."""

from __future__ import annotations

import random

from pipeline.source import GtidSet
from tests.support.servers.mysql import MySQLServer

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"
SOURCES = (A, B, f"{A}:tag", f"{A}:web_7", f"{B}:tag")
PAIRS = 150


def some(chance: random.Random) -> GtidSet:
    """Return a set of a few intervals of some of the sources."""
    entries = []
    for source in chance.sample(SOURCES, chance.randint(0, 4)):
        for _ in range(chance.randint(1, 3)):
            first = chance.randint(1, 30)
            entries.append(f"{source}:{first}-{first + chance.randint(0, 8)}")
    return GtidSet.of(*entries)


def test_gtid_sets_are_compared_subtracted_and_printed_as_by_the_server(mysql: MySQLServer) -> None:
    chance = random.Random(7)
    pairs = [(some(chance), some(chance)) for _ in range(PAIRS)]
    pairs += [(one & other, other) for one, other in pairs[:20]]
    with mysql.connect() as connection, connection.cursor() as cursor:
        for one, other in pairs:
            cursor.execute(
                "SELECT GTID_SUBSET(%s, %s), GTID_SUBTRACT(%s, %s), GTID_SUBTRACT(%s, '')",
                (str(one), str(other), str(one), str(other), f"{str(one).upper()},{other}"),
            )
            subset, left, union = cursor.fetchone() or ()
            assert other.holds(one) is bool(subset)
            assert str(one - other) == left.replace("\n", "")
            assert str(one | other) == union.replace("\n", "")
            assert GtidSet.of(left) == one - other
