"""Read a dump of mysqldump or mariadb-dump: one file of statements, compressed or not.

A first pass skips the rows and finds the ranges of each table's INSERTs; the chunks are such ranges
of the file. A compressed file can only be read from its beginning, so there each table is a single
chunk, and reading the last table takes as long as reading the whole file.

Format: MySQL's `client/mysqldump.cc`, MariaDB's `client/mysqldump.cc`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pipeline.schema_history import TableName
from pipeline.schema_history.ddl.effects import CreateTable
from pipeline.schema_history.ddl.lexer import SqlMode
from pipeline.schema_history.ddl.schema_dump import DumpedStatement, dumped_at, dumped_statements
from pipeline.schema_history.timeline.definitions_file import StartTable, created_tables
from pipeline.seed.dumps.feed import fed
from pipeline.seed.dumps.model import Dump, DumpedTable
from pipeline.seed.dumps.statements import Insert, InsertHead, statements
from pipeline.seed.dumps.text_chunks import InsertChunk, addresses_of
from pipeline.seed.errors import DumpError

CHUNK = 64 << 20
"""The most bytes of a chunk, unless a single INSERT is longer."""
_CHARSET = re.compile(r"\bSET NAMES '?(\w+)", re.IGNORECASE)
_SERVER = re.compile(r"^-- Server version\s+(\S+)", re.MULTILINE)
_GTIDS = re.compile(r"GTID_(?:PURGED|SLAVE_POS)\s*=\s*(?:/\*.*?\*/\s*)?'\+?([^']*)'", re.IGNORECASE)
_NUMBERED = re.compile(r"INSERT (\d+)")
"""Replaces each INSERT in the text whose statements are parsed: its number."""


@dataclass(frozen=True, slots=True)
class _Rows:
    """The INSERTs of a table, and the first of them as a statement with its session."""

    statement: DumpedStatement
    inserts: list[Insert]


def open_mysqldump(path: str) -> Dump:
    """Open the dump in a file. Raises DumpError."""
    text, found, compressed = _read(path)
    charset = match[1].lower() if (match := _CHARSET.search(text)) else "utf8mb4"
    given = list(dumped_statements(text))
    rows = _by_table(given, found)
    created = created_tables(one for one in given if not _NUMBERED.fullmatch(one.query))
    if not created:
        raise DumpError(
            path,
            "it has no CREATE TABLE",
            remedy="Make the dump without --no-create-info.",
        )
    whole = tuple(
        _table(path, name, table, rows.get(name), charset, compressed)
        for name, table in created.items()
    )
    gtids = match[1].replace("\n", "") if (match := _GTIDS.search(text)) else None
    server = match[1] if (match := _SERVER.search(text)) else ""
    return Dump(dumped_at(text), gtids, server, whole)


def _read(path: str) -> tuple[str, list[Insert], bool]:
    """Return the dump's text with each INSERT replaced by its number, the INSERTs, and True if it
    is compressed.
    """
    parts: list[str] = []
    found: list[Insert] = []
    with fed(path) as feed:
        for one in statements(feed):
            if isinstance(one, Insert):
                parts.append(f"INSERT {len(found)};")
                found.append(one)
            else:
                parts.append(one.decode(errors="replace"))
    return "\n".join(parts), found, feed.compressed


def _by_table(given: Iterable[DumpedStatement], found: list[Insert]) -> dict[TableName, _Rows]:
    rows: dict[TableName, _Rows] = {}
    for statement in given:
        if number := _NUMBERED.fullmatch(statement.query):
            insert = found[int(number[1])]
            name = TableName(insert.head.schema or statement.schema or "", insert.head.table)
            rows.setdefault(name, _Rows(statement, [])).inserts.append(insert)
    return rows


def _table(
    path: str,
    name: TableName,
    table: StartTable,
    rows: _Rows | None,
    charset: str,
    compressed: bool,
) -> DumpedTable:
    session = rows.statement if rows else table.statement
    dumped = DumpedTable(
        *(name.schema, name.table, table.statement.query, table.statement.sql_mode),
        time_zone=session.time_zone,
        charset=charset,
        path=path,
    )
    if rows is None:
        return dumped
    model = chunk_model(path, dumped, table, rows.inserts[0].head)
    model = replace(model, escapes=not session.sql_mode & SqlMode.NO_BACKSLASH_ESCAPES)
    whole = (rows.inserts[0].start, rows.inserts[-1].end)
    ranges = [whole] if compressed else _ranges(rows.inserts)
    return replace(
        dumped,
        columns=rows.inserts[0].head.columns or model.names or None,
        chunks=tuple(
            replace(model, name=f"{dumped}@{start}", start=start, size=end - start)
            for start, end in ranges
        ),
    )


def chunk_model(
    path: str, table: DumpedTable, created: StartTable, head: InsertHead
) -> InsertChunk:
    """Return a chunk with the properties that all of a table's chunks share, without a range."""
    effect = created.effect
    known = effect.columns if isinstance(effect, CreateTable) else ()
    return InsertChunk(
        name="",
        path=path,
        size=0,
        table=str(table),
        names=tuple(column.definition.name for column in known) or head.columns or (),
        addresses=addresses_of(known),
        charset=table.charset,
    )


def _ranges(inserts: list[Insert]) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most CHUNK bytes that end between INSERTs, or of one longer INSERT."""
    start, end = inserts[0].start, inserts[0].end
    for insert in inserts[1:]:
        if insert.end - start > CHUNK:
            yield start, end
            start = insert.start
        end = insert.end
    yield start, end
