"""Which reader a column's printed values have: resolved once per table, from the column's type.

| type | a cell is |
|---|---|
| integers, DECIMAL, YEAR | digits, padded by ZEROFILL or not |
| FLOAT, DOUBLE | a decimal number, with all digits |
| BIT | its bytes, the highest first |
| CHAR, VARCHAR, TEXT, ENUM, SET, JSON | UTF-8, whatever the column's charset |
| BINARY, VARBINARY, BLOB, VECTOR | its bytes (BINARY with or without zeros at its end) |
| spatial | 4 bytes of SRID, then WKB |
| DATE, TIME, DATETIME | as MySQL prints them |
| TIMESTAMP | the same, of a session in UTC |
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
from decoder.columns.geometry import geometry_reader
from decoder.columns.registry import reader
from decoder.columns.text import charset_reader
from decoder.columns.vector import vector_reader
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
    """CHAR: text without the spaces at its end, which PAD_CHAR_TO_FULL_LENGTH prints."""

    reader: StoredReader

    @property
    def arrow_type(self) -> pa.DataType:
        """Text."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """The texts."""
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
    T.GEOMETRY: lambda *_: StoredReader(geometry_reader()),
    T.VECTOR: lambda *_: StoredReader(vector_reader()),
}


@dataclass(frozen=True, slots=True)
class KeyReader:
    """The reader of a key column: a value that cannot be kept exactly is an error, as in a log."""

    reader: PrintedReader

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the reader below."""
        return self.reader.arrow_type

    def read(self, printed: pa.Array) -> Column:
        """The values; CellError at the first that is lossy."""
        column = self.reader.read(printed)
        if len(column.lossy):
            raise CellError(int(column.lossy[0]), "as part of a key it cannot be kept exactly")
        return column


def printed_reader(
    column: ColumnDefinition, options: TypeOptions, *, key: bool = False
) -> PrintedReader:
    """The reader of a column's printed values; with `key`, one that never loses anything.

    UnsupportedError names a type that is not decoded.
    """
    logged = reader(column, options)
    stored = StoredReader(logged) if column.logical else None
    found = stored or _READERS[column.type](column, options)
    assert found.arrow_type == logged.arrow_type
    return KeyReader(found) if key else found
