"""A chunk of a dump in INSERT statements: mysqldump's, mariadb-dump's and mydumper's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from decoder.dump_text.rows import ENDED, FULL, WRONG, insert_rows
from decoder.model.definition import ColumnDefinition
from pipeline.catalog.ddl.actions import NewColumn
from pipeline.seed.dumps.cell_rows import CellRows, Turn, addresses, stored_text
from pipeline.seed.dumps.feed import Feed, fed
from pipeline.seed.dumps.model import Chunk, lacking
from pipeline.seed.dumps.statements import inserts
from pipeline.seed.errors import DumpError


@dataclass(frozen=True)
class InsertChunk(Chunk):
    """INSERTs into one table, at the bytes [start, start + size) of the file.

    `names`: the table's columns, for INSERTs without a column list. `addresses`: the columns of
    MariaDB's types INET4, INET6 and UUID. `escapes`: a backslash escapes in strings. `charset`: of
    the text. `whole`: the chunk is the whole file, and `size` the one of the file on disk, which
    may be compressed.
    """

    table: str
    start: int
    names: tuple[str, ...]
    addresses: frozenset[str] = frozenset()
    escapes: bool = True
    charset: str = "utf8mb4"
    whole: bool = False

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError."""
        turns = turns_of(columns, self.addresses, self.charset)
        rows: CellRows | None = None
        with fed(self.path, self.start, None if self.whole else self.size) as feed:
            for head in inserts(feed):
                names = head.columns or self.names
                if rows is None or names != rows.names:
                    if rows is not None:
                        yield from rows.taken(columns)
                    rows = self._rows(names, columns, turns)
                yield from self._read(feed, rows, columns)
            if rows is not None:
                yield from rows.taken(columns)

    def _rows(
        self,
        names: tuple[str, ...],
        columns: Sequence[ColumnDefinition],
        turns: dict[str, Turn],
    ) -> CellRows:
        require_columns(self.path, self.table, names, columns)
        return CellRows(self.path, self.table, names, turns)

    def _read(
        self, feed: Feed, rows: CellRows, columns: Sequence[ColumnDefinition]
    ) -> Iterator[list[Any]]:
        """Read the rows of the statement whose VALUES the feed is at."""
        while True:
            if not rows.has_room(feed.end - feed.at):
                yield from rows.taken(columns)
                continue
            feed.at, how = insert_rows(
                *(feed.buffer, feed.at, feed.end, self.escapes, rows.columns, rows.most),
                *(rows.out, rows.positions, rows.lengths, rows.state),
            )
            if how == ENDED:
                return
            if how == FULL:
                yield from rows.taken(columns)
            elif how == WRONG:
                raise self._malformed(feed, len(rows.names))
            elif not feed.more():
                raise DumpError(
                    self.path,
                    "the file ends within an INSERT",
                    table=self.table,
                    remedy="The dump was interrupted or the file truncated. Make the dump again.",
                )

    def _malformed(self, feed: Feed, columns: int) -> DumpError:
        text = feed.ahead(60).decode(errors="replace")
        return DumpError(
            self.path,
            f"at byte {feed.position} a row of {columns} values was expected: {text!r}",
            table=self.table,
            remedy="The file was edited, or written by another program. Make the dump again.",
        )


def addresses_of(columns: Iterable[NewColumn]) -> frozenset[str]:
    """Return the names of the columns that a CREATE TABLE declares as INET4, INET6 or UUID."""
    return frozenset(column.definition.name for column in columns if column.definition.logical)


def turns_of(
    columns: Sequence[ColumnDefinition], dumped: frozenset[str], charset: str
) -> dict[str, Turn]:
    """Return the conversions of columns, by their casefolded names; `dumped`: address columns."""
    turns: dict[str, Turn] = {}
    for column in columns:
        if column.name in dumped:
            turns[column.name.casefold()] = addresses(column.logical)
        elif charset == "binary" and (turn := stored_text(column)):
            turns[column.name.casefold()] = turn
    return turns


def require_columns(
    path: str, table: str, names: Sequence[str], columns: Sequence[ColumnDefinition]
) -> None:
    """Raise DumpError if `names` lacks some of the columns."""
    held = {name.casefold() for name in names}
    lacks = [column.name for column in columns if column.name.casefold() not in held]
    if lacks:
        raise lacking(path, table, lacks)
