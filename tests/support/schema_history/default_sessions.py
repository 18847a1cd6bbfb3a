"""Sessions in which DEFAULTs have other meanings, and the forms to try in each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.support.schema_history import default_forms
from tests.support.schema_history.default_answers import DefaultForm, DefaultSession
from tests.support.schema_history.default_forms import crossed

_STRICT = "STRICT_TRANS_TABLES"
_TEXT = ("varchar(20)", "varbinary(20)", "varchar(20) character set latin1", "char(5)")
_STRINGS = (
    *("'a'", '"a"', "'a' 'b'", "'a' \"b\"", "'a\\\\b'", "'a\\nb'", "'\\%'", "'a''b'"),
    *('"a""b"', "''", "N'a'", "_latin1'a'", "_utf8mb4'a'", "x'41'", "0x4142", "'a '"),
    *("('a' || 'b')", "('a')", "('a' 'b')", '("a")', "('a\\\\b')", "('')"),
    *("'abcdefghijklmnopqrst   '", "(CONCAT('a', 'b'))"),
)  # fmt: skip
_ACCENTS = (
    *("'é'", "N'é'", "_latin1'é'", "_utf8mb4'é'", "_utf8mb3'é'", "_binary'é'", "'éa'"),
    *("'ß€'", "'a'", "_utf8mb4 x'c3a9'", "_latin1 x'e9'", "x'e9'", "x'c3a9'", "'漢'"),
    *("'ソ表'", "'漢' 'é'", "('é')", "_gbk'a'", "_gbk x'b0a1'", "_sjis x'8abf'", "'a' 'é'"),
    *("N'漢'", "('漢')", "'ソ\\\\'", "_cp1251'é'"),
)  # fmt: skip
_FRACTIONS = (
    *("'2024-01-02 03:04:05.6'", "'2024-12-31 23:59:59.999999'"),
    *("'2024-01-02 03:04:05.4999999'", "'2024-01-02 03:04:05.9999999'", "'10:20:30.55'"),
    *("'-10:20:30.95'", "20240102030405.75", "10.78", "'23:59:59.99'"),
    *("'10:20:30.4999999'", "TIMESTAMP'2024-01-02 03:04:05.678'", "TIME'10:20:30.55'"),
    *("('2024-01-02 03:04:05.678')", "('10:20:30.55')", "(NOW(6))", "NOW()"),
    *("'2024-01-02 03:04:05.006'", "1.005", "'838:59:59.9'"),
    *("TIMESTAMP'2024-01-02 03:04:05.9999999'",),
)  # fmt: skip
_DATES = (
    *("'2024-02-31'", "'2024-02-30 10:00:00'", "'0000-00-00'", "'2024-00-00'", "0"),
    *("'2024-01-00'", "''", "'2024-13-01'", "'2024-01-32'", "20240231"),
    *("DATE'2024-01-02'", "('2024-02-31')", "('2024-00-01')", "('0000-00-00')", "('x')"),
    *("('2024-01-02 25:00:00')", "'2024-01-02 24:00:00'", "(0)", "('')"),
)  # fmt: skip
_MISFITS = (
    *("300", "-1", "'300'", "(300)", "(-1)", "('abc')", "'abc'", "(99999.999)", "1e30"),
    *("(1e30)", "''", "('')", "('abcdefghijklmnopqrstuvwxyz')"),
    *("'abcdefghijklmnopqrstuvwxyz'", "('5x')", "'5x'", "5", "(2.5)", "'é'", "('漢')"),
    *("'漢'", "(1.239)", "' 5'", "('850:00:00')", "(9999999)", "'a,x'", "(0)"),
)  # fmt: skip
_MISFIT_TYPES = (
    *("tinyint", "tinyint unsigned", "bigint unsigned", "decimal(4,2)", "float(4,2)"),
    *("bit(3)", "year", "varchar(5)", "char(3)", "varbinary(3)"),
    *("varchar(5) character set latin1", "enum('a','b')", "set('a','b')", "time"),
)  # fmt: skip
_TEMPORAL = ("date", "datetime", "datetime(2)", "timestamp null", "time", "time(1)")
_DAYS = ("date", "datetime", "datetime(2)", "timestamp null")
_OFFSETS = (
    *("'2024-07-01 10:00:00'", "'2024-07-01 10:00:00+02:00'", "(CURDATE())", "(NOW(3))"),
    *("NOW()",),
)  # fmt: skip
_LABELS = ("'a'", '"a"', "'A'", "1", "'1'", "(1)", "TRUE", "'a ' 'b'", "x'61'")


def sessions(*, mariadb: bool) -> Mapping[DefaultSession, Sequence[DefaultForm]]:
    """Return all sessions with their forms, the ordinary session first."""
    found = dict(_of_both())
    found.update(_OF_MARIADB if mariadb else _OF_MYSQL)
    plain = DefaultSession("plain", settings=("time_zone = '+01:00'",))
    return {plain: default_forms.forms(mariadb=mariadb), **found}


def _mode(name: str, mode: str) -> DefaultSession:
    return DefaultSession(name, settings=(f"sql_mode = '{mode}'",))


def _charset(client: str, connection: str = "", **options: str) -> DefaultSession:
    settings = (f"character_set_connection = {connection}",) if connection else ()
    name = f"{client}, connection {connection}" if connection else client
    return DefaultSession(name, client, settings, **options)


def _of_both() -> Mapping[DefaultSession, Sequence[DefaultForm]]:
    misfits = crossed(_MISFITS, _MISFIT_TYPES)
    accents = crossed(_ACCENTS, _TEXT[:3])
    return {
        _mode("ANSI_QUOTES", f"ANSI_QUOTES,{_STRICT}"): crossed(_STRINGS, _TEXT),
        _mode("NO_BACKSLASH_ESCAPES", f"NO_BACKSLASH_ESCAPES,{_STRICT}"): crossed(_STRINGS, _TEXT),
        _mode("PIPES_AS_CONCAT", f"PIPES_AS_CONCAT,HIGH_NOT_PRECEDENCE,{_STRICT}"): crossed(
            (*_STRINGS, "(NOT 0 + 1)", "(NOT 1)"), ("varchar(20)", "int")
        ),
        _mode("PAD_CHAR_TO_FULL_LENGTH", f"PAD_CHAR_TO_FULL_LENGTH,{_STRICT}"): crossed(
            ("'a'", "'a '", "('a')", "5"), ("char(5)", "varchar(5)", "binary(3)")
        ),
        _mode("REAL_AS_FLOAT", f"REAL_AS_FLOAT,{_STRICT}"): crossed(
            ("1.1", "16777217", "'1e2'"), ("real", "double", "float(30)")
        ),
        _mode("strict and no zero dates", f"NO_ZERO_DATE,NO_ZERO_IN_DATE,{_STRICT}"): crossed(
            _DATES, _DAYS
        ),
        _mode("ALLOW_INVALID_DATES", f"ALLOW_INVALID_DATES,{_STRICT}"): crossed(_DATES, _DAYS),
        _mode("not strict", ""): [*misfits, *crossed(_DATES, _TEMPORAL)],
        _mode("not strict, no zero dates", "NO_ZERO_DATE,NO_ZERO_IN_DATE"): crossed(_DATES, _DAYS),
        _mode("strict", _STRICT): misfits,
        _charset("latin1"): accents,
        _charset("gbk"): accents,
        _charset("sjis"): accents,
        _charset("utf8mb4", "latin1"): accents,
        _charset("utf8mb4", "gbk"): accents,
        _charset("latin1", "utf8mb4", table="CHARACTER SET latin1"): accents,
        DefaultSession("zone", settings=("time_zone = '-05:30'",)): crossed(
            _OFFSETS, ("datetime", "timestamp null", "datetime(3)", "date", "timestamp(3) null")
        ),
        DefaultSession("table of latin1", table="CHARACTER SET latin1"): [
            *crossed(_LABELS, ("enum('a','b','1')", "set('a','b')")),
            *crossed(("'é'", "('é')", "x'e9'", "'漢'"), ("varchar(5)", "text", "char(3)")),
        ],
    }


_OF_MYSQL: Mapping[DefaultSession, Sequence[DefaultForm]] = {
    _mode("TIME_TRUNCATE_FRACTIONAL", f"TIME_TRUNCATE_FRACTIONAL,{_STRICT}"): crossed(
        _FRACTIONS, _TEMPORAL
    ),
}
_OF_MARIADB: Mapping[DefaultSession, Sequence[DefaultForm]] = {
    _mode("TIME_ROUND_FRACTIONAL", f"TIME_ROUND_FRACTIONAL,{_STRICT}"): crossed(
        _FRACTIONS, _TEMPORAL
    ),
    _mode("EMPTY_STRING_IS_NULL", f"EMPTY_STRING_IS_NULL,{_STRICT}"): crossed(
        ("''", '""', "N''", "'' ''", "_latin1''", "('')", "x''", "'a'"), ("varchar(5)", "char(3)")
    ),
    _mode("MSSQL", f"MSSQL,{_STRICT}"): crossed(_STRINGS, _TEXT[:2]),
    _mode("ORACLE", f"ORACLE,{_STRICT}"): [
        *crossed(_STRINGS, _TEXT[:2]),
        *crossed(("'2024-01-02'", "'2024-01-02 03:04:05'", "DATE'2024-01-02'"), _DAYS),
    ],
}
