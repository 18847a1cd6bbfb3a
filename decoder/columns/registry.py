"""The reader for each column type, chosen once per table definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from decoder.columns.addresses import address_reader
from decoder.columns.cells import CellError, Cells, Column, ColumnReader
from decoder.columns.compressed_columns import compressed_reader
from decoder.columns.decimals import decimal_reader
from decoder.columns.enums import label_reader
from decoder.columns.fixed_width import bit_reader, float_reader, integer_reader, year_reader
from decoder.columns.geometry import GeometryReader
from decoder.columns.json import JsonReader
from decoder.columns.temporal import temporal_reader
from decoder.columns.text import text_reader
from decoder.columns.vector import VectorReader
from decoder.constants import ADDRESS_BYTES, ColumnType as T, LogicalType
from decoder.errors import UnsupportedError
from decoder.model.definition import ColumnDefinition, TableDefinition
from decoder.model.options import TypeOptions

Resolve = Callable[[ColumnDefinition, TypeOptions], ColumnReader]

_READERS: dict[T, Resolve] = {
    **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG), lambda c, _: integer_reader(c)),
    T.YEAR: lambda *_: year_reader(),
    **dict.fromkeys((T.FLOAT, T.DOUBLE), lambda c, _: float_reader(c)),
    T.NEWDECIMAL: lambda c, _: decimal_reader(c),
    T.BIT: lambda c, _: bit_reader(c),
    **dict.fromkeys((T.DATE, T.NEWDATE, T.TIME, T.DATETIME, T.TIMESTAMP), temporal_reader),
    **dict.fromkeys((T.TIME2, T.DATETIME2, T.TIMESTAMP2), temporal_reader),
    **dict.fromkeys((T.STRING, T.VAR_STRING, T.VARCHAR), lambda c, _: text_reader(c)),
    **dict.fromkeys((T.TINY_BLOB, T.BLOB, T.MEDIUM_BLOB, T.LONG_BLOB), lambda c, _: text_reader(c)),
    **dict.fromkeys((T.VARCHAR_COMPRESSED, T.BLOB_COMPRESSED), lambda c, _: compressed_reader(c)),
    **dict.fromkeys((T.ENUM, T.SET), lambda c, _: label_reader(c)),
    T.JSON: lambda *_: JsonReader(),
    T.GEOMETRY: lambda *_: GeometryReader(),
    T.VECTOR: lambda *_: VectorReader(),
}
_LOGICAL_READERS: dict[LogicalType, ColumnReader] = {
    **{kind: address_reader(kind) for kind in ADDRESS_BYTES},
    LogicalType.VECTOR: VectorReader(),
}


@dataclass(frozen=True, slots=True)
class KeyReader:
    """Reader for a key column; a value that cannot be represented exactly is an error."""

    reader: ColumnReader

    @property
    def arrow_type(self) -> pa.DataType:
        """The type of the wrapped reader."""
        return self.reader.arrow_type

    def read(self, cells: Cells) -> Column:
        """Return the cells' values; LossyKeyError for the first lossy row."""
        column = self.reader.read(cells)
        if len(column.lossy):
            reason = (
                "a value of the key cannot be represented exactly"
                " (a zero or impossible date, or bytes invalid in their charset)"
            )
            raise LossyKeyError(int(column.lossy[0]), reason)
        return column


class LossyKeyError(CellError):
    """A value of a key that is a zero or impossible date, or is invalid in its charset."""


def reader(column: ColumnDefinition, options: TypeOptions, *, key: bool = False) -> ColumnReader:
    """Return the reader for a column; with `key`, it raises LossyKeyError for a lossy value.

    UnsupportedError if the column's type is not supported.
    """
    found = _find_reader(column, options)
    return KeyReader(found) if key else found


def _find_reader(column: ColumnDefinition, options: TypeOptions) -> ColumnReader:
    if column.logical is not None:
        return _LOGICAL_READERS[column.logical]
    resolve = _READERS.get(column.type)
    if resolve is None:
        name = getattr(column.type, "name", str(column.type))
        raise UnsupportedError(f"column {column.name} has the unsupported type {name}")
    return resolve(column, options)


def row_type(definition: TableDefinition, options: TypeOptions) -> pa.StructType:
    """Return the struct type of a table's columns, in its order; all fields are nullable."""
    return pa.struct(
        [pa.field(column.name, reader(column, options).arrow_type) for column in definition.columns]
    )
