"""Tables with the edge cases of every MySQL type, as SQL: `TABLES` is (CREATE, statements) pairs.

Every table has the primary key `id`. Run the statements of a table in one session, in order (some
set a session variable first), then compare what was decoded with SELECT. Values are the same in
every run. `LOSSY` tables hold what Arrow and Delta cannot represent (zero and impossible dates).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable
from typing import Any

from pymysql.converters import escape_item

Table = tuple[str, list[str]]

ROWS = 60
NULL = "NULL"
SESSION = ["SET time_zone = '+00:00'", "SET sql_mode = 'STRICT_TRANS_TABLES'"]
INTEGERS = {"TINYINT": 8, "SMALLINT": 16, "MEDIUMINT": 24, "INT": 32, "BIGINT": 64}
DECIMALS = [
    (1, 0), (1, 1), (5, 2), (9, 0), (9, 9), (10, 2), (14, 4), (18, 0), (18, 2), (18, 9), (19, 2),
    (20, 6), (27, 9), (30, 30), (36, 18), (38, 0), (38, 10), (38, 30), (39, 2), (50, 25), (65, 0),
    (65, 30), (65, 1),
]  # fmt: skip
CHARSET_SAMPLES = {
    "armscii8": "Երևան ֏ Ա-և".replace("֏", "").replace("և", "եւ"),
    "ascii": "plain ~ text",
    "big5": "繁體中文測試 一二三",
    "cp1250": "Žluťoučký kůň € šĐ",
    "cp1251": "Съешь ещё этих булок Ђѓ €",
    "cp1256": "مرحبا بالعالم € پ",
    "cp1257": "Ąžuolas Ķegums € ģ",
    "cp850": "Ünïcödé ░▒▓ ßµ",
    "cp852": "Łódź čaj ░▒▓",
    "cp866": "Привет ░▒▓ ёЁ",
    "cp932": "日本語ｶﾀｶﾅ ～①㈱ 髙",
    "dec8": "Größe ñandú Œ",
    "eucjpms": "日本語ｶﾀｶﾅ ～①㈱ 髙 ⅰ",
    "euckr": "한국어 조선말 뷁 똠방각하",
    "gb18030": "简体中文 ḿ 😀 ß 𠀀 ü",
    "gb2312": "简体中文测试",
    "gbk": "简体中文測試 ｅ",
    "geostd8": "თბილისი აბგ",
    "greek": "Καλημέρα κόσμε ΆΈ",
    "hebrew": "שלום עולם",
    "hp8": "Größe Ñandú £",
    "keybcs2": "Příliš žluťoučký kůň",
    "koi8r": "Привет мир ё ░",
    "koi8u": "Привіт їжак Ґ є",
    "latin1": "naïve café € Œ “quoted” ÿ",
    "latin2": "Zażółć gęślą jaźń",
    "latin5": "İstanbul ığüşöç",
    "latin7": "Ąžuolas ķ “x”",
    "macce": "Zażółć gęślą Łž",
    "macroman": "naïve café ƒ∂ß",
    "sjis": "日本語ｶﾀｶﾅ 表ソ",
    "swe7": "ÅÄÖ åäö é Ü",
    "tis620": "ภาษาไทย กขค",
    "ucs2": "Ünï 日本 ✓ Ж",
    "ujis": "日本語ｶﾀｶﾅ 丂髙".replace("髙", ""),
    "utf16": "Ünï 😀 日本 ✓ 𠀀",
    "utf16le": "Ünï 😀 日本 ✓ 𠀀",
    "utf32": "Ünï 😀 日本 ✓ 𠀀",
    "utf8mb3": "Ünï 日本 ✓ Ж",
    "utf8mb4": "Ünï 😀 日本 ✓ 𠀀\t\n\\'\"",
}
"""Text in each charset of MySQL 9.7, of characters it supports."""

JSON_DOCUMENTS = [
    "null", "true", "false", "0", "-1", "32767", "-32768", "32768", "65535", "65536", "-32769",
    "2147483647", "-2147483648", "2147483648", "4294967295", "4294967296", "9223372036854775807",
    "-9223372036854775808", "9223372036854775808", "18446744073709551615", "1.0", "-0.0", "0.1",
    "1.5", "1e16", "1e22", "1e-7", "5e-324", "1.7976931348623157e308", "2.2250738585072014e-308",
    "123456789.123456789", "3.141592653589793", "100.25", "9007199254740993.0", "1e15", "1e17",
    '""', '"a"', '"quote \\" backslash \\\\ slash / tab \\t newline \\n \\u0000 \\u001f \\u007f"',
    '"Ünï 😀 日本"', '"\\ud83d\\ude00"', "[]", "{}", "[[]]", '{"a": {}}', '{"": ""}',
    '[1, 2.5, "x", null, true, {"k": [1, {"z": false}]}]',
    '{"b": 1, "a": [32768, 65536, -1], "Ü": "ß", "long key with spaces": null}',
    '{"mixed": [0, -1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 4294967296]}',
]  # fmt: skip
JSON_EXPRESSIONS = [
    "CAST(CAST(-12345.670 AS DECIMAL(10,3)) AS JSON)",
    "CAST(CAST(0.5 AS DECIMAL(30,30)) AS JSON)",
    f"CAST(CAST('{'9' * 35}.{'123456789' * 3}123' AS DECIMAL(65,30)) AS JSON)",
    "CAST(CAST('2015-01-15 23:24:25.5' AS DATETIME(6)) AS JSON)",
    "CAST(CAST('2015-01-15' AS DATE) AS JSON)",
    "CAST(CAST('-838:59:58.000001' AS TIME(6)) AS JSON)",
    "CAST(CAST('23:24:25' AS TIME) AS JSON)",
    "CAST(TIMESTAMP'2020-02-29 12:00:00.123456' AS JSON)",
    "JSON_ARRAY(b'101', x'00ff', CAST('abc' AS BINARY(5)), CAST(2020 AS YEAR))",
    "JSON_OBJECT('blob', REPEAT(x'ff', 57), 'longer', REPEAT(x'0102', 100), 'd', 1.50)",
    "JSON_OBJECT('g', ST_GeomFromText('POINT(1 2)'), 'e', 1e0, 'n', CAST(NULL AS SIGNED))",
    "JSON_ARRAY(1.5e0, 0.1e0 + 0.2e0, 1e0 / 3, -1e-5, 123456789012345678e0, 1e300 * 10)",
    "JSON_OBJECT('s', REPEAT('x', 127), 't', REPEAT('y', 128), 'u', REPEAT('é', 20000))",
    "CAST(CONCAT('[', REPEAT('[', 98), '1', REPEAT(']', 98), ']') AS JSON)",
    "CAST(CONCAT('[', REPEAT('123456,', 20000), '1]') AS JSON)",
    "JSON_OBJECT('k', JSON_ARRAY(1, 2), 'big', REPEAT('z', 70000), 'n', 70000, 'i', -70000)",
    "JSON_OBJECT('big', REPEAT('z', 70000), 'f', 1.5e0, 'u', 4294967295, 'l', JSON_ARRAY(1))",
]
GEOMETRIES = [
    ("POINT(1 2)", 0), ("POINT(-71.06 42.36)", 4326), ("LINESTRING(0 0, 1 1, 2 0)", 0),
    ("POLYGON((0 0, 10 0, 10 10, 0 10, 0 0), (1 1, 2 1, 2 2, 1 2, 1 1))", 0),
    ("MULTIPOINT(1 1, 2 2)", 0), ("MULTILINESTRING((0 0, 1 1), (2 2, 3 3))", 3857),
    ("MULTIPOLYGON(((0 0, 1 0, 1 1, 0 0)))", 0),
    ("GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(0 0, 1 1))", 0), ("GEOMETRYCOLLECTION EMPTY", 0),
]  # fmt: skip
DATES = ["0001-01-01", "1000-01-01", "1582-10-15", "1900-02-28", "1969-12-31", "1970-01-01",
         "2000-02-29", "2024-12-31", "9999-12-31"]  # fmt: skip
TIMES = ["00:00:00", "-00:00:00.000001", "00:00:00.999999", "-00:00:01", "23:59:59.999999",
         "-23:59:59.1", "100:00:00.5", "-99:59:59", "838:59:59", "-838:59:59",
         "-838:59:58.999999", "12:34:56.789012", "-00:00:00.5"]  # fmt: skip
TIMESTAMPS = ["1970-01-01 00:00:01", "1999-12-31 23:59:59.999999", "2024-02-29 12:34:56.5",
              "2038-01-19 03:14:07.499999"]  # fmt: skip


def literal(value: Any) -> str:
    """Return a Python value as an SQL literal, bytes in hex."""
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return NULL if value is None else str(escape_item(value, "utf8mb4"))


def table(name: str, columns: dict[str, str], rows: Iterable[Iterable[str]]) -> Table:
    """Return a table of these columns (name: type) and rows of SQL expressions, 20 rows a
    statement.
    """
    defined = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
    create = f"CREATE TABLE {name} (id INT NOT NULL PRIMARY KEY, {defined})"
    values = [f"({', '.join([str(number), *row])})" for number, row in enumerate(rows, 1)]
    inserts = [
        f"INSERT INTO {name} VALUES {', '.join(values[start : start + 20])}"
        for start in range(0, len(values), 20)
    ]
    return create, [*SESSION, *inserts]


def by_column(columns: dict[str, list[str]], count: int | None = None) -> list[list[str]]:
    """Return rows that repeat each column's values, with a NULL in between."""
    longest = max(len(values) for values in columns.values()) + 1
    cycles = [[*values, NULL] for values in columns.values()]
    return [[cycle[row % len(cycle)] for cycle in cycles] for row in range(count or longest)]


def integers() -> Table:
    """Every integer type, signed and unsigned: edges and random values; BOOLEAN, YEAR."""
    chance = random.Random(1)
    columns: dict[str, str] = {}
    values: dict[str, list[str]] = {}
    for kind, bits in INTEGERS.items():
        half = 1 << (bits - 1)
        for column, sql, low, high in (
            (f"{kind.lower()}_s", kind, -half, half - 1),
            (f"{kind.lower()}_u", f"{kind} UNSIGNED", 0, 2 * half - 1),
        ):
            columns[column] = sql
            edges = [low, low + 1, high, high - 1, 0, 1, min(half, high), max(-1, low)]
            values[column] = [str(n) for n in (*edges, *(chance.randint(low, high) for _ in edges))]
    columns |= {"flag": "BOOLEAN", "year": "YEAR"}
    values |= {"flag": ["0", "1", "-128"], "year": ["0", "1901", "2155", "1970", "2026"]}
    return table("zoo_integers", columns, by_column(values, ROWS))


def fixed_point(number: int, scale: int) -> str:
    """Return number / 10**scale, exactly."""
    digits = f"{abs(number):0{scale + 1}}"
    point = len(digits) - scale
    return f"{'-' * (number < 0)}{digits[:point]}{'.' * (scale > 0)}{digits[point:]}"


def decimals() -> Table:
    """DECIMAL of many shapes up to 65 digits: all nines, smallest steps, random values."""
    chance = random.Random(2)

    def samples(precision: int, scale: int) -> list[str]:
        largest = 10**precision - 1
        numbers = [0, 1, -1, largest, -largest, 10 ** (precision - 1), -(10 ** (precision // 2))]
        numbers += [chance.randint(-largest, largest) for _ in range(8)]
        numbers += [chance.randint(-(10**n), 10**n) for n in range(0, precision, 4)]
        return [fixed_point(number, scale) for number in numbers]

    names = {f"d_{p}_{s}": (p, s) for p, s in DECIMALS}
    return table(
        "zoo_decimals",
        {name: f"DECIMAL({p},{s})" for name, (p, s) in names.items()},
        by_column({name: samples(*shape) for name, shape in names.items()}),
    )


def floats() -> Table:
    """FLOAT and DOUBLE at their limits, denormals, negative zero, random bits."""
    chance = random.Random(3)
    doubles = ["0", "-0e0", "1.5", "-1e308", "1.7976931348623157e308", "2.2250738585072014e-308",
               "5e-324", "0.1", "1e16", "3.141592653589793"]  # fmt: skip
    doubles += [repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300)) for _ in range(20)]
    singles = ["0", "-0e0", "1.5", "3.402823e38", "1.17549435e-38", "1e-45", "0.1", "16777216"]
    columns = {"f": "FLOAT", "d": "DOUBLE", "u": "DOUBLE UNSIGNED", "fixed": "DOUBLE(20,4)"}
    values = {"f": singles, "d": doubles, "u": ["0", "1e300", "0.25"], "fixed": ["-1.25", "1e10"]}
    return table("zoo_floats", columns, by_column(values))


def bits() -> Table:
    """BIT of many widths."""
    chance = random.Random(4)
    widths = (1, 2, 7, 8, 9, 16, 17, 24, 31, 32, 33, 48, 57, 63, 64)
    numbers = {
        f"b{width}": [0, 1, (1 << width) - 1, 1 << (width - 1), *(chance.getrandbits(width),) * 3]
        for width in widths
    }
    columns = {f"b{width}": f"BIT({width})" for width in widths}
    values = {name: [str(n) for n in several] for name, several in numbers.items()}
    return table("zoo_bits", columns, by_column(values))


def temporal() -> Table:
    """DATE, DATETIME, TIME and TIMESTAMP with 0 to 6 digits, at both ends of their ranges."""
    chance = random.Random(5)
    columns = {"d": "DATE"}
    values = {"d": [f"'{day}'" for day in DATES]}
    clocks = ["00:00:00", "23:59:59.499999", "12:34:56.789", "00:00:00.000001"]
    datetimes = [f"'{day} {clock}'" for day in DATES for clock in clocks if day < "9999"]
    datetimes.append("'9999-12-31 23:59:59'")
    for digits in range(7):
        random_times = [
            f"'{chance.choice(('', '-'))}{chance.randint(0, 837):02}:{chance.randint(0, 59):02}:"
            f"{chance.randint(0, 58):02}.{chance.randint(0, 999999):06}'"
            for _ in range(10)
        ]
        columns[f"dt{digits}"] = f"DATETIME({digits})"
        values[f"dt{digits}"] = datetimes
        columns[f"ts{digits}"] = f"TIMESTAMP({digits}) NULL"
        values[f"ts{digits}"] = [f"'{stamp}'" for stamp in TIMESTAMPS]
        columns[f"t{digits}"] = f"TIME({digits})"
        values[f"t{digits}"] = [f"'{time}'" for time in TIMES] + random_times
    return table("zoo_temporal", columns, by_column(values))


def zero_dates() -> Table:
    """Invalid dates: zero, without a month or day, February 30, the year 0."""
    days = ["0000-00-00", "2020-00-10", "2020-10-00", "2023-02-30", "0000-01-01", "2023-02-28"]
    columns = {"d": "DATE", "dt": "DATETIME", "dt3": "DATETIME(3)"}
    columns |= {"ts": "TIMESTAMP NULL", "ts6": "TIMESTAMP(6) NULL"}
    stamps = ["'0000-00-00 00:00:00'", "'2001-02-03 04:05:06'"]
    values = {
        "d": [f"'{day}'" for day in days],
        "dt": [f"'{day} 01:02:03'" for day in days],
        "dt3": [f"'{day} 00:00:00.250'" for day in days],
        "ts": stamps,
        "ts6": stamps,
    }
    create, statements = table("zoo_zero_dates", columns, by_column(values))
    return create, [SESSION[0], "SET sql_mode = 'ALLOW_INVALID_DATES'", *statements[len(SESSION) :]]


def text() -> Table:
    """CHAR, VARCHAR and TEXT of every length prefix, trailing spaces, long and empty values."""
    columns = {
        "c": "CHAR(10)", "c255": "CHAR(255)", "v": "VARCHAR(20)", "v255": "VARCHAR(255)",
        "v300": "VARCHAR(300)", "v5000": "VARCHAR(5000)", "tt": "TINYTEXT", "t": "TEXT",
        "mt": "MEDIUMTEXT", "lt": "LONGTEXT", "l1": "VARCHAR(300) CHARACTER SET latin1",
    }  # fmt: skip
    samples = {
        "c": ["", "a", "ab  ", "  ab", "日本語", "x" * 10, "😀" * 10],
        "c255": ["", "y" * 255, "é" * 255],
        "v": ["", "trailing  ", "\0\x01\x7f", "x" * 20],
        "v255": ["", "q" * 31, "q" * 32, "q" * 33, "q" * 64, "q" * 255],
        "v300": ["short", "w" * 300, "ü" * 299],
        "v5000": ["5", "v" * 5000, "日" * 5000],
        "tt": ["", "t" * 255, "é" * 127],
        "t": ["", "t" * 256, "t" * 65535, "é" * 30000],
        "mt": ["m", "m" * 70000],
        "lt": ["l", "😀" * 20000, "l" * 100000],
        "l1": ["", "café €", "ÿ" * 300],
    }
    values = {column: [literal(value) for value in several] for column, several in samples.items()}
    return table("zoo_text", columns, by_column(values))


def charsets(lacks: Collection[str] = ()) -> Table:
    """Text in every charset of the server, except those it `lacks`."""
    samples = {name: sample for name, sample in CHARSET_SAMPLES.items() if name not in lacks}
    values = {
        charset: [literal(sample), literal(sample * 3), "''", literal("A1")]
        for charset, sample in samples.items()
    }
    columns = {charset: f"VARCHAR(200) CHARACTER SET {charset}" for charset in samples}
    return table("zoo_charsets", columns, by_column(values))


def binary() -> Table:
    """BINARY with trailing zeros, VARBINARY and BLOB of every length prefix."""
    columns = {
        "b": "BINARY(8)", "b1": "BINARY", "b255": "BINARY(255)", "v": "VARBINARY(20)",
        "v300": "VARBINARY(300)", "tb": "TINYBLOB", "bl": "BLOB", "mb": "MEDIUMBLOB",
        "lb": "LONGBLOB",
    }  # fmt: skip
    every_byte = bytes(range(256))
    samples = {
        "b": [b"", b"a", b"abcdefgh", b"a\0\0", b"\0" * 8, b"\0a", b"a  "],
        "b1": [b"", b"\xff", b"\0"],
        "b255": [b"", every_byte[1:], every_byte[:-1]],
        "v": [b"", b"\0", b"v\0\0", b" ", every_byte[-20:]],
        "v300": [every_byte, b"\0" * 300],
        "tb": [b"", every_byte[:-1]],
        "bl": [b"", every_byte, every_byte * 255],
        "mb": [b"m", every_byte * 300],
        "lb": [b"l", every_byte * 400],
    }
    values = {column: [literal(value) for value in several] for column, several in samples.items()}
    return table("zoo_binary", columns, by_column(values))


def labels() -> Table:
    """ENUM of one and two bytes, SET of one to eight, in several charsets; the empty value."""

    def quoted(names: Iterable[str]) -> str:
        return ", ".join(f"'{name}'" for name in names)

    chance = random.Random(6)
    many = [f"label {n}" for n in range(300)]
    sets = {"s1": 1, "s5": 5, "s8": 8, "s9": 9, "s17": 17, "s25": 25, "s33": 33, "s64": 64}
    columns = {
        "e": f"ENUM({quoted(['a', 'b c', 'été', '日本', ''])})",
        "e_many": f"ENUM({quoted(many)})",
        "e_latin1": f"ENUM({quoted(['ä', '€', 'plain'])}) CHARACTER SET latin1",
        "e_ucs2": f"ENUM({quoted(['ж', '日'])}) CHARACTER SET ucs2",
        "s_sjis": f"SET({quoted(['表', 'ソ', 'b'])}) CHARACTER SET sjis",
        **{name: f"SET({quoted(f'm{n}' for n in range(size))})" for name, size in sets.items()},
    }
    values = {
        "e": [literal(value) for value in ("a", "b c", "été", "日本", "")] + ["0"],
        "e_many": [literal(many[n]) for n in (0, 1, 254, 255, 256, 299)] + ["0"],
        "e_latin1": [literal(value) for value in ("ä", "€", "plain")],
        "e_ucs2": [literal(value) for value in ("ж", "日")],
        "s_sjis": [literal(value) for value in ("", "表", "表,ソ", "ソ,b")],
        **{
            name: [str(n) for n in (0, 1, (1 << size) - 1, 1 << (size - 1),
                                    *(chance.getrandbits(size) for _ in range(6)))]
            for name, size in sets.items()
        },
    }  # fmt: skip
    create, statements = table("zoo_labels", columns, by_column(values))
    return create, [SESSION[0], "SET sql_mode = ''", *statements[len(SESSION) :]]


def documents() -> Table:
    """Every kind of JSON, as a column and inside an object."""
    chance = random.Random(7)
    plain = [f"CAST({literal(document)} AS JSON)" for document in JSON_DOCUMENTS]
    plain += [f"CAST({literal(random_document(chance))} AS JSON)" for _ in range(150)]
    every = plain + JSON_EXPRESSIONS
    return table("zoo_json", {"j": "JSON"}, [[value] for value in (*every, NULL)])


def random_document(chance: random.Random, depth: int = 0) -> str:
    """Return JSON text of random shape, with edge-case numbers and strings."""
    kind = chance.randrange(7 if depth < 5 else 5)
    if kind < 2:
        return str(chance.choice((1, -1)) * chance.getrandbits(chance.choice((7, 15, 16, 31, 63))))
    if kind == 2:
        return repr(chance.uniform(-1, 1) * 10.0 ** chance.randint(-20, 20))
    if kind == 3:
        return (
            '"' + "".join(chance.choice("aé日😀 /\\").replace("\\", "\\n") for _ in range(9)) + '"'
        )
    if kind == 4:
        return chance.choice(("null", "true", "false"))
    values = [random_document(chance, depth + 1) for _ in range(chance.randrange(6))]
    if kind == 5:
        return f"[{', '.join(values)}]"
    return "{" + ", ".join(f'"key{n}": {value}' for n, value in enumerate(values)) + "}"


def geometries() -> Table:
    """Every spatial type, with and without a spatial reference system."""
    points = [f"ST_GeomFromText('{text}', {srid})" for text, srid in GEOMETRIES]
    columns = {"g": "GEOMETRY", "p": "POINT", "c": "GEOMETRYCOLLECTION", "p4326": "POINT SRID 4326"}
    values = {"g": points, "p": points[:2], "c": points[-2:], "p4326": [points[1]]}
    return table("zoo_geometries", columns, by_column(values))


def vectors() -> Table:
    """VECTOR of one to many floats."""
    chance = random.Random(8)
    texts = ["[1]", "[0, -1.5, 3.25]", "[1.2e-38, 3.4e38]"]
    texts.append("[" + ", ".join(f"{chance.uniform(-1, 1):.6f}" for _ in range(300)) + "]")
    columns = {"v": "VECTOR(300)", "v3": "VECTOR(3)"}
    several = [f"STRING_TO_VECTOR('{text}')" for text in texts]
    return table("zoo_vectors", columns, by_column({"v": several, "v3": several[:3]}))


EXACT: list[Callable[[], Table]] = [
    integers, decimals, floats, bits, temporal, text, charsets, binary, labels, documents,
    geometries, vectors,
]  # fmt: skip
LOSSY: list[Table] = [zero_dates()]
TABLES: list[Table] = [*(make() for make in EXACT), *LOSSY]
