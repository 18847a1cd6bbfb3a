"""A dump's statements one by one, without holding those that insert rows.

They are cut as the client program cuts them: at the delimiter that DELIMITER sets, but not inside
of quotes and comments (MySQL's `client/mysql.cc`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from decoder.dump_text.rows import behind_space
from decoder.dump_text.statements import statement_end
from pipeline.catalog.ddl.dump import sql_mode_of
from pipeline.catalog.ddl.lexer import SqlMode
from pipeline.seed.dumps.feed import Feed

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
"""Bytes in which an INSERT's head ends as a rule, and at most: 4096 columns have long names."""


@dataclass(frozen=True, slots=True)
class InsertHead:
    """What stands before the rows of an INSERT; `columns` is None where it names none."""

    schema: str | None
    table: str
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT, at [start, end) of the file."""

    head: InsertHead
    start: int
    end: int


def statements(feed: Feed) -> Iterator[bytes | Insert]:
    """All of the feed, in order: an Insert for each, and the text of what is between them."""
    escapes, delimiter = True, b";"
    while True:
        if passed := _passed(feed):
            yield passed
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


def inserts(feed: Feed) -> Iterator[InsertHead]:
    """The heads of all INSERTs of a feed. While one is held the feed is at its rows, and behind
    them when the next is asked for; what is between is passed over."""
    while True:
        _passed(feed)
        if not feed.ahead(1):
            return
        if head := insert_head(feed):
            yield head
        else:
            _to_end(feed, True, b";", keep=False)


def insert_head(feed: Feed) -> InsertHead | None:
    """The head of the INSERT that the feed is at, which is then at its rows; None for another
    statement."""
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
    """A name without its quotes."""
    quote = chr(name[0])
    text = name.decode(errors="replace")
    return text[1:-1].replace(quote * 2, quote) if quote in '`"' else text


def _passed(feed: Feed) -> bytes:
    """Space and comments, which the feed is behind then."""
    parts: list[bytes] = []
    while True:
        feed.at = behind_space(feed.buffer, feed.at, feed.end)
        if feed.at == feed.end and feed.more():
            continue
        comment = _COMMENT.match(feed.ahead(3))
        if not comment:
            return b"\n".join(parts)
        parts.append(_until(feed, b"*/" if comment[0] == b"/*" else b"\n"))


def _until(feed: Feed, mark: bytes) -> bytes:
    """What stands up to a mark, with it, or up to the end of the file."""
    size = _SHORT
    while True:
        text = feed.ahead(size)
        found = text.find(mark)
        if found >= 0 or len(text) < size:
            text = text[: found + len(mark)] if found >= 0 else text
            feed.at += len(text)
            return text
        size *= 2


def _to_end(feed: Feed, escapes: bool, delimiter: bytes, *, keep: bool) -> bytes:
    """The statement that the feed is in, which is behind it then; nothing unless `keep`."""
    state = np.zeros(2, np.int64)
    read = 0
    while True:
        behind = statement_end(
            *(feed.buffer, feed.at + read, feed.end, escapes),
            *(delimiter[0], len(delimiter) == 2, state),
        )
        if behind < 0:
            read = int(state[1]) - feed.at
            if not keep:
                feed.at, read = feed.at + read, 0
            if feed.more() or feed.padded():
                continue
            behind = feed.end
        text = feed.buffer[feed.at : behind].tobytes() if keep else b""
        feed.at = behind
        return text
