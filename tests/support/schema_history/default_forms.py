"""Forms of DEFAULT in the grammars of MySQL and MariaDB, crossed with types and sessions.

Sources: `now_or_signed_literal`, `signed_literal`, `literal`, `text_literal` and `temporal_literal`
of MySQL's `sql/sql_yacc.yy`; `column_default_expr` of MariaDB's. A server rejects many combinations
of form and type, which is cheap; for the rest, its SELECT defines the expected value.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.support.schema_history.default_answers import DefaultForm

NUMBERS = (
    *("0", "1", "-1", "+7", "7", "-0", "007", "2.5", "-2.5", "3.5", ".5", "-.5", "5.", "12.50"),
    *("1e2", "1.5e0", "2.5e0", "-2.5E+0", "1e-3", "1E20", "0.0000001", "1.1", "99", "69", "70"),
    *("1234567890123456789012345678.1234567891", "-1234567890123456789012345678.1234567891"),
    *("-99999999999999999999999999999999999.999999999999999999999999999999",),
    *("9223372036854775807", "18446744073709551615", "-9223372036854775808", "16777217", "TRUE"),
    *("FALSE", "true", "2024", "240102", "20240102", "20240102030405", "240102030405"),
    *("20240102030405.678", "20240102030405.9999999", "101", "123", "10.78", "-102030.456"),
    *("102030.4999999", "8385959", "20240102.5", "1.005", "0.5e1", "10000101"),
)  # fmt: skip
BYTES = (
    *("x'41'", "X'4142'", "0x41", "0x4142", "0x0A", "x''", "x'35'", "0x35", "x'00ff'", "0x0"),
    *("x'c3a9'", "0xC3A9", "b'101'", "B'1'", "0b101", "b''", "b'0'", "b'01100001'", "0x313233"),
    *("_utf8mb4 x'c3a9'", "_latin1 x'e9'", "_latin1 0xE9", "_binary x'4142'"),
    *("_utf8mb4 b'01000001'", "_ucs2 x'00e9'", "_utf16 x'0041'", "_ucs2 0x41", "_latin1 x'35'"),
    *("_ascii x'41'",),
)  # fmt: skip
STRINGS = (
    *("''", "'a'", '"a"', "'A'", "'abc'", "'a '", "' a'", "'b,a'", "'a,b'", "'B'", "'1'", "'2'"),
    *("'a' 'b'", "'a' 'b' \"c\"", "\"a\" 'b'", "'a'\n'b'", "'a' /* x */ 'b'", "'a' -- x\n 'b'"),
    *("'a''b'", "'a\"b'", "\"a'b\"", '"a""b"', "'a\\'b'", "'a\\\\b'", "'\\n\\t\\0\\Z\\b\\r'"),
    *("'\\%\\_\\q'", "N'a'", "n'é'", "N'a' 'b'", "_utf8mb4'a'", "_utf8mb4 'é'", "_utf8mb3'é'"),
    *("_latin1'a'", "_latin1'é'", '_latin1 "é"', "_binary'a'", "_binary'é'", "_ascii'a'"),
    *("_utf8mb4'a' 'b'", "_latin1'a' 'é'", "_ucs2'ab'", "_gbk'a'", "_sjis'é'", "_koi8r'a'"),
    *("_cp1251'é'", "'é'", "'É'", "'ß'", "'漢字'", "'😀'", "'€'", "'abcdefghijklmnopqrst   '"),
    *("'abcde  '", "'null'"),
    *("'NULL'", "'12'"),
)  # fmt: skip
NUMERIC_STRINGS = (
    *("'5'", "'-7'", "'+7'", "' 5'", "'5 '", "'2.5'", "'-2.5'", "'1e2'", "'2.5e0'", "'0'"),
    *("'00'", "'.5'", "'5.'", "'-0'", "'-0.0004'", "'007'", "'1_000'", "'0000'", "'24'", "'69'"),
    *("'70'", "'2024'", "'123'", "'16777217'", "'1.005'", "'9223372036854775807'", "'255'"),
    *("'-1234567890123456789012345678.1234567891'",),
)  # fmt: skip
COLLATED = ("'x' COLLATE utf8mb4_bin", "'é' COLLATE utf8mb4_general_ci")
"""For text columns only: MariaDB turns a VARBINARY with a COLLATE into text."""
TIMES = (
    *("'2024-01-02'", "'2024-1-2'", "'24-1-2'", "'70-1-2'", "'1-1-1'", "'2024/01/02'"),
    *("'2024.01.02'", "'2024@01@02'", "'2024_01_02'", "'20240102'", "'240102'", "'0000-00-00'"),
    *("'2024-00-00'", "'2024-02-00'", "'0000-01-01'", "'2024-02-30'", "'2024-02-31'"),
    *("' 2024-01-02'", "'2024-01-02 '", "'2024-01-02 03:04:05'", "'2024-01-02T03:04:05'"),
    *("'2024-01-02  03:04:05'", "'2024-01-02 3:4:5'", "'2024-01-02 03:04'", "'2024-01-02 03'"),
    *("'2024-01-02 03.04.05'", "'20240102030405'", "'240102030405'", "'20240102T030405'"),
    *("'2024-01-02 03:04:05.6'", "'2024-01-02 03:04:05.5'", "'2024-01-02 03:04:05.4999999'"),
    *("'2024-01-02 03:04:05.9999999'", "'2024-12-31 23:59:59.9'", "'2024-12-31 23:59:59.999'"),
    *("'2024-12-31 23:59:59.999999'", "'2024-01-02 03:04:05.'", "'20240102030405.75'"),
    *("'0000-00-00 00:00:00'", "'20240102.5'", "'2024-01-02 03:04:05+02:00'"),
    *("'2024-01-02 03:04:05.5-05:30'", "'2024-01-02 23:59:59.9+00:00'", "'10:20:30'", "'1:2:3'"),
    *("'10:20'", "'1:2:3.456'", "'10:20:30.5'", "'-10:20:30.55'", "'102030'", "'-1:2:3'"),
    *("'100:00:00'", "'838:59:59'", "'838:59:59.9'", "'2 3'", "'2 03:04:05.6'", "'1 2:3'"),
    *("'-0:0:0'", "'10:20:30.4999999'", "'23:59:59.9999999'", "'102030.5'", "'10.78'"),
    *("DATE '2024-01-02'", "DATE'2024-1-2'", "TIMESTAMP '2024-01-02 03:04:05'"),
    *("TIME '10:20:30'", "TIMESTAMP'2024-01-02 03:04:05.678'", "TIME'10:20:30.55'"),
    *("TIMESTAMP'2024-01-02 03:04:05+02:00'", "{d '2024-01-02'}", "{ts '2024-01-02 03:04:05'}"),
    *("{t '10:20:30'}", "{d'2024-01-02'}"),
)  # fmt: skip
NOWS = (
    *("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP()", "NOW()", "LOCALTIME", "LOCALTIMESTAMP()"),
    *("CURRENT_TIMESTAMP(3)", "NOW(6)", "now(2)", "(NOW())", "(now(3))"),
    *("(CURRENT_TIMESTAMP(6))", "(CURDATE())", "(CURRENT_DATE)", "(CURTIME())", "(CURTIME(2))"),
    *("(UTC_TIMESTAMP())", "(UTC_DATE())", "(UTC_TIME())", "(UNIX_TIMESTAMP())"),
    *("(NOW() + INTERVAL 1 DAY)", "(SYSDATE())", "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP"),
    *("CURRENT_TIMESTAMP(3) ON UPDATE NOW(3)",),
)  # fmt: skip
EXPRESSIONS = (
    *("(5)", "((5))", "(-5)", "(- -5)", "(--5)", "(+5)", "(-(3))", "(60 * 60 - 1)", "(60*60*24)"),
    *("(1 + 2 * 3)", "((1 + 2) * 3)", "(2.5 * 2)", "(1.50 + 1)", "(0.1 + 0.2)", "(10 - 2.55)"),
    *("(1/3)", "(6/2)", "(7 DIV 2)", "(7 % 3)", "(7 MOD 3)", "(1 = 1)", "(NOT 1)", "(NOT 0 + 1)"),
    *("(! 0)", "(~0)", "(1 << 3)", "(5 & 4)", "(1 OR 0)", "(1 || 0)", "('a' || 'b')"),
    *("('1' || '2')", "(1234567890123456789012345678.1234567891 + 0)"),
    *("(-1234567890123456789012345678.1234567891 * 1)", "('a')", "('a' 'b')", "('a' 'b' \"c\")"),
    *('("a")', "(CONCAT('a', 'b'))", "(CONCAT('a', 1))", "(UPPER('a'))", "(REPEAT('ab', 3))"),
    *("(NULL)", "(TRUE)", "(2.5)", "('2.5')", "(2.5e0)", "(1e2)", "(x'41')", "(0x41)"),
    *("(b'101')", "(_latin1'a')", "(_latin1'é')", "(_utf8mb4'é' COLLATE utf8mb4_bin)"),
    *("('x' COLLATE utf8mb4_bin)", "(_binary'a')", "(N'é')", "(BINARY 'a')", "('5' + 1)"),
    *("('é')", "(CAST('5' AS SIGNED))", "(CAST(5 AS UNSIGNED))", "(CAST('a' AS CHAR(5)))"),
    *("(CAST('a' AS BINARY))", "(CAST('2024-01-02' AS DATE))"),
    *("(CAST('2024-01-02 03:04:05.6' AS DATETIME))", "(CAST(2.55 AS DECIMAL(5,1)))"),
    *("(CONVERT('a' USING latin1))", "(CONVERT('é' USING utf8mb4))", "(CONVERT('5', SIGNED))"),
    *("(DATE '2024-01-02')", "(TIMESTAMP'2024-01-02 03:04:05.678')", "(TIME'10:20:30.55')"),
    *("({ts '2024-01-02 03:04:05'})", "('2024-01-02')", "('2024-01-02 03:04:05.678')"),
    *("('10:20:30.55')", "(20240102)", "(300)", "(99999)", "(-1)"),
    *("('abcdefghijklmnopqrstuvwxyz')", "(IF(1, 'a', 'b'))", "(COALESCE(NULL, 'a'))"),
    *("(IFNULL(NULL, 5))", "(NULLIF(1, 1))", "(CASE WHEN 1 THEN 'a' ELSE 'b' END)", "(PI())"),
    *("(ABS(-5))", "(ROUND(2.5))", "(CHAR(65))", "(GREATEST(1, 2))", "(LENGTH('abc'))"),
    *("(UUID())", "(RAND())", "(id)", "(id + 1)", "(USER())"),
)  # fmt: skip
DOCUMENTS = (
    *("('{}')", "('[]')", "('[1, 2]')", "('{\"b\":1,\"a\":2}')", "('{\"a\":1,\"a\":2}')"),
    *("('\"x\"')", "('1.50')", "('1e2')", "('null')", "('true')", "(JSON_ARRAY())"),
    *("(JSON_OBJECT())", "'{}'", "'[]'", "(JSON_ARRAY(1, 'x', NULL, TRUE, 1.50))"),
    *("(JSON_OBJECT('b', 1, 'a', 2))", "'{\"b\":1,\"a\":2}'"),
    *("(JSON_OBJECT('k', JSON_ARRAY('é', FALSE)))", "(JSON_OBJECT('a', 1, 'a', 2))", "'[1,2]'"),
    *("(JSON_ARRAY(1e2, -1.5, 'a\"b'))", "(CAST('[1]' AS JSON))", "(CAST(5 AS JSON))"),
    *("(JSON_QUOTE('a'))", "(CAST('{\"b\": 1, \"a\": 2}' AS JSON))", "(JSON_ARRAY(x'41'))"),
    *("(JSON_ARRAY('a' 'b'))", "(JSON_ARRAY(DATE'2024-01-02'))", "(JSON_ARRAY(1+1))"),
    *("('[1, 1.0, 100000000000000000000]')",),
)  # fmt: skip
OF_MARIADB = (
    *("CAST('5' AS SIGNED)", "CONCAT('a', 'b')", "COALESCE(NULL, 'a')", "IF(1, 'a', 'b')"),
    *("UUID()", "CASE WHEN 1 THEN 'a' ELSE NULL END", "BINARY 'a'", "CONVERT('a' USING latin1)"),
    *("CURDATE()", "JSON_ARRAY(1, 'x')", "JSON_OBJECT('b', 1, 'a', 2)", "UNIX_TIMESTAMP()"),
    *("ROUND(2.5)", "CURTIME(2)", "DATE_FORMAT('2024-01-02', '%Y')", "NOT 1", "id", "CHAR(65)"),
    *("INTERVAL(5, 1)", "PI()", "(1 + 1) * 2", "CURRENT_DATE", "UTC_TIMESTAMP()", "SYSDATE()"),
    *("{ts'2024-01-02 03:04:05.6'}",),
)  # fmt: skip
NUMERIC_TYPES = (
    *("tinyint", "int", "bigint unsigned", "decimal(8,3)", "decimal(65,30)", "double", "float"),
    *("float(7,3)", "bit(9)", "bit", "year"),
)
TEXT_TYPES = (
    *("varchar(20)", "char(5)", "varchar(20) character set latin1", "varbinary(20)", "binary(4)"),
    *("enum('a','b','1','0')", "set('a','b','c')"),
)
BIG_TEXT_TYPES = ("text", "blob")
TEMPORAL_TYPES = (*("date", "datetime", "datetime(6)", "timestamp(2) null", "time", "time(2)"),)
IMPLICIT = (
    *("int", "decimal(5,2)", "float", "double", "bit(9)", "bit", "year", "varchar(5)", "char(3)"),
    *("text", "blob", "varbinary(3)", "binary(3)", "enum('b','a')", "set('x','y')", "json"),
    *("date", "datetime", "datetime(2)", "timestamp", "timestamp(3)", "time", "time(1)", "point"),
    *("bigint unsigned",),
)  # fmt: skip


def crossed(defaults: Iterable[str], types: Iterable[str]) -> list[DefaultForm]:
    """Return each DEFAULT in each type."""
    types = tuple(types)
    return [DefaultForm(kind, f"DEFAULT {default}") for default in defaults for kind in types]


def forms(*, mariadb: bool) -> list[DefaultForm]:
    """Return every form in every type that it may have, for an ordinary session."""
    literals = (*NUMBERS, *BYTES, *STRINGS, *NUMERIC_STRINGS, *TIMES)
    small = (*NUMERIC_TYPES, *TEXT_TYPES, *TEMPORAL_TYPES)
    own = OF_MARIADB if mariadb else ()
    # MariaDB rejects an implicit DEFAULT for JSON, whose CHECK requires a valid document.
    implicit = [kind for kind in IMPLICIT if kind != "json" or not mariadb]
    return list(
        dict.fromkeys(
            (
                *crossed(literals, (*small, *(BIG_TEXT_TYPES if mariadb else ()))),
                *crossed(COLLATED, ("varchar(20)", "char(5)", "varchar(20) character set latin1")),
                *crossed(NOWS, (*TEMPORAL_TYPES, "varchar(30)", "bigint")),
                *crossed((*EXPRESSIONS, *own), EXPRESSION_TYPES),
                *crossed(DOCUMENTS, ("json", "text", "varchar(30)")),
                *crossed(("NULL", "null"), (*small, *BIG_TEXT_TYPES, "json")),
                *(
                    DefaultForm(kind, null)
                    for kind in implicit
                    for null in ("NOT NULL", "NULL", "")
                ),
            )
        )
    )


EXPRESSION_TYPES = (
    *("tinyint", "bigint", "decimal(8,3)", "decimal(65,30)", "double", "varchar(20)"),
    *("text", "varbinary(20)", "enum('a','b')", "date", "datetime", "datetime(2)", "time(1)"),
)
