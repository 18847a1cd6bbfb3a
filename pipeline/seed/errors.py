"""What can be wrong with the rows that tables are to start with."""

from __future__ import annotations

from pipeline.errors import BinlakeError

SHOWN = 60
"""Bytes of a value that an error shows."""


class SeedError(BinlakeError):
    """A table cannot be given its starting state."""


class SeedValueError(SeedError):
    """A value is none of its column's type; `row` counts from 1 in `part`, a chunk."""

    def __init__(
        self, table: str, column: str, row: int, value: bytes | None, reason: str, part: str = ""
    ) -> None:
        where = f" of {part}" if part else ""
        super().__init__(
            f"{table}: column {column}, row {row}{where}: {shown(value)} cannot be read: {reason}.",
            remedy="Check that the rows are of this table as it is defined, and of a server's own"
            " making; leave the table out with exclude, or seed it from elsewhere.",
        )
        self.table = table
        self.column = column
        self.row = row
        self.value = value
        self.why = reason
        self.part = part

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Keeps the fields through pickle: a worker raises it."""
        told = (self.table, self.column, self.row, self.value, self.why, self.part)
        return type(self), told


class DumpError(SeedError):
    """A dump, or a file of one, cannot be read; `path` is where, `table` of which table, if any."""

    def __init__(self, path: str, reason: str, *, table: str = "", remedy: str = "") -> None:
        of = f" (table {table})" if table else ""
        super().__init__(f"{path}{of}: {reason}.", remedy=remedy)
        self.path = path
        self.table = table
        self.why = reason

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Keeps the fields through pickle: a worker raises it."""
        return _restored, (type(self), self.path, self.why, self.table, self.remedy)


def _restored(kind: type[DumpError], path: str, why: str, table: str, remedy: str) -> DumpError:
    return kind(path, why, table=table, remedy=remedy)


def shown(value: bytes | None) -> str:
    """A value as an error shows it: its first bytes, and how long it is where that is more."""
    if value is None:
        return "NULL"
    text = repr(value[:SHOWN].decode("utf-8", "backslashreplace"))
    return text if len(value) <= SHOWN else f"{text}… ({len(value)} bytes)"
