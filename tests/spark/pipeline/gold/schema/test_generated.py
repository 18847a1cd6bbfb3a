"""Expressions of generated columns over Spark's columns: values, and whether they are certain."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as sf

from decoder import TypeOptions
from pipeline.gold.schema.converted_values import certainly_converted
from pipeline.gold.schema.generated import generated_value
from pipeline.gold.table.gold_table import gold_schema
from pipeline.schema_history.alter.generated import recomputed
from pipeline.schema_history.ddl.conversion_mode import ConversionMode, UnknownValueError
from pipeline.schema_history.ddl.ddl import StatementContext, effects
from pipeline.schema_history.ddl.effects import CreateTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = (
    "i int, b bigint, d decimal(9,3), v varchar(20), l varchar(20) charset latin1,"
    " j longtext, at datetime(3), day date"
)
STRUCT = (
    "i: int, b: bigint, d: decimal(9,3), v: string, l: string, j: string,"
    " at: timestamp_ntz, day: date"
)
ROW = {
    "i": 7,
    "b": -3,
    "d": Decimal("2.125"),
    "v": "Ann",
    "l": "Lee",
    "j": '{"a": 2, "p": 1.005, "f": false, "n": {"first": "Zoë"}}',
    "at": datetime(2024, 2, 29, 23, 59, 58, 900000),
    "day": date(1999, 12, 31),
}
UNCERTAIN = object()
MODE = ConversionMode(mariadb=True)

CASES: list[tuple[str, str, dict[str, Any], Any]] = [
    ("int", "i + b * 2", {}, 1),
    ("int", "-i", {}, -7),
    ("int", "i DIV 2", {}, 3),
    ("int", "i DIV (b + 3)", {"b": -3}, UNCERTAIN),  # a BIGINT may have more digits
    ("int", "i DIV 0", {}, None),
    ("int", "MOD(i, 4)", {}, 3),
    ("int", "-i % 4", {}, -3),
    ("int", "d", {}, 2),
    ("int", "d", {"d": Decimal("-2.5")}, -3),
    ("tinyint", "i * 100", {}, 127),
    ("tinyint", "i * -100", {}, -128),
    ("decimal(5,1)", "d * 2", {}, Decimal("4.3")),
    ("decimal(5,1)", "d * 100000", {}, Decimal("9999.9")),
    ("decimal(5,1)", "d * i", {"i": None}, None),
    ("int", "IF(i > 5, 1, 0)", {}, 1),
    ("int", "IF(i > 5, 1, 0)", {"i": None}, 0),
    ("int", "CASE i WHEN 7 THEN 70 WHEN 8 THEN 80 END", {}, 70),
    ("int", "CASE i WHEN 7 THEN 70 WHEN 8 THEN 80 END", {"i": 9}, None),
    ("int", "i IS NOT NULL AND NOT b <= -5", {}, 1),
    ("int", "v IS NULL OR NULL", {"v": "x"}, None),
    ("int", "!(i > 5)", {}, 0),
    ("int", "(b - 4) DIV 2", {"b": 1}, UNCERTAIN),
    ("int", "(0 - i) DIV 2", {}, -3),
    ("int", "day IS NULL", {}, 0),
    ("int", "day IS NULL", {"day": None}, UNCERTAIN),  # or a zero date
    ("int", "COALESCE(i, b)", {"i": None}, -3),
    ("int", "NULLIF(i, 7)", {}, None),
    ("int", "ABS(b)", {}, 3),
    ("varchar(9)", "CONCAT(v, '-', i)", {}, "Ann-7"),
    ("varchar(9)", "CONCAT(v, '-', i)", {"v": None}, None),
    ("varchar(9)", "CONCAT(v, '-', i)", {"v": "much too long"}, UNCERTAIN),
    ("varchar(9)", "CONCAT_WS('-', v, l, NULL)", {"v": None}, "Lee"),
    ("varchar(9)", "v", {"v": "a\ufffd"}, UNCERTAIN),  # bytes that are no text
    ("varchar(9)", "v", {"v": "é"}, "é"),
    ("varchar(9) charset latin1", "v", {"v": "é"}, UNCERTAIN),
    ("varchar(9) charset latin1", "v", {}, "Ann"),
    ("char(32)", "MD5(v)", {"v": "é"}, "66ddcd97cfdeabb2f6fb8a999b4bc76f"),
    ("varchar(9) charset latin1", "l", {"l": "é"}, "é"),
    ("char(9)", "v", {"v": "a "}, "a"),
    ("varchar(9)", "LOWER(v)", {}, "ann"),
    ("varchar(9)", "UPPER(v)", {"v": "é"}, UNCERTAIN),
    ("varchar(9)", "LEFT(v, 2)", {"v": "éab"}, "éa"),
    ("varchar(9)", "RIGHT(v, 2)", {"v": "éab"}, "ab"),
    ("varchar(9)", "RIGHT(v, 0)", {}, ""),
    ("varchar(9)", "SUBSTR(v, 2)", {}, "nn"),
    ("varchar(9)", "MID(v, 2, 1)", {}, "n"),
    ("varchar(9)", "TRIM(v)", {"v": "  x "}, "x"),
    ("int", "CHAR_LENGTH(v)", {"v": "éab"}, 3),
    ("char(32)", "MD5(l)", {"l": "a"}, "0cc175b9c0f1b6a831c399e269772661"),
    ("char(32)", "MD5(l)", {"l": "é"}, UNCERTAIN),
    ("char(40)", "SHA1(l)", {"l": "a"}, "86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
    ("int unsigned", "CRC32(l)", {"l": "a"}, 3904355907),
    ("int", "YEAR(at)", {}, 2024),
    ("int", "YEAR(at)", {"at": None}, UNCERTAIN),
    ("int", "MONTH(day)", {}, 12),
    ("int", "SECOND(at)", {}, 58),
    ("date", "DATE(at)", {}, date(2024, 2, 29)),
    ("int", "JSON_VALUE(j, '$.a')", {}, 2),
    ("int", "JSON_VALUE(j, '$.b')", {}, None),
    ("int", "JSON_VALUE(j, '$.n.first')", {}, UNCERTAIN),
    ("int", "JSON_VALUE(j, '$.f')", {}, 0),
    ("decimal(5,1)", "JSON_VALUE(j, '$.p')", {}, Decimal("1.0")),
    ("varchar(9)", "JSON_VALUE(j, '$.n.first')", {}, "Zoë"),
    ("varchar(9)", "JSON_VALUE(j, '$.n')", {}, UNCERTAIN),
    ("varchar(9)", "JSON_VALUE(j, '$.a')", {"j": '{"a": "x\\u0041"}'}, UNCERTAIN),
    ("varchar(9)", "JSON_VALUE(j, '$.a')", {"j": '{"a": 1, "a": 2}'}, UNCERTAIN),
    ("varchar(9)", "JSON_VALUE(j, '$.a')", {"j": "no JSON"}, UNCERTAIN),
    ("varchar(9)", "JSON_VALUE(j, '$.a')", {"j": None}, None),
    ("varchar(9)", "JSON_EXTRACT(j, '$.n.first')", {}, '"Zoë"'),
    ("varchar(9)", "JSON_UNQUOTE(JSON_EXTRACT(j, '$.f'))", {}, "false"),
]  # fmt: skip


def test_values_and_whether_they_are_certain(spark: SparkSession) -> None:
    """All in one query, since Spark takes long to plan each."""
    columns = []
    rows = [{**ROW, **changed} for _, _, changed, _ in CASES]
    for n, (declared, expression, _, _) in enumerate(CASES):
        statement = f"CREATE TABLE t ({COLUMNS}, g {declared} AS ({expression})) CHARSET utf8mb4"
        (created,) = effects(statement, StatementContext("s", mariadb=True))
        assert isinstance(created, CreateTable)
        *others, target = created.columns
        try:
            kept = [column.definition for column in others]
            tree, how = recomputed(target.definition, target.expression, kept, MODE)
        except UnknownValueError:
            continue
        kind = gold_schema(created.definition, TypeOptions())["g"].dataType
        value, is_certain = generated_value(tree, lambda name, n=n: sf.col(f"r{n}.{name}"))
        stored, is_known = certainly_converted(value, how, kind)
        found = sf.struct(stored.alias("value"), (is_certain & is_known).alias("certain"))
        columns.append(found.alias(f"c{n}"))
    schema = ", ".join(f"r{n} struct<{STRUCT}>" for n in range(len(rows)))
    (row,) = spark.createDataFrame([tuple(rows)], schema).select(*columns).collect()
    found = row.asDict()
    for n, (declared, expression, changed, value) in enumerate(CASES):
        result = found.get(f"c{n}")
        is_certain = result is not None and result["certain"]
        case = f"{expression} as {declared} with {changed}"
        assert is_certain == (value is not UNCERTAIN), case
        assert not is_certain or result["value"] == value, case
