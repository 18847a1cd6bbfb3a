"""Tables of JSON that is large, deeply nested, or made from values of other types (see
`type_zoo`).
"""

from __future__ import annotations

import json
import random
from typing import Any

from tests.support.zoo.type_zoo import NULL, SESSION, Table, literal, table

DEEPEST = 100
LARGE = 64 * 1024
"""Size in bytes from which an object or array has the large form."""
SOURCES = {
    "ts": ("TIMESTAMP(6) NULL", "'2038-01-19 03:14:07.999999'"),
    "dt": ("DATETIME(2)", "'1000-01-01 23:59:59.99'"),
    "d": ("DATE", "'9999-12-31'"),
    "t": ("TIME(6)", "'-838:59:58.999999'"),
    "y": ("YEAR", "2155"),
    "b": ("BIT(17)", "b'10000000000000001'"),
    "bl": ("BLOB", "REPEAT(x'00ff80', 50)"),
    "tb": ("TINYBLOB", "''"),
    "mb": ("MEDIUMBLOB", "REPEAT('m', 70000)"),
    "lb": ("LONGBLOB", "x'01'"),
    "vb": ("VARBINARY(20)", "x'c3a9'"),
    "bi": ("BINARY(5)", "'ab'"),
    "e": ("ENUM('one', 'two')", "'two'"),
    "s": ("SET('x', 'y')", "'x,y'"),
    "n": ("DECIMAL(65,30)", f"'-{'9' * 35}.{'1' * 30}'"),
    "n0": ("DECIMAL(38,0)", f"'{'9' * 38}'"),
    "u": ("BIGINT UNSIGNED", "18446744073709551615"),
    "f": ("FLOAT", "1.1"),
    "g": ("GEOMETRY", "ST_GeomFromText('POLYGON((0 0, 1 0, 1 1, 0 0))')"),
    "c": ("CHAR(9) CHARACTER SET sjis", "'日本'"),
}
"""Columns whose values are converted to JSON; types that JSON lacks become opaque values."""


def from_columns() -> Table:
    """Values of other types as JSON scalars, array elements and object members."""
    columns = {name: kind for name, (kind, _) in SOURCES.items()}
    create, _ = table("zoo_json_columns", {"j": "JSON"}, [])
    source, inserts = table("zoo_json_sources", columns, [[v for _, v in SOURCES.values()]])
    statements = [*SESSION, source, inserts[-1]]
    number = 0
    for name in SOURCES:
        for form in (f"JSON_ARRAY({name})", f"JSON_OBJECT('k', {name}, 'n', NULL)"):
            number += 1
            insert = "INSERT INTO zoo_json_columns"
            statements.append(f"{insert} SELECT {number}, {form} FROM zoo_json_sources")
    every = ", ".join(SOURCES)
    last = f"SELECT {number + 1}, JSON_ARRAY({every}) FROM zoo_json_sources"
    return create, [*statements, f"INSERT INTO zoo_json_columns {last}"]


def random_container(chance: random.Random, size: int, depth: int = 0) -> Any:
    """An object or array of about `size` bytes, its members of every kind and form."""
    members: list[Any] = []
    while size > 0:
        kind = chance.randrange(7 if depth < 8 and size > 400 else 5)
        if kind == 0:
            bits = chance.choice((1, 15, 16, 31, 32, 63))
            members.append(chance.choice((1, -1)) * chance.getrandbits(bits))
        elif kind == 1:
            members.append(chance.uniform(-1, 1) * 10.0 ** chance.randint(-30, 30))
        elif kind == 2:
            members.append(chance.choice((None, True, False, "", [], {})))
        elif kind < 5:
            letters = chance.choices('aé日😀\t"\\\x01', k=chance.choice((3, 127, 128, 200)))
            members.append("".join(letters)[: max(size, 1)])
        else:
            members.append(random_container(chance, chance.randint(1, size // 2), depth + 1))
        size -= len(json.dumps(members[-1], ensure_ascii=False).encode()) + 4
    if chance.random() < 0.5:
        return members
    return {f"{chance.choice('kлß')}{number}": member for number, member in enumerate(members)}


def large_documents() -> Table:
    """Documents on both sides of 64 KB, with small containers inside large ones."""
    chance = random.Random(14)
    sizes = [100, 1000, LARGE // 2, LARGE - 3000, LARGE, LARGE + 3000, 2 * LARGE, 5 * LARGE]
    documents = [json.dumps(random_container(chance, size)) for size in sizes for _ in range(3)]
    documents += [json.dumps(random_container(chance, chance.randint(1, 3000))) for _ in range(60)]
    rows = [[f"CAST({literal(document)} AS JSON)"] for document in documents]
    return table("zoo_json_large", {"j": "JSON"}, [*rows, [NULL]])


def deep_documents() -> Table:
    """Nested objects and arrays, as deep as MySQL allows, small and large."""

    def nested(value: Any, depth: int, *, objects: bool) -> str:
        for level in range(depth):
            value = {"k": value} if objects and level % 2 else [value]
        return f"CAST({literal(json.dumps(value))} AS JSON)"

    rows = [
        [nested(value, depth, objects=objects)]
        for depth in (1, 50, DEEPEST - 1, DEEPEST)
        for objects in (False, True)
        for value in (1, "x" * LARGE, None)
    ]
    return table("zoo_json_deep", {"j": "JSON"}, rows)


TABLES: list[Table] = [from_columns(), large_documents(), deep_documents()]
