"""A chunk of a dump that is INSERT statements: mysqldump's, mariadb-dump's and mydumper's."""

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
    """INSERTs into one table, at [start, start + size) of the file.

    `names` are the table's columns, for INSERTs that name none; `addresses` those of MariaDB's
    INET4, INET6 and UUID. `escapes`: a backslash is one in strings. `charset`: of the text.
    `whole`: it is all of the file, which may be compressed (`size` is of the compressed one then).
    """

    table: str
    start: int
    names: tuple[str, ...]
    addresses: frozenset[str] = frozenset()
    escapes: bool = True
    charset: str = "utf8mb4"
    whole: bool = False

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """The rows. Raises DumpError."""
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
        """The tuples of one statement, whose rows the feed is at."""
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
                raise self._wrong(feed, len(rows.names))
            elif not feed.more():
                raise DumpError(
                    self.path,
                    "it ends within an INSERT",
                    table=self.table,
                    remedy="Was the dump interrupted? Make it again.",
                )

    def _wrong(self, feed: Feed, columns: int) -> DumpError:
        text = feed.ahead(60).decode(errors="replace")
        return DumpError(
            self.path,
            f"at byte {feed.position} is no row of {columns} values: {text!r}",
            table=self.table,
            remedy="Was the file edited, or made by another program? Make the dump again.",
        )


def addresses_of(columns: Iterable[NewColumn]) -> frozenset[str]:
    """The names of those that a CREATE TABLE declares to be an INET4, INET6 or UUID."""
    return frozenset(column.definition.name for column in columns if column.definition.logical)


def turns_of(
    columns: Sequence[ColumnDefinition], dumped: frozenset[str], charset: str
) -> dict[str, Turn]:
    """What becomes of values, by the columns' names in lower case; `dumped`: those of addresses."""
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
    """DumpError where rows of these names lack some of the columns."""
    held = {name.casefold() for name in names}
    lacks = [column.name for column in columns if column.name.casefold() not in held]
    if lacks:
        raise lacking(path, table, lacks)
