"""A dump's statements (`mysqldump --no-data`, `mariadb-dump --no-data`), with what they depend on.

Format: what MySQL's `client/mysqldump.cc` and MariaDB's write: statements behind each other, cut at
the delimiter that DELIMITER sets; comments; `USE` or, of one schema alone, its name in the head.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pipeline.catalog.ddl.lexer import SqlMode
from pipeline.lake.sql_text import unquoted

_HEAD = re.compile(r"^-- Host: .*?Database: (\S.*?)\s*$", re.MULTILINE)
_PLACE = re.compile(
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
    """A statement of a dump, with the schema and the session that it is for."""

    query: str
    schema: str | None = None
    sql_mode: int = 0
    time_zone: str | None = None


def dumped_statements(text: str) -> Iterator[DumpedStatement]:
    """All statements in their order, but for USE and SET, which tell about those behind them."""
    head = _HEAD.search(text)
    schema = head[1] if head else None
    sql_mode, time_zone = 0, None
    for query in _cut(text):
        if use := _USE.match(query):
            schema = unquoted(use[1])
        elif _SET.match(query):
            if zone := _TIME_ZONE.search(query):
                time_zone = zone[1]
            told = sql_mode_of(query)
            sql_mode = sql_mode if told is None else told
        else:
            yield DumpedStatement(query, schema, sql_mode, time_zone)


def sql_mode_of(query: str) -> int | None:
    """What of `SqlMode` matters for reading statements that a SET sets; None if it sets no mode."""
    mode = _SQL_MODE.search(query)
    if mode is None:
        return None
    words = mode[1].upper()
    quotes = SqlMode.ANSI_QUOTES if "ANSI" in words else 0
    return quotes | (SqlMode.NO_BACKSLASH_ESCAPES if "NO_BACKSLASH_ESCAPES" in words else 0)


def dumped_at(text: str) -> tuple[str, int] | None:
    """The file of the log and the position in it that the dump was taken at, if it tells."""
    found = _PLACE.search(text)
    return (found[1], int(found[2])) if found else None


def _cut(text: str) -> Iterator[str]:
    """Statements without their delimiters, and without comments that are no code."""
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
    """What ends a statement, or may hold what looks like its end."""
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
