"""A chunk of a dump in the format of LOAD DATA, lines of fields: MySQL Shell's data files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoder.dump_text.rows import FULL, WRONG, line_rows
from decoder.model.definition import ColumnDefinition
from pipeline.seed.dumps.cell_rows import FROM_BASE64, UNHEX, CellRows, Turn
from pipeline.seed.dumps.feed import Feed, fed
from pipeline.seed.dumps.inserts import require_columns, turns_of
from pipeline.seed.dumps.model import Chunk
from pipeline.seed.errors import DumpError

DECODED: Mapping[str, Turn] = {"FROM_BASE64": FROM_BASE64, "UNHEX": UNHEX}
"""The functions that decode a column's fields, by MySQL Shell's names."""


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
class DelimitedChunk(Chunk):
    """A file of lines with the columns `names`.

    `decoded`: the name of a function in `DECODED` for some columns. `addresses`: the columns of
    MariaDB's types INET4, INET6 and UUID.
    """

    table: str
    names: tuple[str, ...]
    dialect: Dialect = Dialect()
    decoded: Mapping[str, str] = field(default_factory=dict)
    addresses: frozenset[str] = frozenset()
    charset: str = "utf8mb4"

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError."""
        require_columns(self.path, self.table, self.names, columns)
        turns = turns_of(columns, self.addresses, self.charset)
        turns |= {name.casefold(): DECODED[how] for name, how in self.decoded.items()}
        rows = CellRows(self.path, self.table, self.names, turns)
        with fed(self.path) as feed:
            yield from self._read(feed, rows, columns)
            yield from rows.taken(columns)

    def _read(
        self, feed: Feed, rows: CellRows, columns: Sequence[ColumnDefinition]
    ) -> Iterator[list[Any]]:
        while True:
            if not rows.has_room(feed.end - feed.at):
                yield from rows.taken(columns)
                continue
            feed.at, how = line_rows(
                *(feed.buffer, feed.at, feed.end, *self.dialect.codes(), rows.columns, rows.most),
                *(rows.out, rows.positions, rows.lengths, rows.state),
            )
            if how == FULL:
                yield from rows.taken(columns)
            elif how == WRONG:
                raise self._malformed(feed, "the line does not have")
            elif not feed.more():
                if feed.at < feed.end:
                    raise self._malformed(feed, "the file ends within a line of")
                return

    def _malformed(self, feed: Feed, reason: str) -> DumpError:
        return DumpError(
            self.path,
            f"at byte {feed.position} {reason} {len(self.names)} fields:"
            f" {feed.ahead(60).decode(errors='replace')!r}",
            table=self.table,
            remedy="The file is truncated or was edited. Make the dump again.",
        )
