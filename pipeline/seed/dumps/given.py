"""CSV or Parquet files of one table, whose definition and log position the caller provides.

Both formats name their columns. CSV fields are values as a server prints them (see
`pipeline.seed.values`), NULL is an unquoted text such as \\N. Parquet values are first converted to
what a server would print (`typed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from decoder import BinlogError
from decoder.columns.cells import CellError
from decoder.model.definition import ColumnDefinition
from pipeline.lake.stores import filesystem_of, sentences
from pipeline.seed.dumps.cell_rows import MOST_BYTES, MOST_ROWS
from pipeline.seed.dumps.feed import codec_in, unreadable
from pipeline.seed.dumps.folder import folder
from pipeline.seed.dumps.model import UTC, Chunk, Dump, DumpedTable, created
from pipeline.seed.dumps.typed import Printed, addressed, printed
from pipeline.seed.errors import DumpError, shown
from pipeline.source.logs.storage import opened

NULL = r"\N"
_HIDDEN = (".", "_")
"""Prefixes of files that are not data: `_SUCCESS`, `.part-0.crc`."""


@dataclass(frozen=True)
class GivenTable:
    """A table as the caller describes it: its CREATE TABLE, and the log position of its rows."""

    schema: str
    statement: str
    place: tuple[str, int] | None = None
    gtids: str | None = None


@dataclass(frozen=True)
class CsvChunk(Chunk):
    """A CSV file with a header line; an unquoted `null` is NULL."""

    table: str
    delimiter: str = ","
    null: str = NULL

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError."""
        names = [column.name for column in columns]
        convert = pyarrow.csv.ConvertOptions(
            column_types={name: pa.binary() for name in names},
            include_columns=names,
            null_values=[self.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=False,
        )
        rows = 0
        parse = pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True)
        read = pyarrow.csv.ReadOptions(block_size=MOST_BYTES, use_threads=False)
        with _opened(self, names) as stream:
            reader = pyarrow.csv.open_csv(
                stream, read_options=read, parse_options=parse, convert_options=convert
            )
            for batch in reader:
                for start in range(0, batch.num_rows, MOST_ROWS):
                    texts = batch.slice(start, MOST_ROWS).columns
                    yield [
                        _cells(self, column, values, rows + start, addressed)
                        for column, values in zip(columns, texts, strict=True)
                    ]
                rows += batch.num_rows


@dataclass(frozen=True)
class ParquetChunk(Chunk):
    """A Parquet file."""

    table: str

    def cells(self, columns: Sequence[ColumnDefinition]) -> Iterator[list[Any]]:
        """Yield the rows. Raises DumpError, also for a type that does not fit the column."""
        names = [column.name for column in columns]
        rows = 0
        with _opened(self, names) as stream:
            file = pyarrow.parquet.ParquetFile(stream)
            _require(self, file.schema_arrow.names, names)
            for batch in file.iter_batches(_rows_of(file), columns=names):
                yield [
                    _cells(self, column, batch.column(column.name), rows, printed)
                    for column in columns
                ]
                rows += batch.num_rows


def _cells(
    chunk: CsvChunk | ParquetChunk,
    column: ColumnDefinition,
    values: pa.Array,
    rows: int,
    turned: Printed,
) -> pa.Array:
    """Return the column's cells; `rows` is the number of rows before these in the file."""
    try:
        return turned(column, values)
    except CellError as error:
        raise DumpError(
            chunk.path,
            f"column {column.name}, row {rows + error.row + 1}:"
            f" {shown(repr(values[error.row].as_py()).encode())}: {error.reason}",
            table=chunk.table,
        ) from error
    except TypeError as error:
        raise DumpError(
            chunk.path,
            f"column {column.name} has the type {values.type}: {error}",
            table=chunk.table,
            remedy="Write the file with a type that can hold the table column's values.",
        ) from error


def open_csv(location: str, table: GivenTable, *, delimiter: str = ",", null: str = NULL) -> Dump:
    """Open a CSV file with a header, or a folder of them. Raises DumpError, UnreachableError."""
    return _dump(
        location,
        table,
        lambda name, path, size, of: CsvChunk(name, path, size, of, delimiter, null),
    )


def open_parquet(location: str, table: GivenTable) -> Dump:
    """Open a Parquet file, or a folder of them. Raises DumpError, UnreachableError."""
    return _dump(location, table, ParquetChunk)


def _dump(location: str, table: GivenTable, chunk: Callable[[str, str, int, str], Chunk]) -> Dump:
    effect = created(table.statement, table.schema)
    if effect is None:
        raise DumpError(
            location,
            f"the given definition is not a CREATE TABLE that can be parsed:"
            f" {shown(table.statement.encode())}",
            remedy="Pass the output of SHOW CREATE TABLE.",
        )
    chunks = [chunk(name, path, size, str(effect.name)) for name, path, size in _files(location)]
    dumped = DumpedTable(
        *(effect.name.schema, effect.name.table, table.statement),
        time_zone=UTC,
        chunks=tuple(chunks),
        path=location,
    )
    return Dump(table.place, table.gtids, "", (dumped,))


def _files(location: str) -> list[tuple[str, str, int]]:
    """Return the files' names, paths and sizes in bytes, sorted by name."""
    filesystem, path = filesystem_of(location, key="seed")
    with sentences(location, key="seed"):
        if filesystem.isfile(path):
            name = path.rstrip("/").rpartition("/")[2]
            return [(name, location, int(filesystem.size(path) or 0))]
    files = folder(location)
    return [
        (name, where, files.sizes[name])
        for name, where in files.paths.items()
        if not name.startswith(_HIDDEN)
    ]


@contextmanager
def _opened(chunk: CsvChunk | ParquetChunk, names: Sequence[str]) -> Iterator[Any]:
    """Open the file, decompressed; errors of Arrow and of the storage become DumpError."""
    try:
        with opened(chunk.path, codec=codec_in(chunk.path)) as stream:
            yield stream
    except KeyError as error:
        raise _lacks(chunk, [name for name in names if f"'{name}'" in str(error)]) from error
    except pa.ArrowInvalid as error:
        raise DumpError(
            chunk.path,
            f"it cannot be read: {' '.join(str(error).split())}",
            table=chunk.table,
            remedy="Check the file, its delimiter and its quotes.",
        ) from error
    except (OSError, BinlogError) as error:
        raise unreadable(chunk.path, error) from error


def _require(chunk: ParquetChunk, held: Sequence[str], names: Sequence[str]) -> None:
    if lacks := [name for name in names if name not in held]:
        raise _lacks(chunk, lacks)


def _lacks(chunk: CsvChunk | ParquetChunk, names: Sequence[str]) -> DumpError:
    return DumpError(
        chunk.path,
        f"it has no column {', '.join(names)}",
        table=chunk.table,
        remedy="Use the table's column names; a CSV has them in its first line.",
    )


def _rows_of(file: Any) -> int:
    """Return the number of rows that take about MOST_BYTES."""
    found = file.metadata
    size = sum(found.row_group(group).total_byte_size for group in range(found.num_row_groups))
    fit = MOST_BYTES * int(found.num_rows) // max(1, int(size))
    return max(1, min(MOST_ROWS, fit))
