"""Column types used in histories, their values, and their possible conversions.

Values come from small pools, so that keys recur. Every value of a type, and of the types that
convert to it, fits into each type that it may be converted to.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from tests.support.history.model import Kind, Literal


def pool(*values: str) -> Literal:
    """Return a generator that picks one of these values."""
    return lambda rng: rng.choice(values)


def number(low: int, high: int) -> Literal:
    """Return a generator of integers; `high` is exclusive."""
    return lambda rng: str(rng.randrange(low, high))


def _document(rng: random.Random) -> str:
    n = rng.randrange(1000)
    documents = (
        f'\'{{"n": {n}, "tags": ["a", null], "deep": {{"x": {n / 8}}}}}\'',
        f'\'{{"n": {n}, "tags": [], "ü": "{"long " * 30}"}}\'',
        f"'[{n}, {{}}, \"\"]'",
        "'null'",
        f"'{n}'",
    )
    return rng.choice(documents)


def _bytes(rng: random.Random) -> str:
    return f"X'{rng.randbytes(rng.randrange(1, 20)).hex()}'"


_BIN = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
_CI = "CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"
_WORDS = pool("'pear'", "'Pear'", "'grün'", "'日本'", "'😀'", "'o''neil'", "''", "REPEAT('x', 300)")
_SHORT_WORDS = pool("'pear'", "'Pear'", "'grün  '", "'日本'", "'o''neil'", "''")
_EXACT = pool("'a'", "'A'", "'a '", "'ä'", "'日本'", "'😀'", "''", "'b'", "'c'")
_LOOSE = pool("'a'", "'A'", "'ä'", "'b'", "'B'", "'c'", "'D'", "'e'", "'long key'")

INT = Kind("INT", number(-(2**31), 2**31), "-7")
KEY_KINDS: tuple[Kind, ...] = (
    Kind("INT", number(-5, 25), "0"),
    Kind(
        "BIGINT UNSIGNED",
        lambda rng: str(rng.choice((rng.randrange(20), 2**64 - 1 - rng.randrange(4)))),
        "18446744073709551615",
    ),
    Kind(f"VARCHAR(30) {_BIN}", _EXACT, "'default'"),
    Kind(f"VARCHAR(30) {_CI}", _LOOSE, "'Default'"),
    Kind("CHAR(8) CHARACTER SET latin1", pool("'a'", "'é'", "''", "'b  '", "'x y'"), "'d'"),
    Kind("DECIMAL(20,5)", lambda rng: f"{rng.randrange(-9, 9)}.{rng.randrange(3)}0001", "1.5"),
    Kind("DECIMAL(65,3)", lambda rng: f"{rng.randrange(9)}{'0' * rng.randrange(61)}.5", "0"),
    Kind("BINARY(4)", lambda rng: f"X'{rng.randrange(12):02x}{rng.choice(('', '00ff'))}'", "'ab'"),
    Kind("VARBINARY(6)", lambda rng: f"X'{rng.randrange(12):02x}{rng.choice(('', '00'))}'", "''"),
    Kind(
        "DATETIME(6)",
        lambda rng: f"'2026-03-{rng.randrange(1, 15):02d} 02:30:00.00000{rng.randrange(2)}'",
        "'2020-01-01 00:00:00.5'",
    ),
    Kind(
        "TIMESTAMP(3)",
        lambda rng: f"'2026-03-{rng.randrange(1, 15):02d} 02:30:00.00{rng.randrange(2)}'",
        "'2020-01-01 00:00:00.5'",
    ),
    Kind("DATE", lambda rng: f"'2024-02-{rng.randrange(15, 30):02d}'", "'2024-01-01'"),
    Kind("TIME(2)", lambda rng: f"'{rng.randrange(-5, 6)}:00:00.5'", "'00:00:00'"),
    Kind("ENUM('x','y','z','ü')", pool("'x'", "'y'", "'z'", "'ü'"), "'y'"),
    Kind("SET('p','q','r')", pool("'p'", "'q'", "'p,r'", "''", "'p,q,r'"), "'q'"),
    Kind("YEAR", number(2000, 2012), "2000"),
    Kind("BIT(5)", lambda rng: f"b'{rng.randrange(32):b}'", "b'1'"),
    Kind("DOUBLE", pool("0", "1", "0.1", "-2.5e10", "5e-324", "1e300"), "3"),
    Kind("SMALLINT", number(0, 12), "3"),
)

KINDS: tuple[Kind, ...] = (
    INT,
    Kind("TINYINT UNSIGNED", number(0, 256), "200"),
    Kind("BIGINT", number(-(2**63), 2**63), "-1"),
    Kind("VARCHAR(400) CHARACTER SET utf8mb4", _WORDS, "'dé''fault'"),
    Kind("TEXT CHARACTER SET latin1", pool("'fünf €'", "REPEAT('y', 200)"), "('te''xt')"),
    Kind("DECIMAL(30,10)", lambda rng: f"{rng.randrange(-(10**19), 10**19)}.5", "1.5"),
    Kind("DOUBLE", pool("0", "-1.5e300", "0.1", "5e-324"), "0.25"),
    Kind("FLOAT", pool("0.1", "-3.5", "16777216"), "0.1"),
    Kind("DATE", pool("'1000-01-01'", "'9999-12-31'", "'2024-02-29'"), "'2000-01-01'"),
    Kind("DATETIME(3)", pool("'1000-01-01 00:00:00.001'", "'2026-07-01 12:34:56.789'")),
    Kind(
        "TIMESTAMP(6)",
        pool("'1999-01-01 00:00:01.000001'", "'2037-06-01 03:14:07'"),
        "'2001-02-03 04:05:06.7'",
    ),
    Kind("TIME(2)", pool("'-838:59:59'", "'838:59:59'", "'-00:00:00.01'", "'12:00'"), "'01:02:03'"),
    Kind("JSON", _document),
    Kind("JSON", _document, '(\'{"a": [1, "ü"]}\')'),
    Kind(
        "TIMESTAMP(3)",
        pool("'1999-01-01 00:00:01.001'", "'2037-06-01 03:14:07'"),
        "CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3)",
    ),
    Kind("VARBINARY(64)", _bytes, "'bytes'"),
    Kind("BIT(12)", lambda rng: f"b'{rng.randrange(4096):b}'", "b'101'"),
    Kind("SET('a','b','c')", pool("''", "'a'", "'a,c'", "'a,b,c'"), "'a,b'"),
    Kind("ENUM('one','two','ö')", pool("'one'", "'two'", "'ö'"), "'two'"),
    Kind("YEAR", pool("1901", "2155", "0"), "1999"),
    Kind("MEDIUMINT UNSIGNED", number(0, 2**24), "16777215"),
)

_DECIMAL = Kind("DECIMAL(36,12)", lambda rng: f"{rng.randrange(-(10**19), 10**19)}.5", "2.25")
_NUMBER_TEXT = Kind("VARCHAR(60) CHARACTER SET utf8mb4", _SHORT_WORDS, "'60'")
_WIDE_TEXT = Kind("LONGTEXT CHARACTER SET utf8mb4", _WORDS)
_WIDE_INT = Kind("BIGINT", number(-(2**63), 2**63), "9")
_DOUBLE = Kind("DOUBLE", pool("0", "-1.5e300", "0.1", "5e-324"), "0.5")
_TIMES = Kind("DATETIME(6)", pool("'1000-01-01 00:00:00.000001'", "'2026-07-01 12:34:56.789999'"))
_FEWER = Kind("DATETIME(1)", pool("'1000-01-01 00:00:00.1'", "'2026-07-01 12:34:56.9'"))
_PADDED = Kind("BINARY(70)", _bytes, "'padded'")

CONVERSIONS: Mapping[str, tuple[Kind, ...]] = {
    "INT": (_WIDE_INT, _DOUBLE, _NUMBER_TEXT, Kind("DECIMAL(14,3)", number(-99, 99), "1.125")),
    "TINYINT UNSIGNED": (INT, _WIDE_INT, Kind("SMALLINT", number(0, 300), "5")),
    "MEDIUMINT UNSIGNED": (INT, Kind("FLOAT", pool("0.1", "-3.5"), "0.5")),
    "SMALLINT": (INT, _NUMBER_TEXT),
    "BIGINT": (_NUMBER_TEXT, _DOUBLE, Kind("DECIMAL(25,2)", number(-99, 99), "1.25")),
    "DECIMAL(30,10)": (_DECIMAL, _DOUBLE, Kind("DECIMAL(30,0)", number(-99, 99), "3")),
    "DECIMAL(36,12)": (_DOUBLE,),
    "FLOAT": (_DOUBLE,),
    "VARCHAR(60) CHARACTER SET utf8mb4": (
        _WIDE_TEXT,
        Kind("CHAR(60) CHARACTER SET utf8mb4", _SHORT_WORDS, "'c'"),
    ),
    "VARCHAR(400) CHARACTER SET utf8mb4": (
        _WIDE_TEXT,
        Kind("VARCHAR(500) CHARACTER SET utf16", _WORDS, "'d'"),
    ),
    "TEXT CHARACTER SET latin1": (_WIDE_TEXT,),
    "DATE": (Kind("DATETIME(3)", pool("'2026-07-01 12:34:56.789'"), "'2000-01-01 00:00:00.5'"),),
    "DATETIME(3)": (_TIMES, _FEWER),
    "DATETIME(6)": (_FEWER,),
    "TIMESTAMP(6)": (Kind("TIMESTAMP(2)", pool("'1999-01-01 00:00:01.01'")),),
    "TIME(2)": (Kind("TIME(5)", pool("'-838:59:59'", "'-00:00:00.00001'"), "'01:02:03.5'"),),
    "VARBINARY(64)": (Kind("BLOB", _bytes), _PADDED),
    "BINARY(70)": (Kind("VARBINARY(100)", _bytes, "'v'"),),
    "BIT(12)": (Kind("BIT(20)", lambda rng: f"b'{rng.randrange(2**20):b}'", "b'11'"), INT),
    "SET('a','b','c')": (
        Kind("SET('z','a','b','y','c')", pool("'z'", "'a,y'", "''"), "'z,a'"),
        _NUMBER_TEXT,
    ),
    "ENUM('one','two','ö')": (
        Kind("ENUM('ö','two','x','one')", pool("'x'", "'two'", "'ö'"), "'x'"),
        _NUMBER_TEXT,
    ),
    "YEAR": (INT, Kind("SMALLINT UNSIGNED", number(0, 65536), "7")),
}
"""The types that MODIFY may give to a column outside of the key, by its type."""
KEY_CONVERSIONS: Mapping[str, tuple[Kind, ...]] = {
    "INT": (Kind("BIGINT", number(-5, 25), "0"), Kind("DECIMAL(12,2)", number(-5, 25), "0")),
    "SMALLINT": (Kind("INT", number(0, 12), "3"),),
    f"VARCHAR(30) {_BIN}": (Kind(f"VARCHAR(70) {_BIN}", _EXACT, "'default'"),),
    f"VARCHAR(30) {_CI}": (Kind(f"VARCHAR(70) {_CI}", _LOOSE, "'Default'"),),
    "DECIMAL(20,5)": (Kind("DECIMAL(24,6)", lambda rng: f"{rng.randrange(-9, 9)}.000001", "1"),),
    "BINARY(4)": (Kind("BINARY(6)", lambda rng: f"X'{rng.randrange(12):02x}'", "'ab'"),),
    "ENUM('x','y','z','ü')": (Kind("ENUM('ü','w','x','y','z')", pool("'w'", "'y'"), "'w'"),),
    "DATE": (Kind("DATETIME(2)", lambda rng: f"'2024-02-{rng.randrange(15, 30)} 01:02:03.5'"),),
    "YEAR": (Kind("SMALLINT", number(2000, 2012), "2000"),),
    "BIT(5)": (Kind("INT", number(0, 32), "0"),),
}
"""The same for a key column, where no two values may become equal."""
OUTSIDE: tuple[Kind, ...] = (
    Kind("VARCHAR(300) CHARACTER SET latin1", pool("'a'"), "'latin'"),
    Kind("VARBINARY(900)", _bytes),
)
"""Target types of conversions whose effect on the values is uncertain."""
