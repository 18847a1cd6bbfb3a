"""Split a dump into statements, without keeping INSERTs in memory.

Statements are split as the client program does: at the delimiter that DELIMITER sets, but not
inside quotes and comments (MySQL's `client/mysql.cc`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from decoder.dump_text import skip_space, statement_end
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.schema_dump import sql_mode_of
from pipeline.seed.dumps.feed import DumpBuffer

_NAME = rb'(?:`(?:[^`]|``)*`|"(?:[^"]|"")*"|[\w$]+)'
_COLUMNS = rb"\(\s*" + _NAME + rb"(?:\s*,\s*" + _NAME + rb")*\s*\)"
_INSERT = re.compile(
    rb"(?:INSERT|REPLACE)\s+(?:(?:LOW_PRIORITY|DELAYED|IGNORE)\s+)*INTO\s+"
    rb"(?:(?P<schema>" + _NAME + rb")\s*\.\s*)?(?P<table>" + _NAME + rb")\s*"
    rb"(?P<columns>" + _COLUMNS + rb")?\s*VALUES?(?=[\s(])",
    re.IGNORECASE,
)
_BEGINS_INSERT = re.compile(rb"(?:INSERT|REPLACE)\b", re.IGNORECASE)
_COMMENT = re.compile(rb"--(?=\s|\Z)|#|/\*(?!M?!)")
_DELIMITER = re.compile(rb"DELIMITER[ \t]+(\S\S?)[^\n]*\n", re.IGNORECASE)
_SHORT, _LONG = 1 << 12, 1 << 20
"""Usual and maximum length of an INSERT's head in bytes: up to 4096 columns may be named."""


@dataclass(frozen=True, slots=True)
class InsertHead:
    """The part of an INSERT before its rows; `columns` is None without a column list."""

    schema: str | None
    table: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT, at the bytes [start, end) of the file."""

    head: InsertHead
    start: int
    end: int


def statements(feed: DumpBuffer) -> Iterator[bytes | Insert]:
    """Yield the whole feed in order: an Insert for each INSERT, and the text between them."""
    escapes, delimiter = True, b";"
    while True:
        if skipped := _skipped(feed):
            yield skipped
        if not feed.ahead(1):
            return
        start = feed.position
        if line := _DELIMITER.match(feed.ahead(_SHORT)):
            feed.at += line.end()
            delimiter = line[1]
            yield line[0]
        elif head := insert_head(feed):
            _to_end(feed, escapes, delimiter, keep=False)
            yield Insert(head, start, feed.position)
        else:
            text = _to_end(feed, escapes, delimiter, keep=True)
            mode = sql_mode_of(text.decode(errors="replace"))
            if mode is not None:
                escapes = not mode & SqlMode.NO_BACKSLASH_ESCAPES
            yield text


def inserts(feed: DumpBuffer) -> Iterator[InsertHead]:
    """Yield the heads of a feed's INSERTs, skipping other statements.

    After each, the feed is at the INSERT's rows, which the caller has to consume.
    """
    while True:
        _skipped(feed)
        if not feed.ahead(1):
            return
        if head := insert_head(feed):
            yield head
        else:
            _to_end(feed, True, b";", keep=False)


def insert_head(feed: DumpBuffer) -> InsertHead | None:
    """Consume and return the head of the INSERT that the feed is at; None at another statement."""
    text = feed.ahead(_SHORT)
    if not _BEGINS_INSERT.match(text):
        return None
    found = _INSERT.match(text) or _INSERT.match(feed.ahead(_LONG))
    if not found:
        return None
    feed.at += found.end()
    columns = found["columns"]
    return InsertHead(
        unquoted(found["schema"]) if found["schema"] else None,
        unquoted(found["table"]),
        tuple(map(unquoted, re.findall(_NAME, columns[1:-1]))) if columns else None,
    )


def unquoted(name: bytes) -> str:
    """Return a name without its quotes."""
    quote = chr(name[0])
    text = name.decode(errors="replace")
    return text[1:-1].replace(quote * 2, quote) if quote in '`"' else text


def _skipped(feed: DumpBuffer) -> bytes:
    """Consume whitespace and comments; return the comments."""
    parts: list[bytes] = []
    while True:
        feed.at = skip_space(feed.buffer, feed.at, feed.end)
        if feed.at == feed.end and feed.more():
            continue
        comment = _COMMENT.match(feed.ahead(3))
        if not comment:
            return b"\n".join(parts)
        parts.append(_until(feed, b"*/" if comment[0] == b"/*" else b"\n"))


def _until(feed: DumpBuffer, mark: bytes) -> bytes:
    """Consume and return the bytes up to and including `mark`, or up to the end of the file."""
    size = _SHORT
    while True:
        text = feed.ahead(size)
        found = text.find(mark)
        if found >= 0 or len(text) < size:
            text = text[: found + len(mark)] if found >= 0 else text
            feed.at += len(text)
            return text
        size *= 2


def _to_end(feed: DumpBuffer, escapes: bool, delimiter: bytes, *, keep: bool) -> bytes:
    """Consume the rest of the statement; return it if `keep`, else b""."""
    state = np.zeros(2, np.int64)
    read = 0
    while True:
        end = statement_end(
            *(feed.buffer, feed.at + read, feed.end, escapes),
            *(delimiter[0], len(delimiter) == 2, state),
        )
        if end < 0:
            read = int(state[1]) - feed.at
            if not keep:
                feed.at, read = feed.at + read, 0
            if feed.more() or feed.padded():
                continue
            end = feed.end
        text = feed.buffer[feed.at : end].tobytes() if keep else b""
        feed.at = end
        return text
