"""The type zoo of MariaDB: the types it shares with MySQL (see `type_zoo`), and its own."""

from __future__ import annotations

import random

from tests.support.zoo import exhaustive_zoo, type_zoo
from tests.support.zoo.type_zoo import (
    CHARSET_SAMPLES,
    GEOMETRIES,
    JSON_DOCUMENTS,
    NULL,
    Table,
    by_column,
    literal,
    random_document,
    table,
)

UUIDS = [
    "6ccd780c-baba-1026-9564-5b8c656024db", "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff", "123e4567-e89b-42d3-a456-426614174000",
    "0190163d-8694-739b-aea5-966c26f8ad91",
]  # fmt: skip
INET6 = ["::", "::1", "2001:db8::ff00:42:8329", "::ffff:192.168.0.1", "ff02::fb"]


def charsets() -> Table:
    """Text in every charset of the server."""
    samples = {name: text for name, text in CHARSET_SAMPLES.items() if name != "gb18030"}
    columns = {charset: f"VARCHAR(200) CHARACTER SET {charset}" for charset in samples}
    values = {charset: [literal(sample), "''"] for charset, sample in samples.items()}
    return table("zoo_charsets", columns, by_column(values))


def geometries() -> Table:
    """Every spatial type, after and before texts whose charset is listed after theirs."""
    points = [f"ST_GeomFromText('{text}', {srid})" for text, srid in GEOMETRIES]
    columns = {
        "g": "GEOMETRY", "l1": "VARCHAR(9) CHARACTER SET latin1", "p": "POINT",
        "l2": "TEXT CHARACTER SET latin2", "c": "GEOMETRYCOLLECTION", "u": "CHAR(9)",
    }  # fmt: skip
    values = {
        "g": points, "l1": ["'é'"], "p": points[:2],
        "l2": ["'ł'"], "c": points[-2:], "u": ["'日'"],
    }  # fmt: skip
    return table("zoo_geometries", columns, by_column(values))


def compressed() -> Table:
    """COMPRESSED columns, with values that are worth compressing and values that are not."""
    chance = random.Random(21)
    texts = ["", "a", "short", "x" * 99, "x" * 100, "é" * 250, "日本 " * 80]
    noise = ["".join(chance.choices("abcdefghijklmnop", k=200)) for _ in range(5)]
    long = ["long text, " * 4000, "é" * 30_000]
    columns = {
        "v": "VARCHAR(1000) COMPRESSED", "l1": "VARCHAR(300) COMPRESSED CHARACTER SET latin1",
        "v80": "VARCHAR(80) COMPRESSED", "vb": "VARBINARY(1000) COMPRESSED",
        "tt": "TINYTEXT COMPRESSED", "t": "TEXT COMPRESSED", "mt": "MEDIUMTEXT COMPRESSED",
        "lt": "LONGTEXT COMPRESSED", "b": "BLOB COMPRESSED",
        "ucs2": "TEXT COMPRESSED CHARACTER SET ucs2",
    }  # fmt: skip
    some = [literal(text) for text in (*texts, *noise)]
    latin = [literal(text) for text in (*texts[:-1], *noise)]
    more = [literal(text) for text in long]
    values = {
        "v": some, "l1": latin, "v80": [literal(text[:80]) for text in texts],
        "vb": [literal(text.encode()) for text in texts], "tt": [*latin[:5], literal("x" * 255)],
        "t": some + more, "mt": [*some, *more, "REPEAT('medium', 50000)"],
        "lt": more, "b": [*more, "REPEAT(x'00ff', 20000)"], "ucs2": some,
    }  # fmt: skip
    create, statements = table("zoo_compressed", columns, by_column(values, 40))
    inserts = statements[len(type_zoo.SESSION) :]
    # Session settings: the length from which a value is compressed, and zlib's header.
    everything = "SET column_compression_threshold = 1, column_compression_zlib_wrap = ON"
    return create, [*type_zoo.SESSION, inserts[0], everything, *inserts[1:]]


def addresses() -> Table:
    """INET6 and UUID, which are BINARY(16) in the log."""
    columns = {"i6": "INET6", "u": "UUID"}
    values = {"i6": [f"'{a}'" for a in INET6], "u": [f"'{u}'" for u in UUIDS]}
    return table("zoo_addresses", columns, by_column(values))


def documents() -> Table:
    """JSON, which is LONGTEXT: the text is stored as inserted."""
    chance = random.Random(22)
    texts = [*JSON_DOCUMENTS, *(random_document(chance) for _ in range(30))]
    rows = [[literal(text)] for text in texts] + [[NULL]]
    return table("zoo_json", {"j": "JSON"}, rows)


TABLES: list[Table] = [
    type_zoo.integers(), type_zoo.decimals(), type_zoo.floats(), type_zoo.bits(),
    type_zoo.temporal(), type_zoo.text(), type_zoo.binary(), type_zoo.labels(),
    type_zoo.zero_dates(), *exhaustive_zoo.TABLES,
    charsets(), geometries(), compressed(), addresses(), documents(),
]  # fmt: skip


def newest() -> Table:
    """Additions of the newest release: INET4, VECTOR (VARBINARY in the log), collations."""
    vectors = ["[1, 2, 3]", "[0, -1.5, 3.25]"]
    uca1400 = "VARCHAR(30) CHARACTER SET {0} COLLATE {0}_uca1400_swedish_as_cs"
    columns = {
        "i4": "INET4", "v": "VECTOR(3)",
        **{name: uca1400.format(name) for name in ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")},
    }  # fmt: skip
    values = {
        "i4": ["'1.2.3.4'", "'255.255.255.255'", "'0.0.0.0'"],
        "v": [f"VEC_FromText('{vector}')" for vector in vectors],
        **{name: ["'åäö 日本'", "''"] for name in columns if "u" in name},
    }
    return table("zoo_newest", columns, by_column(values))
