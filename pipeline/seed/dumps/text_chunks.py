"""Chunks of a dump in text: INSERT statements, and lines of fields as in LOAD DATA's format.

The former are mysqldump's, mariadb-dump's and mydumper's, the latter MySQL Shell's data files.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder.dump_text import ENDED, FULL, WRONG, insert_rows, line_rows
from decoder.model import ColumnDefinition
from pipeline.schema_history.ddl.actions import NewColumn
from pipeline.seed.dumps.cell_rows import (
    FROM_BASE64,
    UNHEX,
    CellRows,
    ConvertCells,
    addresses,
    stored_text,
)
from pipeline.seed.dumps.feed import DumpBuffer, fed
from pipeline.seed.dumps.model import Chunk, lacking
from pipeline.seed.dumps.statements import inserts
from pipeline.seed.errors import DumpError

DECODED: Mapping[str, ConvertCells] = {"FROM_BASE64": FROM_BASE64, "UNHEX": UNHEX}
"""The functions that decode a column's fields, by MySQL Shell's names."""


@dataclass(frozen=True)
class TextChunk(Chunk):
    """A chunk that a kernel parses.

    `names`: the columns. `addresses`: those of MariaDB's types INET4, INET6 and UUID. `charset`: of
    the text.
    """

    table: str
    names: tuple[str, ...]
    addresses: frozenset[str] = frozenset()
    charset: str = "utf8mb4"

    def _rows(self, names: tuple[str, ...], columns: Sequence[ColumnDefinition]) -> CellRows:
        """Return the buffers for rows with the columns `names`. Raises DumpError if some lack."""
        held = {name.casefold() for name in names}
        lacks = [column.name for column in columns if column.name.casefold() not in held]
        if lacks:
            raise lacking(self.path, self.table, lacks)
        return CellRows(self.path, self.table, names, self._turns(columns))

    def _turns(self, columns: Sequence[ColumnDefinition]) -> dict[str, ConvertCells]:
        """Return the conversions of columns, by their casefolded names."""
        turns: dict[str, ConvertCells] = {}
        for column in columns:
            if column.name in self.addresses:
                turns[column.name.casefold()] = addresses(column.logical)
            elif self.charset == "binary" and (turn := stored_text(column)):
                turns[column.name.casefold()] = turn
        return turns

    def _read(
        self, feed: DumpBuffer, rows: CellRows, columns: Sequence[ColumnDefinition]
    ) -> Iterator[list[Any]]:
        """Read the rows up to the end of the statement or the file."""
        while True:
            if not rows.has_room(feed.end - feed.at):
                yield from rows.taken(columns)
                continue
            feed.at, how = self._parse(feed, rows)
            if how == ENDED:
                return
            if how == FULL:
                yield from rows.taken(columns)
            elif how == WRONG or not feed.more():
                if error := self._fault(feed, len(rows.names), ended=how != WRONG):
                    raise error
                return

    @abstractmethod
    def _parse(self, feed: DumpBuffer, rows: CellRows) -> tuple[int, int]:
        """Parse what the feed holds. Return where that ended, and how."""

    @abstractmethod
    def _fault(self, feed: DumpBuffer, columns: int, *, ended: bool) -> DumpError | None:
        """Return the error for the row at the feed, or if the file has `ended` there."""

    def _malformed(self, feed: DumpBuffer, reason: str, remedy: str) -> DumpError:
        text = feed.ahead(60).decode(errors="replace")
        reason = f"at byte {feed.position} {reason}: {text!r}"
        return DumpError(self.path, reason, table=self.table, remedy=remedy)


@dataclass(frozen=True)
class InsertChunk(TextChunk):
    """INSERTs into one table, at the bytes [start, start + size) of the file.

    `names` are for INSERTs without a column list. `escapes`: a backslash escapes in strings.
    `whole`: the chunk is the whole file, and `size` the one of the file on disk, which may be
    compressed.
    """

    start: int = 0
    escapes: bool = True
    whole: bool = False

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError."""
        rows: CellRows | None = None
        with fed(self.path, self.start, None if self.whole else self.size) as feed:
            for head in inserts(feed):
                names = head.columns or self.names
                if rows is None or names != rows.names:
                    if rows is not None:
                        yield from rows.taken(columns)
                    rows = self._rows(names, columns)
                yield from self._read(feed, rows, columns)
            if rows is not None:
                yield from rows.taken(columns)

    def _parse(self, feed: DumpBuffer, rows: CellRows) -> tuple[int, int]:
        return insert_rows(
            *(feed.buffer, feed.at, feed.end, self.escapes, rows.columns, rows.most),
            *(rows.out, rows.positions, rows.lengths, rows.state),
        )

    def _fault(self, feed: DumpBuffer, columns: int, *, ended: bool) -> DumpError:
        if ended:
            return DumpError(
                self.path,
                "the file ends within an INSERT",
                table=self.table,
                remedy="The dump was interrupted or the file truncated. Make the dump again.",
            )
        return self._malformed(
            feed,
            f"a row of {columns} values was expected",
            "The file was edited, or written by another program. Make the dump again.",
        )


@dataclass(frozen=True)
class Dialect:
    """The characters that separate, quote and escape fields and lines; empty if unused."""

    separator: str = "\t"
    line: str = "\n"
    quote: str = ""
    escape: str = "\\"

    def codes(self) -> tuple[int, int, int, int]:
        """Return the characters' codes for the kernel, −1 for an unused one."""
        marks = (self.separator, self.line, self.quote, self.escape)
        first, second, third, fourth = (ord(mark) if mark else -1 for mark in marks)
        return first, second, third, fourth


@dataclass(frozen=True)
class DelimitedChunk(TextChunk):
    """A file of lines. `decoded`: the name of a function in `DECODED` for some columns."""

    dialect: Dialect = Dialect()
    decoded: Mapping[str, str] = field(default_factory=dict)

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError."""
        rows = self._rows(self.names, columns)
        with fed(self.path) as feed:
            yield from self._read(feed, rows, columns)
            yield from rows.taken(columns)

    def _turns(self, columns: Sequence[ColumnDefinition]) -> dict[str, ConvertCells]:
        decoded = {name.casefold(): DECODED[how] for name, how in self.decoded.items()}
        return super()._turns(columns) | decoded

    def _parse(self, feed: DumpBuffer, rows: CellRows) -> tuple[int, int]:
        return line_rows(
            *(feed.buffer, feed.at, feed.end, *self.dialect.codes(), rows.columns, rows.most),
            *(rows.out, rows.positions, rows.lengths, rows.state),
        )

    def _fault(self, feed: DumpBuffer, columns: int, *, ended: bool) -> DumpError | None:
        if ended and feed.at == feed.end:
            return None
        reason = "the file ends within a line of" if ended else "the line does not have"
        remedy = "The file is truncated or was edited. Make the dump again."
        return self._malformed(feed, f"{reason} {columns} fields", remedy)


def addresses_of(columns: Iterable[NewColumn]) -> frozenset[str]:
    """Return the names of the columns that a CREATE TABLE declares as INET4, INET6 or UUID."""
    return frozenset(column.definition.name for column in columns if column.definition.logical)
