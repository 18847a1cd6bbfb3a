"""CSV or Parquet files of one table, whose definition and log position the caller provides.

Both formats name their columns. CSV fields are values as a server prints them (see
`pipeline.seed.values`), NULL is an unquoted text such as \\N. Parquet values are first converted to
what a server would print, so that they are all read one way, and refused there if the column cannot
hold them exactly. Parquet types that do not fit the column raise TypeError.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from decoder import BinlogError
from decoder.columns import CellError
from decoder.constants import ADDRESS_BYTES, INSTANT_TYPES, ColumnType as T
from decoder.model import ColumnDefinition
from pipeline.lake.stores import filesystem_of, sentences
from pipeline.seed.dumps.cell_rows import MOST_BYTES, MOST_ROWS, addresses
from pipeline.seed.dumps.feed import codec_in, unreadable
from pipeline.seed.dumps.folder import folder
from pipeline.seed.dumps.model import UTC, Chunk, Dump, DumpedTable, created
from pipeline.seed.errors import DumpError, shown
from pipeline.source.logs.storage import opened

NULL = r"\N"
_HIDDEN = (".", "_")
"""Prefixes of files that are not data: `_SUCCESS`, `.part-0.crc`."""
_DATETIMES = (T.DATETIME, T.DATETIME2)
_ISO = "%Y-%m-%d %H:%M:%S"

Printed = Callable[[ColumnDefinition, pa.Array], pa.Array]
"""Converts a column's values to its cells."""


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


def _as_text(_column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return values.cast(pa.string()).cast(pa.binary())


def _bytes(_column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return values.cast(pa.binary())


def addressed(column: ColumnDefinition, texts: pa.Array) -> pa.Array:
    """Return the bytes of texts, or for a UUID, INET4 or INET6 the bytes that are logged."""
    cells = texts.cast(pa.binary())
    return addresses(column.logical)(cells) if column.logical in ADDRESS_BYTES else cells


def _integers(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if column.type != T.BIT:
        return _as_text(column, values)
    found = [_bits(column, row, number) for row, number in enumerate(values.to_pylist())]
    return pa.array(found, pa.binary())


def _bits(column: ColumnDefinition, row: int, number: int | None) -> bytes | None:
    if number is None:
        return None
    try:
        return number.to_bytes((column.length + 7) // 8, "big")
    except OverflowError as error:
        raise CellError(row, f"it does not fit in BIT({column.length})") from error


def _booleans(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return _integers(column, values.cast(pa.int8()))


def _floats(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    """Print all digits of a double: a single would be printed with a single's digits."""
    return _as_text(column, values.cast(pa.float64()))


def _timestamps(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    zoned = values.type.tz is not None
    if column.type in INSTANT_TYPES and not zoned:
        raise TypeError("the table's column is a TIMESTAMP, which needs a time zone")
    if column.type in _DATETIMES and zoned:
        raise TypeError("the table's column is a DATETIME, which has no time zone")
    if column.type not in (*INSTANT_TYPES, *_DATETIMES):
        raise TypeError(f"the table's column is {column.type.name}")
    # Arrow stores an instant as a count since 1970 in UTC, whatever its time zone.
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    return pc.strftime(micros.cast(pa.timestamp("us")), _ISO).cast(pa.binary())


def _floats_of(value: list[float]) -> bytes:
    return struct.pack(f"<{len(value)}f", *value)


def _lists(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if T.VECTOR not in (column.type, column.logical):
        raise TypeError(f"the table's column is {column.type.name}")
    found = [None if one is None else _floats_of(one) for one in values.to_pylist()]
    return pa.array(found, pa.binary())


def _structs(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    if column.type != T.GEOMETRY or {one.name for one in values.type} != {"srid", "wkb"}:
        raise TypeError(f"the table's column is {column.type.name}, not struct<srid, wkb>")
    found = [
        None if one is None else struct.pack("<I", one["srid"]) + one["wkb"]
        for one in values.to_pylist()
    ]
    return pa.array(found, pa.binary())


def _decoded(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    return printed(column, values.dictionary_decode())


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], Printed], ...] = (
    (pa.types.is_null, _bytes),
    (pa.types.is_boolean, _booleans),
    (pa.types.is_integer, _integers),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _as_text),
    (pa.types.is_string, addressed),
    (pa.types.is_large_string, addressed),
    (pa.types.is_binary, _bytes),
    (pa.types.is_large_binary, _bytes),
    (pa.types.is_fixed_size_binary, _bytes),
    (pa.types.is_date, _as_text),
    (pa.types.is_time, _as_text),
    (pa.types.is_timestamp, _timestamps),
    (pa.types.is_list, _lists),
    (pa.types.is_large_list, _lists),
    (pa.types.is_fixed_size_list, _lists),
    (pa.types.is_struct, _structs),
    (pa.types.is_dictionary, _decoded),
)


def printed(column: ColumnDefinition, values: pa.Array) -> pa.Array:
    """Return the cell array of typed values. Raises TypeError for a type that does not fit."""
    for is_kind, turn in _KINDS:
        if is_kind(values.type):
            return turn(column, values)
    raise TypeError(f"values of {values.type} are not supported")
