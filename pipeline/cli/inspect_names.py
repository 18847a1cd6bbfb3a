"""Names of columns for `binlake inspect --rows`, where TABLE_MAPs have none: from DDL before them.

The log is read once more for that, without its rows, and only if there is something to name. Files
of one log that are given one after the other are one log: DDL in one names rows in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from decoder import Keys, SegmentDecoder, TableDefinition
from decoder.model.results import Definitions, Statements
from decoder.rows.row_decoder import Names
from decoder.stream.library import segment_of
from decoder.transactions.statements import may_change_tables
from pipeline.catalog import Timeline
from pipeline.catalog.alter.items import Position
from pipeline.catalog.timeline.timeline import CatalogOptions, LoggedStatement
from pipeline.silver.decode.server_version import server_version
from pipeline.silver.decode.table_names import TableNames
from pipeline.source.logs.archive import log_name
from pipeline.source.logs.listing import split_name

_CHARSET = "utf8mb4"
_HEAD = 128
"""Bytes in which a log says which server wrote it."""

Opened = Callable[[Path], AbstractContextManager[Any]]
"""Gives a file's log, unpacked."""


class LoggedNames:
    """The names that a log's DDL gives, file by file."""

    def __init__(self, options: CatalogOptions, keys: Keys, opened: Opened) -> None:
        self._options = options
        self._keys = keys
        self._opened = opened
        self._unread: list[Path] = []
        self._timeline: Timeline | None = None
        self._last: tuple[str, int] | None = None

    def of(self, file: Path) -> Names:
        """What names the TABLE_MAPs of the file that is shown next."""
        base, number = split_name(log_name(file.name))
        if self._last != (base, number - 1):
            self._timeline, self._unread = None, []
        self._last = base, number
        self._unread.append(file)
        found: list[TableNames] = []

        def named(shown: TableDefinition, lsn: int, position: int) -> TableDefinition:
            if shown.named:
                return shown
            if not found:
                found.append(self._read())
            return found[0](shown, lsn, position)

        return named

    def _read(self) -> TableNames:
        """The names in the last file, once the DDL of all up to it is read."""
        names = TableNames()
        for file in self._unread:
            names = self._names_in(file)
        self._unread = []
        return names

    def _names_in(self, file: Path) -> TableNames:
        seen: list[tuple[Position, TableDefinition, TableDefinition]] = []
        with self._opened(file) as data:
            log = self._keys.decrypted(data, file=str(file))
            found = sorted(_told(log, str(file), self._options), key=lambda one: one[:2])
        timeline = self._timeline = self._timeline or self._begun(one[2] for one in found)
        for position, _, told in found:
            if isinstance(told, LoggedStatement):
                timeline.statement(told)
            else:
                definition, _ = timeline.table_map(position, told)
                seen.append((position, told, definition))
        return TableNames.of(seen)

    def _begun(self, told: Iterable[LoggedStatement | TableDefinition]) -> Timeline:
        """A timeline; text whose charset nothing tells has the server's own, as its sessions say:
        columns would have no names else, and here their rows are only looked at."""
        charsets = (one.server_charset for one in told if isinstance(one, LoggedStatement))
        charset = self._options.default_charset or next(filter(None, charsets), _CHARSET)
        return Timeline((), replace(self._options, default_charset=charset))


def _told(
    log: Any, file: str, options: CatalogOptions
) -> Iterator[tuple[Position, int, LoggedStatement | TableDefinition]]:
    """Statements that may change tables, and what TABLE_MAPs show, each with its place; at one
    place statements come first."""
    server = server_version(bytes(log[:_HEAD]))
    decoder = SegmentDecoder(segment_of(file), options.types, rows=False)
    for result in decoder.decode([log]):
        if isinstance(result, Definitions):
            for lsn, position, definition in result.items:
                yield (lsn, position), 1, definition
        elif isinstance(result, Statements):
            for row in result.batch.to_pylist():
                if may_change_tables(row["query"]):
                    place = row["__lsn"], row["__pos"]
                    told = LoggedStatement.read(place, row, row["executed_at"], server)
                    yield place, 0, told
