"""Split schema dumps (`mysqldump --no-data`, `mariadb-dump --no-data`) into statements.

Format: MySQL's `client/mysqldump.cc` and MariaDB's. A dump is a sequence of statements, separated
by the delimiter that DELIMITER sets, and comments; `USE` names the schema, or the header does if
the dump is of one schema.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pipeline.lake.sql_text import unquoted
from pipeline.schema_history.ddl.lexer import SqlMode

_HEAD = re.compile(r"^-- Host: .*?Database: (\S.*?)\s*$", re.MULTILINE)
_POSITION = re.compile(
    r"^(?:-- )?CHANGE .*?(?:MASTER|SOURCE)_LOG_FILE='([^']+)', *(?:MASTER|SOURCE)_LOG_POS=(\d+)",
    re.MULTILINE,
)
_USE = re.compile(r"\s*USE\s+(`(?:[^`]|``)*`|\S+)\s*$", re.IGNORECASE)
_SET = re.compile(r"\s*(?:/\*M?!\d*\s*)?SET\b", re.IGNORECASE)
_TIME_ZONE = re.compile(r"(?<![@\w])TIME_ZONE\s*=\s*'([^']*)'", re.IGNORECASE)
_SQL_MODE = re.compile(r"(?<![@\w])SQL_MODE\s*=\s*'([^']*)'", re.IGNORECASE)
_DELIMITER = re.compile(r"DELIMITER[ \t]+(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DumpedStatement:
    """A statement of a dump, with the schema and session settings in force for it."""

    query: str
    schema: str | None = None
    sql_mode: int = 0
    time_zone: str | None = None


def dumped_statements(text: str) -> Iterator[DumpedStatement]:
    """Yield the statements in order; USE and SET only apply to those after them."""
    head = _HEAD.search(text)
    schema = head[1] if head else None
    sql_mode, time_zone = 0, None
    for query in _split(text):
        if use := _USE.match(query):
            schema = unquoted(use[1])
        elif _SET.match(query):
            if zone := _TIME_ZONE.search(query):
                time_zone = zone[1]
            mode = sql_mode_of(query)
            sql_mode = sql_mode if mode is None else mode
        else:
            yield DumpedStatement(query, schema, sql_mode, time_zone)


def sql_mode_of(query: str) -> int | None:
    """Return the `SqlMode` bits that affect parsing from a SET; None if it sets no sql_mode."""
    mode = _SQL_MODE.search(query)
    if mode is None:
        return None
    words = mode[1].upper()
    quotes = SqlMode.ANSI_QUOTES if "ANSI" in words else 0
    return quotes | (SqlMode.NO_BACKSLASH_ESCAPES if "NO_BACKSLASH_ESCAPES" in words else 0)


def dumped_at(text: str) -> tuple[str, int] | None:
    """Return the log file and position that the dump was taken at; None if not recorded."""
    found = _POSITION.search(text)
    return (found[1], int(found[2])) if found else None


def _split(text: str) -> Iterator[str]:
    """Yield statements without delimiters and non-executable comments."""
    delimiter = ";"
    parts: list[str] = []
    at = 0
    while found := _piece(delimiter).search(text, at):
        parts.append(text[at : found.start()])
        piece = found[0]
        at = found.end()
        if piece == delimiter:
            yield from _whole(parts)
            parts = []
        elif set_delimiter := _DELIMITER.match(piece):
            yield from _whole(parts)
            parts, delimiter = [], set_delimiter[1]
        elif not found["comment"]:
            parts.append(piece)
    yield from _whole([*parts, text[at:]])


def _whole(parts: list[str]) -> Iterator[str]:
    statement = "".join(parts).strip()
    if statement:
        yield statement


@cache
def _piece(delimiter: str) -> re.Pattern[str]:
    """Return a pattern for a delimiter and for everything that may contain one."""
    return re.compile(
        r"'(?:[^'\\]|\\.)*'"
        r'|"(?:[^"\\]|\\.)*"'
        r"|`[^`]*`"
        r"|/\*M?!.*?\*/"
        r"|(?P<comment>/\*.*?\*/|--(?=\s|\Z)[^\n]*|\#[^\n]*)"
        r"|^DELIMITER[ \t]+\S+[^\n]*"
        rf"|{re.escape(delimiter)}",
        re.DOTALL | re.MULTILINE | re.IGNORECASE,
    )
