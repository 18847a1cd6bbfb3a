"""The reader of each column type's printed values, resolved once per table.

| type | cell |
|---|---|
| integers, DECIMAL, YEAR | digits, with or without ZEROFILL's padding |
| FLOAT, DOUBLE | a decimal number, with all digits |
| BIT | its bytes, big-endian |
| CHAR, VARCHAR, TEXT, ENUM, SET, JSON | UTF-8, whatever the column's charset |
| BINARY, VARBINARY, BLOB, VECTOR | its bytes (BINARY with or without trailing zeros) |
| spatial | 4 bytes of SRID, then WKB |
| DATE, TIME, DATETIME | as MySQL prints them |
| TIMESTAMP | the same, by a session in UTC |
| INET4, INET6, UUID | the bytes that are logged |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from decoder import TypeOptions
from decoder.columns.binary import binary_reader
from decoder.columns.cells import CellError, Column
from decoder.columns.geometry import GeometryReader
from decoder.columns.registry import reader
from decoder.columns.text import charset_reader
from decoder.columns.vector import VectorReader
from decoder.constants import ColumnType as T
from decoder.model.definition import ColumnDefinition
from pipeline.seed.values.cell_bytes import PrintedReader, StoredReader
from pipeline.seed.values.dates import printed_temporal
from pipeline.seed.values.documents import printed_documents
from pipeline.seed.values.labels import printed_labels
from pipeline.seed.values.numbers import (
    printed_bits,
    printed_decimal,
    printed_float,
    printed_integer,
    printed_year,
)

Resolve = Callable[[ColumnDefinition, TypeOptions], PrintedReader]


@dataclass(frozen=True, slots=True)
class CharReader:
    """Reader of CHAR; strips the trailing spaces that PAD_CHAR_TO_FULL_LENGTH prints."""

    reader: StoredReader

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the text's reader."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """Return the texts without trailing spaces."""
        column = self.reader.read(printed)
        return Column(pc.utf8_rtrim(column.array, " "), column.lossy)


def _text(column: ColumnDefinition, _options: TypeOptions) -> PrintedReader:
    kind = reader(column, TypeOptions()).arrow_type
    if pa.types.is_binary(kind):
        return StoredReader(binary_reader(column))
    text = StoredReader(charset_reader("utf8mb4"))
    return CharReader(text) if column.type == T.STRING else text


_READERS: dict[T, Resolve] = {
    **dict.fromkeys(
        (T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG), lambda c, _: printed_integer(c)
    ),
    T.YEAR: lambda *_: printed_year(),
    **dict.fromkeys((T.FLOAT, T.DOUBLE), lambda c, _: printed_float(c)),
    T.NEWDECIMAL: lambda c, _: printed_decimal(c),
    T.BIT: lambda c, _: printed_bits(c),
    **dict.fromkeys((T.DATE, T.NEWDATE, T.TIME, T.DATETIME, T.TIMESTAMP), printed_temporal),
    **dict.fromkeys((T.TIME2, T.DATETIME2, T.TIMESTAMP2), printed_temporal),
    **dict.fromkeys((T.STRING, T.VAR_STRING, T.VARCHAR), _text),
    **dict.fromkeys((T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB), _text),
    **dict.fromkeys((T.VARCHAR_COMPRESSED, T.BLOB_COMPRESSED), _text),
    **dict.fromkeys((T.ENUM, T.SET), lambda c, _: printed_labels(c)),
    T.JSON: lambda c, _: printed_documents(c),
    T.GEOMETRY: lambda *_: StoredReader(GeometryReader()),
    T.VECTOR: lambda *_: StoredReader(VectorReader()),
}


@dataclass(frozen=True, slots=True)
class KeyReader:
    """Reader of a key column; as in the log, a value that cannot be kept exactly is an error."""

    reader: PrintedReader

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the column's reader."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """Return the values. Raises CellError for the first lossy one."""
        column = self.reader.read(printed)
        if len(column.lossy):
            raise CellError(int(column.lossy[0]), "it is part of a key and cannot be kept exactly")
        return column


def printed_reader(
    column: ColumnDefinition, options: TypeOptions, *, key: bool = False
) -> PrintedReader:
    """Return the reader of a column's printed values; with `key`, lossy values are errors.

    Raises UnsupportedError for a type that is not decoded.
    """
    logged = reader(column, options)
    stored = StoredReader(logged) if column.logical else None
    found = stored or _READERS[column.type](column, options)
    assert found.arrow_type == logged.arrow_type
    return KeyReader(found) if key else found
