"""Errors of reading initial snapshots."""

from __future__ import annotations

from pipeline.errors import BinlakeError

SHOWN = 60
"""Bytes of a value that an error message quotes."""


class SeedError(BinlakeError):
    """A table's initial snapshot cannot be taken."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the fields, whatever the constructor takes: Spark workers raise it."""
        return Exception.__new__, (type(self), *self.args), vars(self)


class SeedValueError(SeedError):
    """A value is not valid for its column's type; `row` counts from 1 within the chunk `part`."""

    def __init__(
        self, table: str, column: str, row: int, value: bytes | None, reason: str, part: str = ""
    ) -> None:
        where = f" of {part}" if part else ""
        super().__init__(
            f"{table}: column {column}, row {row}{where}: {shown(value)} cannot be read: {reason}.",
            remedy="Check that the rows belong to this table definition and were written by a"
            " server or its dump program. Otherwise exclude the table, or seed it from another"
            " source.",
        )
        self.table = table
        self.column = column
        self.row = row
        self.value = value


class DumpError(SeedError):
    """A dump, or the file `path` of one, cannot be read; `table` is the one affected, if any."""

    def __init__(self, path: str, reason: str, *, table: str = "", remedy: str = "") -> None:
        of = f" (table {table})" if table else ""
        super().__init__(f"{path}{of}: {reason}.", remedy=remedy)
        self.table = table


def shown(value: bytes | None) -> str:
    """Return a value as error messages quote it: its first 60 bytes, and its length if longer."""
    if value is None:
        return "NULL"
    text = repr(value[:SHOWN].decode("utf-8", "backslashreplace"))
    return text if len(value) <= SHOWN else f"{text}… ({len(value)} bytes)"
