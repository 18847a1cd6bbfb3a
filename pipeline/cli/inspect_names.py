"""Column names for `binlake inspect --rows` if TABLE_MAPs have none: from earlier DDL in the log.

The log is read a second time for them, without its rows, and only if a table needs names.
Consecutive files of one log count as one log: DDL in one file names rows in the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from decoder import Keys, SegmentDecoder, TableDefinition
from decoder.model import Definitions, Names, Statements
from decoder.segments import server_version
from decoder.stream import segment_of
from decoder.transactions import may_change_tables
from pipeline.schema_history import Timeline
from pipeline.schema_history.alter.items import Position
from pipeline.schema_history.timeline.timeline import LoggedStatement, TimelineOptions
from pipeline.silver.decode.table_names import TableNames
from pipeline.source.logs.archive import log_name
from pipeline.source.logs.listing import split_name

_CHARSET = "utf8mb4"
_HEAD = 128
"""Bytes at the start of a log that contain the server's version."""

Opened = Callable[[Path], AbstractContextManager[Any]]
"""Opens a file and returns its log, unpacked."""


class LoggedNames:
    """Column names from a log's DDL, file by file."""

    def __init__(self, options: TimelineOptions, keys: Keys, opened: Opened) -> None:
        self._options = options
        self._keys = keys
        self._opened = opened
        self._unread: list[Path] = []
        self._timeline: Timeline | None = None
        self._last: tuple[str, int] | None = None

    def of(self, file: Path) -> Names:
        """Return a function that names the columns of TABLE_MAPs in the file printed next."""
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
        """Read the DDL of all unread files; return the names in the last one."""
        names = TableNames()
        for file in self._unread:
            names = self._names_in(file)
        self._unread = []
        return names

    def _names_in(self, file: Path) -> TableNames:
        seen: list[tuple[Position, TableDefinition, TableDefinition]] = []
        with self._opened(file) as data:
            log = self._keys.decrypted(data, file=str(file))
            found = sorted(_items(log, str(file), self._options), key=lambda one: one[:2])
        timeline = self._timeline = self._timeline or self._new_timeline(one[2] for one in found)
        for position, _, item in found:
            if isinstance(item, LoggedStatement):
                timeline.statement(item)
            else:
                definition, _ = timeline.table_map(position, item)
                seen.append((position, item, definition))
        return TableNames.of(seen)

    def _new_timeline(self, items: Iterable[LoggedStatement | TableDefinition]) -> Timeline:
        """Return a timeline whose default charset is the settings', or the server's as logged.

        Without one, text columns would have no names. A wrong guess is harmless here: rows are only
        printed.
        """
        charsets = (one.server_charset for one in items if isinstance(one, LoggedStatement))
        charset = self._options.default_charset or next(filter(None, charsets), _CHARSET)
        return Timeline((), replace(self._options, default_charset=charset))


def _items(
    log: Any, file: str, options: TimelineOptions
) -> Iterator[tuple[Position, int, LoggedStatement | TableDefinition]]:
    """Yield statements that may change tables, and definitions in TABLE_MAPs, with their positions.

    The second value sorts statements before definitions at the same position.
    """
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
                    yield place, 0, LoggedStatement.read(place, row, row["executed_at"], server)
